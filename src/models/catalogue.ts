import type { ProviderId } from '../executors/executor.ts'
import { isAutoModel } from './auto-model.ts'
import { isOpen, type Model } from './model.ts'
import { longContextMarks, providerOfName, providers } from './names.ts'

/** A model and its name for callers. */
export interface ListedModel {
  /** The model's id, or `<provider>/<id>` if the bare id is ambiguous. Unique. */
  readonly id: string
  /** With the limits of the tier that the id names. */
  readonly model: Model
  /** The id names the long context tier. */
  readonly isLongContext?: true
}

/** The long context tier under its own name; undefined if the model has one tier. */
export function longContextOf(
  { id, model, isLongContext }: ListedModel,
  mark: (typeof longContextMarks)[number] = longContextMarks[0],
): ListedModel | undefined {
  if (model.longContext === undefined || isLongContext === true) return undefined
  const name = `${model.name} (long context)`
  return { id: `${id}${mark}`, model: { ...model, ...model.longContext, name }, isLongContext: true }
}

function withOneTier({ id, model }: ListedModel): ListedModel {
  return { id, model: { ...model, longContext: undefined } }
}

/** Each entry followed by its long context tier, for clients that read the size of a window from the list. */
export function withLongContext(
  entries: readonly ListedModel[],
  mark?: (typeof longContextMarks)[number],
): readonly ListedModel[] {
  return entries.flatMap((entry) => {
    const long = longContextOf(entry, mark)
    return long === undefined ? [entry] : [entry, long]
  })
}

/** The models that callers see and can name. */
export interface Catalogue {
  /** The model list, without duplicates and hidden, switched off or unservable models. */
  readonly visible: readonly ListedModel[]
  /** Missing from `visible` only because the account has them switched off. */
  readonly switchedOff: readonly ListedModel[]
  /** By listed id and by `<provider>/<id>`, each also with a long context mark. */
  readonly byName: ReadonlyMap<string, ListedModel>
  readonly providers: ReadonlySet<ProviderId>
}

/**
 * @param models of all clients, each provider's in the order of listing
 * @param hide exact names or patterns with `*`, for listed ids and `<provider>/<id>`. A hidden model is not listed or
 * suggested, but still answers to its name.
 * @param aliases targets by name
 */
export function buildCatalogue(
  models: readonly Model[],
  hide: readonly string[],
  aliases: ReadonlyMap<string, string>,
): Catalogue {
  const ordered = providers.flatMap((provider) => models.filter((model) => model.provider === provider))
  const known = withoutDuplicates(withoutReplacedSeeds(ordered))
  const copilotIds = new Set(known.filter((model) => model.provider === 'copilot').map((model) => model.id))
  const listed = known.map((model) => {
    // The user's alias `auto` takes precedence over the model of that name.
    const isTaken = isAutoModel(model) && aliases.has(model.id)
    return { id: isTaken ? qualifiedId(model) : listedId(model, copilotIds), model }
  })
  const offered = new Set(offeredModels(known))
  const isHidden = (entry: ListedModel, mark = '') =>
    namesOf(entry).some((name) => hide.some((pattern) => matchesGlob(pattern, `${name}${mark}`)))
  const shown = listed.filter((entry) => !isHidden(entry))
  return {
    visible: shown
      .filter((entry) => offered.has(entry.model))
      .map((entry) => (longContextMarks.some((mark) => isHidden(entry, mark)) ? withOneTier(entry) : entry)),
    switchedOff: shown.filter(({ model }) => isSwitchedOff(model)),
    // The last entry of a name counts: a model that upstream lists under a marked name is that model.
    byName: new Map([
      ...listed.flatMap(longContextNames),
      ...listed.flatMap((entry) => namesOf(entry).map((name) => [name, entry] as const)),
    ]),
    providers: new Set(known.map((model) => model.provider)),
  }
}

/** Whether a listed model matches one of the names or patterns with `*`; a long context tier matches as its model too. */
export function matchesModel(entry: ListedModel, patterns: readonly string[]): boolean {
  return namesOf(entry).some((name) => patterns.some((pattern) => matchesGlob(pattern, name)))
}

function isSwitchedOff(model: Model): boolean {
  return !isOpen(model) && (model.type === 'chat' || model.type === 'embeddings')
}

function namesOf({ id, model }: ListedModel): readonly string[] {
  return [id, qualifiedId(model)]
}

function longContextNames(entry: ListedModel): readonly (readonly [string, ListedModel])[] {
  const long = longContextOf(entry)
  if (long === undefined) return []
  return namesOf(entry).flatMap((name) => longContextMarks.map((mark) => [`${name}${mark}`, long] as const))
}

function qualifiedId(model: Model): string {
  return `${model.provider}/${model.id}`
}

/** A bare id is Copilot's if Copilot has it; an id that starts like a provider prefix is qualified too. */
function listedId(model: Model, copilotIds: ReadonlySet<string>): string {
  const ambiguous = providerOfName(model.id) !== undefined || (model.provider !== 'copilot' && copilotIds.has(model.id))
  return ambiguous ? qualifiedId(model) : model.id
}

function withoutReplacedSeeds(models: readonly Model[]): readonly Model[] {
  const live = new Set<ProviderId>(models.filter((model) => model.source === 'live').map((model) => model.provider))
  return models.filter((model) => model.source === 'live' || !live.has(model.provider))
}

/** Upstream's list repeats ids. The first open entry counts, else the first. */
function withoutDuplicates(models: readonly Model[]): readonly Model[] {
  const byId = new Map<string, Model>()
  for (const model of models) {
    const seen = byId.get(qualifiedId(model))
    if (seen === undefined || (!isOpen(seen) && isOpen(model))) {
      byId.set(qualifiedId(model), model)
    }
  }
  return [...byId.values()]
}

/**
 * Embeddings, and the chat models that the provider's own clients offer. Some Copilot accounts get a list that marks none
 * (seen in mid-2026): then those that their policy enables, else all.
 */
function offeredModels(models: readonly Model[]): readonly Model[] {
  const usable = models.filter(isOpen)
  const chat = usable.filter((model) => model.type === 'chat')
  const copilot = chat.filter((model) => model.provider === 'copilot')
  const fallbacks = [
    copilot.filter((model) => model.pickerEnabled),
    copilot.filter((model) => model.policy === 'enabled'),
  ]
  return [
    ...(fallbacks.find((some) => some.length > 0) ?? copilot),
    ...chat.filter((model) => model.provider === 'codex' && model.pickerEnabled),
    ...usable.filter((model) => model.type === 'embeddings'),
  ]
}

/** `*` matches any run of characters. Case-sensitive, as model ids are. */
function matchesGlob(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*')
  const tail = rest.pop()
  if (tail === undefined) return pattern === text
  if (!text.startsWith(head)) return false
  let position = head.length
  for (const part of rest) {
    const found = text.indexOf(part, position)
    if (found < 0) return false
    position = found + part.length
  }
  return text.length - tail.length >= position && text.endsWith(tail)
}
