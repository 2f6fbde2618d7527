import type { ProviderId } from '../executors/executor.ts'
import { isAutoModel } from './auto-model.ts'
import { isOpen, type Model } from './model.ts'
import { longContextMarks, providerOfName, providers } from './names.ts'

/** A model and the name it goes by towards callers. */
export interface ListedModel {
  /** The model's id, or `<provider>/<id>` where the bare id would be ambiguous. Unique. */
  readonly id: string
  /** Its limits are those of the tier that the id stands for. */
  readonly model: Model
  /** The id asks for the long context tier. */
  readonly isLongContext?: true
}

/** The model with its long context tier, under the name that asks for it; undefined where it has one tier only. */
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

/** The entries, each with its long context tier behind it, for lists that clients read the size of a window from. */
export function withLongContext(
  entries: readonly ListedModel[],
  mark?: (typeof longContextMarks)[number],
): readonly ListedModel[] {
  return entries.flatMap((entry) => {
    const long = longContextOf(entry, mark)
    return long === undefined ? [entry] : [entry, long]
  })
}

/** What callers can name and what they are shown, computed once per change of the models or of `hide`. */
export interface Catalogue {
  /** The model list: no duplicates, nothing hidden, nothing switched off, nothing that no route serves. */
  readonly visible: readonly ListedModel[]
  /** What would be shown if it were not switched off for the account. */
  readonly switchedOff: readonly ListedModel[]
  /** Every model that can be named, by its listed id and by `<provider>/<id>`, each also with a long context mark. */
  readonly byName: ReadonlyMap<string, ListedModel>
  /** Those that have a model. */
  readonly providers: ReadonlySet<ProviderId>
}

/**
 * @param models of all clients, each provider's in the order they are to be listed; Copilot's come first
 * @param hide exact names or patterns with `*`, matched against listed ids and `<provider>/<id>`. A hidden model is
 * not shown or suggested; it still answers to its name.
 * @param aliases of the user's, by their names
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
    // The name `auto` is of this program's making, and goes behind one that the user has given.
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
    // Of two entries with one name the last one counts: a model that upstream lists under such a name is that model.
    byName: new Map([
      ...listed.flatMap(longContextNames),
      ...listed.flatMap((entry) => namesOf(entry).map((name) => [name, entry] as const)),
    ]),
    providers: new Set(known.map((model) => model.provider)),
  }
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

/** A bare id is Copilot's wherever Copilot has it; an id that looks like another provider's name is qualified too. */
function listedId(model: Model, copilotIds: ReadonlySet<string>): string {
  const ambiguous = providerOfName(model.id) !== undefined || (model.provider !== 'copilot' && copilotIds.has(model.id))
  return ambiguous ? qualifiedId(model) : model.id
}

function withoutReplacedSeeds(models: readonly Model[]): readonly Model[] {
  const live = new Set<ProviderId>(models.filter((model) => model.source === 'live').map((model) => model.provider))
  return models.filter((model) => model.source === 'live' || !live.has(model.provider))
}

/** Upstream's list repeats ids. The first entry counts, unless it is switched off and a later one is not. */
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
 * The models worth showing: embeddings, and of the chat models those the provider's own clients offer. Some Copilot
 * accounts get a list in which no model is marked so (seen in mid-2026); then those their policy enables are shown, else
 * all. What Codex hides stays hidden.
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

/** `*` stands for any run of characters, everything else for itself. Case counts, as it does in model ids. */
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
