import { cutText } from '../json/cut-text.ts'
import type { ProxyError } from '../errors.ts'
import type { ProviderId } from '../executors/executor.ts'
import { buildCatalogue, type Catalogue, type ListedModel } from './catalogue.ts'
import {
  chooseEndpoint,
  completionsEndpoint,
  embeddingsEndpoint,
  imageEditsEndpoint,
  imagesEndpoint,
  type EndpointAsk,
} from './endpoints.ts'
import { isOpen, type Model, type ModelNotice } from './model.ts'
import { createAliasTable, nearMisses, providerOfName, resolveName } from './names.ts'
import type { Aliases } from './names.ts'

/** The `models` section of the configuration. */
export interface ModelNaming {
  readonly aliases: Aliases
  /** Names or patterns with `*` to leave out of the list; the models still answer to their names. */
  readonly hide: readonly string[]
}

/** Why a provider has no models, and how to fix it, as in `codex_unavailable`. */
interface Absence {
  readonly detail: string
  readonly fix: string
}

type ModelResult =
  | { readonly ok: true; readonly value: ListedModel }
  | { readonly ok: false; readonly error: ProxyError }

/** A model and the upstream path of its request. */
export interface Route extends ListedModel {
  readonly path: string
}

type RouteResult = { readonly ok: true; readonly value: Route } | { readonly ok: false; readonly error: ProxyError }

/**
 * The models of all clients, and their names. A client is the record of one account, or the seeds. A model is never swapped
 * for another: a name that `names.ts` does not resolve is an error with near misses.
 */
export interface ModelRegistry {
  /** Replaces the models of a client. */
  readonly register: (clientId: string, models: readonly Model[]) => void
  readonly unregister: (clientId: string) => void
  /** Moves models to another client, e.g. the seeds after login, unless that client has models already. */
  readonly reregister: (fromClientId: string, toClientId: string) => void
  readonly setNaming: (naming: ModelNaming) => void
  readonly list: () => readonly ListedModel[]
  readonly listSwitchedOff: () => readonly ListedModel[]
  /** The models that have an upstream path, also those in no list. */
  readonly listWith: (path: string) => readonly ListedModel[]
  /** The model of a name, hidden ones included, or `model_not_found`. */
  readonly resolve: (name: string) => ModelResult
  /**
   * As `resolve`, plus the upstream path; `invalid_request` if this route cannot reach the model.
   * @param target the target of the alias `name` to route to; default: its first
   */
  readonly route: (name: string, ask: EndpointAsk, target?: string) => RouteResult
  /** The targets of the alias after its first one, in order; empty without an alias. */
  readonly fallbacksOf: (name: string) => readonly string[]
  /**
   * Targets of aliases that the accounts' model lists lack. No target counts as dead until its provider's list is
   * known.
   */
  readonly deadTargets: () => readonly { readonly alias: string; readonly target: string }[]
}

/**
 * @param absenceOf called for a provider without any model, when a caller uses its prefix
 * @param onWarning called once for each warning of a model that a request is routed to
 */
