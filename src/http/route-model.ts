import { Fault } from '../errors.ts'
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
  const setting = deps.config().copilot.upstreamDialect
  const ask = { callerPath: upstreamPath, setting, spoken: spokenFor(upstreamPath) }
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

const everyDialect = Object.values(dialects).map((dialect) => dialect.upstreamPath)

/** A dialect's request can be translated to any other; what has no dialect (embeddings) has its own path only. */
function spokenFor(upstreamPath: string): readonly string[] {
  return everyDialect.includes(upstreamPath) ? everyDialect : [upstreamPath]
}
