import type { CallerKey } from '../config/caller.ts'
import { keyLimitsOf } from '../config/api-keys.ts'
import type { Config } from '../config/schema.ts'
import { Fault } from '../errors.ts'
import { matchesModel } from '../models/catalogue.ts'
import type { ListedModel } from '../models/catalogue.ts'
import { chooseEndpoint, type EndpointAsk } from '../models/endpoints.ts'
import type { Model } from '../models/model.ts'
import { providerOfName } from '../models/names.ts'
import type { Route } from '../models/registry.ts'
import { upstreamPaths } from '../translate/dialects.ts'
import type { RouteNeeds } from '../translate/engine/media/route-limits.ts'
import type { ModelAccess, PipelineDeps } from './pipeline-state.ts'

type RoutingDeps = Pick<PipelineDeps, 'config'> & Pick<ModelAccess, 'registry' | 'completeModels'>

export interface RouteOptions {
  readonly signal: AbortSignal
  /** The caller's key, which may be limited to some models. */
  readonly key?: CallerKey | undefined
  /** The target of an alias. Default: its first. */
  readonly target?: string | undefined
  /** Default: any route can carry the request. */
  readonly needs?: RouteNeeds | undefined
}

/**
 * Routes a model name to a model and an upstream path. If the name is unknown, waits for model lists that were never
 * fetched.
 * @throws Fault `model_not_found`, `invalid_request`; the reason why a list could not be fetched if the name may be on it
 */
export async function routeModel(
  deps: RoutingDeps,
  name: string,
  callerPath: string | undefined,
  { signal, key, target, needs }: RouteOptions,
): Promise<Route> {
  const ask = askFrom(deps, callerPath, needs)
  let route = deps.registry.route(name, ask, target)
  // A bare name that both providers have means Copilot's model, so wait for Copilot's list. If that list cannot be
  // fetched, the other provider's model answers.
  const mayBeCopilot =
    route.ok && route.value.model.provider !== 'copilot' && providerOfName(target ?? name) === undefined
  if (!route.ok || mayBeCopilot) {
    const problem = await deps.completeModels(target ?? name, { retry: !route.ok, signal })
    route = deps.registry.route(name, ask, target)
    if (!route.ok && problem !== undefined) throw new Fault(problem)
  }
  if (!route.ok) throw new Fault(route.error)
  const refusal = keyRefusal(deps.config(), key?.name, name, route.value)
  if (refusal !== undefined) throw refusal
  return route.value
}

/** The fault if the caller's key may not use the model. */
export function keyRefusal(
  { server }: Config,
  keyName: string | undefined,
  name: string,
  entry: ListedModel,
): Fault | undefined {
  const patterns = keyLimitsOf(server, keyName)?.models
  if (patterns === undefined || matchesModel(entry, patterns)) return undefined
  const detail = `The key ${keyName} may not use the model '${name}' (server.key-limits, models)`
  return new Fault({ kind: 'model_not_found', model: name, suggestions: [], detail })
}

/**
 * Routes to a model that upstream chose, which may be missing from the account's list.
 * @throws Fault `invalid_request` if the model has no endpoint that this program supports
 */
export function routeChosen(
  deps: Pick<PipelineDeps, 'config'>,
  model: Model,
  callerPath: string | undefined,
  needs?: RouteNeeds,
): Route {
  const path = chooseEndpoint(model, askFrom(deps, callerPath, needs))
  if (path !== undefined) return { id: model.id, model, path }
  const detail = `Copilot chose ${model.id}, which has no endpoint that this request can use`
  throw new Fault({ kind: 'invalid_request', path: 'model', detail, code: 'unsupported_api_for_model' })
}

function askFrom(
  { config }: Pick<PipelineDeps, 'config'>,
  callerPath: string | undefined,
  needs: RouteNeeds | undefined,
): EndpointAsk {
  return { callerPath, setting: config().copilot.upstreamDialect, spoken: spokenFor(callerPath), needs }
}

/** Requests of a dialect can be translated to any other dialect; others (embeddings) have a single path. */
function spokenFor(callerPath: string | undefined): readonly string[] {
  return callerPath === undefined || upstreamPaths.includes(callerPath) ? upstreamPaths : [callerPath]
}
