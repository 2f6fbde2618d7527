import type { ChosenModels, ClientModel, ClientId } from './target.ts'

/** Equally good models: the newest wins, then the first pattern. */
type Group = readonly RegExp[]

interface Rule {
  /** Best first. */
  readonly groups: readonly Group[]
  /** Prefer models that upstream serves in this API, untranslated. */
  readonly native?: string
}

const claudeSonnet = /^claude-sonnet-(?<version>\d+(?:\.\d+)?)$/
const claudeOpus = /^claude-opus-(?<version>\d+(?:\.\d+)?)$/
const claudeHaiku = /^claude-haiku-(?<version>\d+(?:\.\d+)?)$/
const gptCodex = /^(?:codex\/)?gpt-(?<version>\d+(?:\.\d+)?)-codex$/
const gpt = /^(?:codex\/)?gpt-(?<version>\d+(?:\.\d+)?)$/
const gptMini = /^(?:codex\/)?gpt-(?<version>\d+(?:\.\d+)?)-mini$/

type Role = 'main' | 'small'

/** For clients that speak every API. */
const ofEveryApi: Readonly<Record<Role, Rule>> = {
  main: { groups: [[claudeSonnet], [gptCodex, gpt]] },
  small: { groups: [[claudeHaiku], [gptMini]] },
}

/** Sonnet before Opus, whose requests count several times against a Copilot plan. */
const rules: Readonly<Record<ClientId, Readonly<Record<Role, Rule>>>> = {
  claude: {
    main: { groups: [[claudeSonnet], [claudeOpus], [gptCodex, gpt]], native: 'messages' },
    small: { groups: [[claudeHaiku], [gptMini]] },
  },
  codex: {
    main: { groups: [[gptCodex, gpt], [claudeSonnet]], native: 'responses' },
    small: { groups: [[gptMini]] },
  },
  opencode: ofEveryApi,
  copilot: ofEveryApi,
}

/** What a choice needs to know of a model. */
type Choosable = Pick<ClientModel, 'id' | 'routes' | 'tools'>

/** The model for a program of no particular client, as `launch opencode` chooses it. Undefined for an empty list. */
export function chooseAgentModel<Model extends Choosable>(all: readonly Model[]): Model | undefined {
  const models = withTools(all)
  return choose(models, rules.opencode.main) ?? models.find(({ id }) => id === 'auto') ?? models[0]
}

/** Those that can call tools, if there are any. */
function withTools<Model extends Choosable>(all: readonly Model[]): readonly Model[] {
  const able = all.filter(({ tools }) => tools)
  return able.length > 0 ? able : all
}

/** @param wanted the main model; by default the best of the list. Undefined for an empty list. */
export function chooseModels(
  client: ClientId,
  all: readonly ClientModel[],
  wanted?: ClientModel,
): ChosenModels | undefined {
  // All of these clients need tools.
  const models = withTools(all)
  const main = wanted ?? choose(models, rules[client].main) ?? models.find(({ id }) => id === 'auto') ?? models[0]
  if (main === undefined) return undefined
  return {
    main,
    small: choose(models, rules[client].small) ?? main,
    opus: newest(models, [claudeOpus]) ?? main,
    sonnet: newest(models, [claudeSonnet]) ?? main,
  }
}

function choose<Model extends Choosable>(models: readonly Model[], { groups, native }: Rule): Model | undefined {
  const served = native === undefined ? [] : models.filter(({ routes }) => routes[native] === native)
  for (const list of [served, models]) {
    for (const group of groups) {
      const found = newest(list, group)
      if (found !== undefined) return found
    }
  }
  return undefined
}

function newest<Model extends Choosable>(models: readonly Model[], group: Group): Model | undefined {
  const matches = group.flatMap((pattern) =>
    models.flatMap((model) => {
      const version = pattern.exec(model.id)?.groups?.['version']
      return version === undefined ? [] : [{ model, version: version.split('.').map(Number) }]
    }),
  )
  // The sort is stable: among equals the earlier pattern wins, then the earlier model.
  const ordered = matches.toSorted((a, b) => compareVersions(b.version, a.version))
  return ordered[0]?.model
}

function compareVersions(a: readonly number[], b: readonly number[]): number {
  return (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0)
}