export function createModelRegistry(
  initialNaming: ModelNaming,
  absenceOf: (provider: ProviderId) => Absence | undefined = () => undefined,
  onWarning: (model: Model, notice: ModelNotice) => void = () => {},
): ModelRegistry {
  const warned = new Set<string>()
  const clients = new Map<string, readonly Model[]>()
  let naming = initialNaming
  let aliases = createAliasTable({})
  let catalogue: Catalogue = buildCatalogue([], [], aliases)

  function rebuild(): void {
    aliases = createAliasTable(naming.aliases)
    catalogue = buildCatalogue([...clients.values()].flat(), naming.hide, aliases)
  }

  /** @param suits narrows the suggestions to models that would serve the request */
  function resolve(
    name: string,
    suits: (entry: ListedModel) => boolean = () => true,
    target = isTooLong(name) ? undefined : aliases.targetsOf(name)?.[0],
  ): ModelResult {
    if (isTooLong(name)) {
      return { ok: false, error: { kind: 'model_not_found', model: cutText(name, longestName), suggestions: [] } }
    }
    const result = resolveName(name, target, catalogue.find)
    const suggest = (wanted: string) => nearMisses(wanted, idsOf(catalogue.visible.filter(suits)))
    if (!result.ok) {
      const { wanted, viaAlias } = result
      const absence = absenceBehind(wanted)
      const sentences = [
        ...(viaAlias ? [`The alias ${quote(name)} names the model ${quote(wanted)}, which is not available.`] : []),
        ...(absence && !viaAlias ? [`The model ${quote(wanted)} is not available.`] : []),
        ...(absence ? [`${absence.detail.replace(/\.$/, '')}.`, ...(absence.fix === '' ? [] : [absence.fix])] : []),
      ]
      const detail = sentences.length > 0 ? { detail: sentences.join(' ') } : {}
      return { ok: false, error: { kind: 'model_not_found', model: name, suggestions: suggest(wanted), ...detail } }
    }
    if (!isOpen(result.value.model)) {
      const { id } = result.value
      const error = {
        kind: 'model_not_found',
        model: name,
        suggestions: suggest(id),
        detail: closedDetail(result.value),
      } as const
      return { ok: false, error }
    }
    return result
  }

  /** Set if the name's provider has no models at all. */
  function absenceBehind(name: string): Absence | undefined {
    const provider = providerOfName(name)
    if (provider === undefined || catalogue.providers.has(provider)) return undefined
    return absenceOf(provider)
  }

  function warn(model: Model): void {
    for (const notice of model.notices ?? []) {
      const key = `${model.provider}/${model.id} ${notice.message}`
      if (notice.level !== 'warning' || warned.has(key)) continue
      warned.add(key)
      onWarning(model, notice)
    }
  }

  function route(name: string, ask: EndpointAsk, target?: string): RouteResult {
    const isReachable = (entry: ListedModel) => chooseEndpoint(entry.model, ask) !== undefined
    const result = resolve(name, isReachable, target)
    if (!result.ok) return result
    const path = chooseEndpoint(result.value.model, ask)
    if (path !== undefined) {
      warn(result.value.model)
      return { ok: true, value: { ...result.value, path } }
    }
    const others = catalogue.visible.filter(isReachable)
    // Models for images and for code completion are in no list.
    const suited = others.length > 0 ? others : openModels().filter(isReachable)
    return { ok: false, error: unreachable(result.value, ask, idsOf(suited)) }
  }

  function openModels(): readonly ListedModel[] {
    return catalogue.all.filter(({ model }) => isOpen(model))
  }

  function isDead(target: string): boolean {
    const provider = providerOfName(target)
    const candidates = provider === undefined ? [...catalogue.providers] : [provider]
    const isKnown = candidates.length > 0 && candidates.every((one) => catalogue.liveProviders.has(one))
    return isKnown && !resolveName(target, undefined, catalogue.find).ok
  }

  rebuild()
  return {
    register: (clientId, models) => {
      clients.set(clientId, models)
      rebuild()
    },
    unregister: (clientId) => {
      clients.delete(clientId)
      rebuild()
    },
    reregister: (fromClientId, toClientId) => {
      const models = clients.get(fromClientId)
      if (models === undefined) return
      clients.delete(fromClientId)
      if (!clients.has(toClientId)) clients.set(toClientId, models)
      rebuild()
    },
    setNaming: (changed) => {
      naming = changed
      rebuild()
    },
    list: () => catalogue.visible,
    listSwitchedOff: () => catalogue.switchedOff,
    listWith: (path) => openModels().filter(({ model }) => model.endpoints.includes(path)),
    resolve: (name) => {
      const result = resolve(name)
      const alias = catalogue.aliases.get(name)
      return result.ok && alias !== undefined ? { ok: true, value: alias } : result
    },
    route,
    fallbacksOf: (name) => {
      if (isTooLong(name)) return []
      const fallbacks = aliases.targetsOf(name)?.slice(1) ?? []
      // The name of a model with its provider is no alias.
      const isModel = () => providerOfName(name) !== undefined && catalogue.find({ name }) !== undefined
      return fallbacks.length > 0 && isModel() ? [] : fallbacks
    },
    deadTargets: () =>
      aliases.all.flatMap(([alias, targets]) => targets.filter(isDead).map((target) => ({ alias, target }))),
  }
}

