import type { IncomingMessage } from 'node:http'

/** Paths of the simulated GitHub and Copilot. `/models/{id}` matches each model. */
const ROUTES = {
  '/login/device': 'GET',
  '/login/device/code': 'POST',
  '/login/oauth/access_token': 'POST',
  '/user': 'GET',
  '/copilot_internal/v2/token': 'GET',
  '/copilot_internal/user': 'GET',
  '/copilot/mcp_registry': 'GET',
  '/_ping': 'GET',
  '/models': 'GET',
  '/models/{id}': 'GET',
  '/models/{id}/policy': 'POST',
  '/models/session': 'POST',
  '/auto': 'POST',
  '/chat/completions': 'POST',
  '/responses': 'POST',
  '/v1/messages': 'POST',
  '/v1/messages/count_tokens': 'POST',
  '/embeddings': 'POST',
  '/v1/images/generations': 'POST',
  '/v1/images/edits': 'POST',
  '/v1/engines/{id}/completions': 'POST',
} as const
export type CopilotRoute = keyof typeof ROUTES

/** Routes whose replies may stream an answer of a model. */
export const STREAMING_ROUTES: ReadonlySet<CopilotRoute> = new Set([
  '/chat/completions',
  '/responses',
  '/v1/messages',
  '/v1/engines/{id}/completions',
])

/** Routes of which a part names a model or an engine. */
const NAMED: readonly (readonly [RegExp, CopilotRoute])[] = [
  [/^\/models\/[^/]+$/, '/models/{id}'],
  [/^\/models\/[^/]+\/policy$/, '/models/{id}/policy'],
  [/^\/v1\/engines\/[^/]+\/completions$/, '/v1/engines/{id}/completions'],
]

/** The route of a request; undefined if the path or the method is not served. */
export function routeOf({ method = '', url = '' }: IncomingMessage): CopilotRoute | undefined {
  const [path = ''] = url.split('?', 1)
  const route = isRoute(path) ? path : NAMED.find(([pattern]) => pattern.test(path))?.[1]
  return route !== undefined && ROUTES[route] === method ? route : undefined
}

function isRoute(path: string): path is CopilotRoute {
  return Object.hasOwn(ROUTES, path)
}
