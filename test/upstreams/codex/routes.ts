import type { IncomingMessage } from 'node:http'

const ROUTES = {
  '/oauth/authorize': 'GET',
  '/oauth/token': 'POST',
  '/oauth/revoke': 'POST',
  '/api/accounts/deviceauth/usercode': 'POST',
  '/api/accounts/deviceauth/token': 'POST',
  '/codex/device': 'GET',
  '/backend-api/codex/responses': 'POST',
  '/backend-api/codex/models': 'GET',
  '/v1/responses': 'POST',
  '/v1/models': 'GET',
} as const

/** Paths of the simulated services. `other` is any other path, which is refused and recorded too. */
export type CodexRoute = keyof typeof ROUTES | 'other'

export const STREAMING_ROUTES: ReadonlySet<CodexRoute> = new Set<CodexRoute>([
  '/backend-api/codex/responses',
  '/v1/responses',
])

export function routeOf({ method = '', url = '' }: IncomingMessage): CodexRoute {
  const [path = ''] = url.split('?', 1)
  return isRoute(path) && ROUTES[path] === method ? path : 'other'
}

function isRoute(path: string): path is keyof typeof ROUTES {
  return Object.hasOwn(ROUTES, path)
}
