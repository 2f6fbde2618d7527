import { Fault } from '../errors.ts'
import { chooseEndpoint, type EndpointAsk } from '../models/endpoints.ts'
import type { Model } from '../models/model.ts'
import { providerOfName } from '../models/names.ts'
import type { Route } from '../models/registry.ts'
import { dialects } from '../translate/dialects.ts'
import type { ServeDeps } from './serve-deps.ts'

/**
 * The model behind a name, reachable on the caller's own path. Until the account's list has been fetched once, an
 * unknown name waits for it.
 * @throws Fault `model_not_found`, `invalid_request`; why there is no list, where that is why the name is unknown
 */
export async function routeModel(
  deps: ServeDeps,
  name: string,
  upstreamPath: string,
  signal: AbortSignal,
): Promise<Route> {
  const ask = askFrom(deps, upstreamPath)
  let route = deps.registry.route(name, ask)
  // A bare name that another provider has too is Copilot's, which shows once Copilot's list is there. Where that could not
  // be fetched, Codex goes on without it.
  const mayBeCopilots = route.ok && route.value.model.provider !== 'copilot' && providerOfName(name) === undefined
  if (!route.ok || mayBeCopilots) {
    const problem = await deps.completeModels(name, { retry: !route.ok, signal })
    route = deps.registry.route(name, ask)
    if (!route.ok && problem !== undefined) throw new Fault(problem)
  }
  if (!route.ok) throw new Fault(route.error)
  return route.value
}

/**
 * The way to a model that upstream has chosen, which the account's list may not have.
 * @throws Fault `invalid_request` where the model has no endpoint that this program speaks
 */
export function routeChosen(deps: Pick<ServeDeps, 'config'>, model: Model, upstreamPath: string): Route {
  const path = chooseEndpoint(model, askFrom(deps, upstreamPath))
  if (path !== undefined) return { id: model.id, model, path }
  const detail = `Copilot chose ${model.id}, which has no endpoint that this request can use`
  throw new Fault({ kind: 'invalid_request', path: 'model', detail, code: 'unsupported_api_for_model' })
}

/** What decides the upstream dialect of a caller's request. */
function askFrom({ config }: Pick<ServeDeps, 'config'>, callerPath: string): EndpointAsk {
  return { callerPath, setting: config().copilot.upstreamDialect, spoken: spokenFor(callerPath) }
}

const everyDialect = Object.values(dialects).map((dialect) => dialect.upstreamPath)

/** A dialect's request can be translated to any other; what has no dialect (embeddings) has its own path only. */
function spokenFor(upstreamPath: string): readonly string[] {
  return everyDialect.includes(upstreamPath) ? everyDialect : [upstreamPath]
}
