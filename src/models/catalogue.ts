import type { ProviderId } from '../executors/executor.ts'
import { isOpen, type Model } from './model.ts'
import { isPattern, longContextMarks, matchesGlob, providerOfName, providers, resolveName } from './names.ts'
import type { AliasTable, NameForm } from './names.ts'

/** A model and its name for callers. */
export interface ListedModel {
  /** The model's id, or `<provider>/<id>` if the bare id is ambiguous. Unique. */
  readonly id: string
  /** With the limits of the tier that the id names. */
  readonly model: Model
  /** The id names the long context tier. */
  readonly isLongContext?: true
  /** The id is an alias of the user's: the listed id of its model. */
  readonly aliasOf?: string
  /** The models that are asked in turn if the model of the alias cannot answer now, as the user wrote them. */
  readonly fallbacks?: readonly string[]
}

/** The long context tier under its own name; undefined if the model has one tier. */
export function longContextOf(
  { id, model, isLongContext, aliasOf, ...facts }: ListedModel,
  mark: (typeof longContextMarks)[number] = longContextMarks[0],
): ListedModel | undefined {
  if (model.longContext === undefined || isLongContext === true) return undefined
  const name = `${model.name} (long context)`
  const alias = aliasOf === undefined ? {} : { aliasOf: `${aliasOf}${mark}` }
  return {
    ...facts,
    ...alias,
    id: `${id}${mark}`,
    model: { ...model, ...model.longContext, name },
    isLongContext: true,
  }
}

function withOneTier(entry: ListedModel): ListedModel {
  return { ...entry, model: { ...entry.model, longContext: undefined } }
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
  /** The model list, without duplicates and hidden, switched off or unservable models; the user's aliases last. */
  readonly visible: readonly ListedModel[]
  /** Also those that no list shows. */
  readonly all: readonly ListedModel[]
  /** Missing from `visible` only because the account has them switched off. */
  readonly switchedOff: readonly ListedModel[]
  /**
   * By listed id, by id if Copilot has it or no other provider, and by `<provider>/<id>`, each also with a long context
   * mark; then by the version that upstream states. Aliases are not looked at.
   */
  readonly find: (form: NameForm) => ListedModel | undefined
  /** The aliases in `visible`, by name. */
  readonly aliases: ReadonlyMap<string, ListedModel>
  readonly providers: ReadonlySet<ProviderId>
  /** The providers whose models are the account's own. */
  readonly liveProviders: ReadonlySet<ProviderId>
}

/**
 * @param models of all clients, each provider's in the order of listing
 * @param hide exact names or patterns with `*`, for listed ids and `<provider>/<id>`. A hidden model is not listed or
 * suggested, but still answers to its name.
 */
export function buildCatalogue(models: readonly Model[], hide: readonly string[], aliases: AliasTable): Catalogue {
  const ordered = providers.flatMap((provider) => models.filter((model) => model.provider === provider))
  const known = withoutDuplicates(withoutReplacedSeeds(ordered))
  const copilotIds = new Set(known.filter((model) => model.provider === 'copilot').map((model) => model.id))
  const bareId = (model: Model) => listedId(model, copilotIds)
  const listed = known.map((model) => {
    // The user's alias takes precedence over the model of that name.
    const id = isTaken(bareId(model), aliases) ? qualifiedId(model) : bareId(model)
    return { id, model }
  })
  const namesOf = ({ id, model }: ListedModel) => [...new Set([id, bareId(model), qualifiedId(model)])]
  const offered = new Set(offeredModels(known))
  const isHidden = (names: readonly string[], mark = '') =>
    names.some((name) => hide.some((pattern) => matchesGlob(pattern, `${name}${mark}`)))
  const withShownTiers = (entry: ListedModel, names: readonly string[]) =>
    longContextMarks.some((mark) => isHidden(names, mark)) ? withOneTier(entry) : entry
  const shown = listed.filter((entry) => !isHidden(namesOf(entry)))
  // The last entry of a name counts: a model that upstream lists under a marked name is that model.
  const byName = new Map([
    ...versionNames(listed),
    ...listed.flatMap((entry) => longContextNames(entry, namesOf(entry))),
    ...listed.flatMap((entry) => namesOf(entry).map((name) => [name, entry] as const)),
  ])
  const find = ({ name, minContextWindow = 0 }: NameForm) => {
    const entry = byName.get(name)
    return (entry?.model.contextWindow ?? 0) >= minContextWindow ? entry : undefined
  }
  const named = aliases.all.flatMap(([id, [first, ...fallbacks]]): ListedModel[] => {
    const isModel = providerOfName(id) !== undefined && find({ name: id }) !== undefined
    const target = isPattern(id) || isModel || isHidden([id]) ? undefined : resolveName(id, first, find)
    if (target?.ok !== true || !isListable(target.value.model)) return []
    const { id: aliasOf, ...facts } = target.value
    return [withShownTiers({ ...facts, id, aliasOf, ...(fallbacks.length > 0 && { fallbacks }) }, [id])]
  })
  return {
    all: listed,
    visible: [
      ...shown.filter((entry) => offered.has(entry.model)).map((entry) => withShownTiers(entry, namesOf(entry))),
      ...named,
    ],
    switchedOff: shown.filter(({ model }) => isSwitchedOff(model)),
    find,
    aliases: new Map(named.map((entry) => [entry.id, entry])),
    providers: new Set(known.map((model) => model.provider)),
    liveProviders: new Set(known.filter((model) => model.source === 'live').map((model) => model.provider)),
  }
}

/**
 * Whether the id of a listed model, with or without its provider, matches one of the names or patterns with `*`. An alias
 * and a long context tier match as their model.
 */
export function matchesModel({ model }: ListedModel, patterns: readonly string[]): boolean {
  return [model.id, qualifiedId(model)].some((name) => patterns.some((pattern) => matchesGlob(pattern, name)))
}

/** Whether the name means something else: an alias, or a pattern whose target is another name. */
function isTaken(name: string, aliases: AliasTable): boolean {
  const target = aliases.targetsOf(name)?.[0]
  return target !== undefined && target !== name
}

/** Dated names such as `gpt-4.1-2025-04-14`, if `gpt-4.1` and no other model of the provider states that version. */
function versionNames(listed: readonly ListedModel[]): readonly (readonly [string, ListedModel])[] {
  const byVersion = Map.groupBy(listed, ({ model: { provider, version } }) => version && `${provider}/${version}`)
  return [...byVersion].flatMap(([name, [entry, ...others]]) => {
    if (!name || entry === undefined || others.length > 0) return []
    const { id, version = '', provider } = entry.model
    if (!version.startsWith(`${id}-`)) return []
    const names = provider === 'copilot' ? [name, version] : [name]
    return names.map((one) => [one, entry] as const)
  })
}

function isListable(model: Model): boolean {
  return isOpen(model) && isServed(model)
}

function isSwitchedOff(model: Model): boolean {
  return !isOpen(model) && isServed(model)
}

function isServed({ type }: Model): boolean {
  return type === 'chat' || type === 'embeddings'
}

function longContextNames(entry: ListedModel, names: readonly string[]): readonly (readonly [string, ListedModel])[] {
  const long = longContextOf(entry)
  if (long === undefined) return []
  return names.flatMap((name) => longContextMarks.map((mark) => [`${name}${mark}`, long] as const))
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
