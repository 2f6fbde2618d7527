import { modelList, modelRow } from '../../api/models.ts'
import type { Problem } from '../../config/problem.ts'
import { nearMisses, providerOfName } from '../../models/names.ts'
import type { CommandContext } from './command.ts'
import { KeyRefused, returnMissingKey } from './find-daemon.ts'
import type { LoadedSettings } from './settings.ts'
import { modelPath, openDaemonView, RouteRefused } from './view.ts'

const timeoutMs = 3000

interface TargetCheck {
  /** One problem for each target that no model list has. */
  readonly problems: readonly Problem[]
  /** Whether the model list of each target's provider is known. */
  readonly isComplete: boolean
  /** Why the result is not complete, if the running daemon requires another key. */
  readonly keyRefused?: KeyRefused | undefined
}

/** Looks up the targets of `models.aliases` in the model lists of the accounts, which only a running daemon has. */
export async function checkAliasTargets(context: CommandContext, settings: LoadedSettings): Promise<TargetCheck> {
  const { config, sources } = settings
  const targets = Object.entries(config.models.aliases).flatMap(([alias, value]) =>
    [value].flat().map((target) => ({ alias, target })),
  )
  if (targets.length === 0) return { problems: [], isComplete: true }
  const view = await openDaemonView(context, settings)
  if (view === undefined) return { problems: [], isComplete: false }
  const { get } = view
  const list = await get('/v1/models', modelList, { timeoutMs }).catch(returnMissingKey)
  if (list instanceof KeyRefused) return { problems: [], isComplete: false, keyRefused: list }
  const rows = list.data.flatMap(({ id, copilot_proxy: { alias_of: aliasOf, provider, source } }) =>
    aliasOf === null ? [{ id, provider, source }] : [],
  )
  const listedProviders = [...new Set(rows.map(({ provider }) => provider))]
  const problems: Problem[] = []
  let isComplete = true
  for (const { alias, target } of targets) {
    const wanted = providerOfName(target)
    const providers = wanted === undefined ? listedProviders : [wanted]
    const isKnown = providers.every((one) => rows.some(({ provider, source }) => provider === one && source === 'live'))
    isComplete &&= isKnown
    // With the provider's prefix, no alias of the daemon's settings is meant.
    const names = wanted === undefined ? providers.map((provider) => `${provider}/${target}`) : [target]
    if (!isKnown || (await isAnyFound(names))) continue
    const [near] = nearMisses(
      target,
      rows.map(({ id }) => id),
    )
    const key = `models.aliases.${alias}`
    const advice = near === undefined ? '' : `, did you mean "${near}"?`
    problems.push({
      source: sources[key] ?? { kind: 'default' },
      key,
      detail: `no model is named "${target}"${advice}`,
    })
  }
  return { problems, isComplete }

  async function isAnyFound(names: readonly string[]): Promise<boolean> {
    for (const name of names) {
      const isKnown = await get(modelPath(name), modelRow, { timeoutMs }).then(
        () => true,
        (error: unknown) => !(error instanceof RouteRefused && error.status === 404),
      )
      if (isKnown) return true
    }
    return false
  }
}
