import type { ProviderId } from '../executors/executor.ts'
import type { Model } from './model.ts'
import { hasProviderPrefix } from './names.ts'

/** A model and the name it goes by towards callers. */
export interface ListedModel {
  /** The model's id, or `<provider>/<id>` where the bare id would be ambiguous. Unique. */
  readonly id: string
  readonly model: Model
}

/** What callers can name and what they are shown, computed once per change of the models or of `hide`. */
export interface Catalogue {
  /** The model list: no duplicates, nothing hidden, nothing switched off, nothing that no route serves. */
  readonly visible: readonly ListedModel[]
  /** Every model that can be named, by its listed id and by `<provider>/<id>`. */
  readonly byName: ReadonlyMap<string, ListedModel>
}

/**
 * @param models of all clients, in the order they are to be listed
 * @param hide exact names or patterns with `*`, matched against listed ids and `<provider>/<id>`. A hidden model is
 * not shown or suggested; it still answers to its name.
 */
export function buildCatalogue(models: readonly Model[], hide: readonly string[]): Catalogue {
  const known = withoutDuplicates(withoutReplacedSeeds(models))
  const copilotIds = new Set(known.filter((model) => model.provider === 'copilot').map((model) => model.id))
  const listed = known.map((model) => ({ id: listedId(model, copilotIds), model }))
  const offered = new Set(offeredModels(known))
  const isHidden = (entry: ListedModel) =>
    hide.some((pattern) => matchesGlob(pattern, entry.id) || matchesGlob(pattern, qualifiedId(entry.model)))
  return {
    visible: listed.filter((entry) => offered.has(entry.model) && !isHidden(entry)),
    byName: new Map(
      listed.flatMap((entry) => [[entry.id, entry] as const, [qualifiedId(entry.model), entry] as const]),
    ),
  }
}

function qualifiedId(model: Model): string {
  return `${model.provider}/${model.id}`
}

/** A bare id is Copilot's wherever Copilot has it; an id that looks like another provider's name is qualified too. */
function listedId(model: Model, copilotIds: ReadonlySet<string>): string {
  const ambiguous = hasProviderPrefix(model.id) || (model.provider !== 'copilot' && copilotIds.has(model.id))
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
    if (seen === undefined || (seen.policy === 'disabled' && model.policy !== 'disabled')) {
      byId.set(qualifiedId(model), model)
    }
  }
  return [...byId.values()]
}

/**
 * The models worth showing: embeddings, and of the chat models those GitHub's own clients offer. Some accounts get a
 * list in which no model is marked so (seen in mid-2026); then those their policy enables are shown, else all.
 */
function offeredModels(models: readonly Model[]): readonly Model[] {
  const usable = models.filter((model) => model.policy !== 'disabled')
  const chat = usable.filter((model) => model.type === 'chat')
  const shown = (['copilot', 'codex'] as const).flatMap((provider) => {
    const own = chat.filter((model) => model.provider === provider)
    const picked = own.filter((model) => model.pickerEnabled)
    if (picked.length > 0) return picked
    const enabled = own.filter((model) => model.policy === 'enabled')
    return enabled.length > 0 ? enabled : own
  })
  return [...shown, ...usable.filter((model) => model.type === 'embeddings')]
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