type Members = Pick<ModelRegistry, 'register' | 'unregister' | 'reregister'>

/** Registries that all have the models of some clients; each may have others too. */
export interface RegistryGroup extends Members {
  readonly add: (registry: Members) => void
  readonly remove: (registry: Members) => void
}

export function createRegistryGroup(initial: readonly Members[]): RegistryGroup {
  const registries = new Set(initial)
  const clients = new Map<string, readonly Model[]>()
  return {
    register(clientId, models) {
      clients.set(clientId, models)
      for (const registry of registries) registry.register(clientId, models)
    },
    unregister(clientId) {
      clients.delete(clientId)
      for (const registry of registries) registry.unregister(clientId)
    },
    reregister(fromClientId, toClientId) {
      const models = clients.get(fromClientId)
      clients.delete(fromClientId)
      if (models !== undefined && !clients.has(toClientId)) clients.set(toClientId, models)
      for (const registry of registries) registry.reregister(fromClientId, toClientId)
    },
    add(registry) {
      for (const [clientId, models] of clients) registry.register(clientId, models)
      registries.add(registry)
    },
    remove: (registry) => void registries.delete(registry),
  }
}

/** Longer names are refused without a search for similar ones, which would take long. No model has such a name. Characters. */
const longestName = 300

function isTooLong(name: string): boolean {
  return name.length > longestName
}

function idsOf(entries: readonly ListedModel[]): readonly string[] {
  return entries.map((entry) => entry.id)
}

/** Bounds the length of a name that a caller chose. */
function quote(name: string): string {
  return name.length > 100 ? `"${name.slice(0, 100)}…"` : `"${name}"`
}

function closedDetail({ id, model: { policy } }: ListedModel): string {
  const state =
    policy === 'disabled' ? 'disabled for this account' : `not enabled for this account (policy: ${policy ?? ''})`
  return (
    `The model ${quote(id)} is ${state}. Enable it with: copilot-proxy models enable ${id} – or at ` +
    'https://github.com/settings/copilot/features, or ask the administrator of your organization.'
  )
}

function unreachable(entry: ListedModel, ask: EndpointAsk, others: readonly string[]): ProxyError {
  const close = nearMisses(entry.id, others)
  const alternatives = close.length > 0 ? close : others.slice(0, 5)
  const advice = alternatives.length > 0 ? ` Models for this request: ${alternatives.join(', ')}.` : ''
  return {
    kind: 'invalid_request',
    path: 'model',
    // Upstream's own code for a model asked on the wrong endpoint (docs/copilot-wire.md, "Errors").
    code: 'unsupported_api_for_model',
    detail: unreachableReason(entry, ask) + advice,
  }
}

/** What a model without one of these paths cannot do. */
const special: ReadonlyMap<string, string> = new Map([
  [embeddingsEndpoint, 'support embeddings'],
  [imagesEndpoint, 'make images'],
  [imageEditsEndpoint, 'edit images'],
  [completionsEndpoint, 'complete code'],
])

function unreachableReason({ id, model }: ListedModel, ask: EndpointAsk): string {
  const missing = ask.callerPath === undefined ? undefined : special.get(ask.callerPath)
  if (missing !== undefined) return `The model ${quote(id)} does not ${missing}.`
  switch (model.type) {
    case 'embeddings':
      return `The model ${quote(id)} supports embeddings only. Use /v1/embeddings.`
    case 'completion':
      return `The model ${quote(id)} completes code only. Use /v1/completions.`
    case 'chat':
    case 'other': {
      const endpoints = model.endpoints.filter((endpoint) => endpoint.startsWith('/'))
      return endpoints.length > 0
        ? `The model ${quote(id)} is only available at ${endpoints.join(' or ')}, which this request cannot use.`
        : `The model ${quote(id)} has no endpoint that this request can use.`
    }
  }
}
