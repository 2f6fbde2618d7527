import type { FastifyInstance, HTTPMethods } from 'fastify'
import { editDistance } from '../../config/near-match.ts'
import { Fault } from '../../errors.ts'
import type { DialectId } from '../../translate/dialect.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The dialect of the route's error envelopes. Default: chat. */
    readonly dialect?: DialectId
    /** Needs none of `server.api-keys`. */
    readonly public?: boolean
    /** Public, but not for other users of this machine while no key is configured. */
    readonly checksPeer?: boolean
    /** Answers during shutdown too. */
    readonly always?: boolean
  }
}

/** Methods by path. */
export type RouteTable = ReadonlyMap<string, ReadonlySet<string>>

/** Records every route that is registered after this call. */
export function collectRoutes(app: FastifyInstance): RouteTable {
  const table = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = table.get(url) ?? new Set()
    for (const name of [method].flat()) methods.add(name satisfies HTTPMethods)
    table.set(url, methods)
  })
  return table
}

/** The fault for a request that matches no route: `method_not_allowed` or `route_not_found`. */
export function unknownRoute(table: RouteTable, method: string, url: string): Fault {
  const path = url.split('?', 1)[0] ?? url
  const advice = notOffered.get(path.replace(/^\/v1\//, '/'))
  if (advice !== undefined) return new Fault({ kind: 'route_not_found', method, path, advice })
  const allowed = [...table].find(([pattern]) => matches(pattern, path))?.[1]
  if (allowed !== undefined) return new Fault({ kind: 'method_not_allowed', method, path, allow: [...allowed] })
  const near = nearPath(table, path)
  const suggestion = near && `${methodOf(table.get(near))} ${near}`
  return new Fault({ kind: 'route_not_found', method, path, suggestion })
}

/** `GET /v1/responses` exists for its answer to WebSocket clients only. */
function methodOf(methods: ReadonlySet<string> | undefined): string {
  return methods?.has('POST') === true ? 'POST' : 'GET'
}

/** Paths of other APIs, without `/v1`, and the route that does their job here. */
const foreignPaths: ReadonlyMap<string, string> = new Map([
  ['chat', '/v1/chat/completions'],
  // Anthropic's older text completions.
  ['complete', '/v1/messages'],
  // Ollama.
  ['api/generate', '/v1/chat/completions'],
  ['api/chat', '/v1/chat/completions'],
  ['api/embed', '/v1/embeddings'],
  ['api/tags', '/v1/models'],
])

/** `/v1/message` means `/v1/messages`, and not the route of sessions. */
const unsuggested: ReadonlySet<string> = new Set(['/message', '/events'])

/** Longer paths are not compared: the cost grows with the product of the lengths. Characters. */
const longestCompared = 100

/** The route that a path probably means: without its prefix, with `/v1` added or removed, or with a typo corrected. */
function nearPath(table: RouteTable, path: string): string | undefined {
  if (path.length > longestCompared) return undefined
  const parts = path
    .toLowerCase()
    .split('/')
    .filter((part) => part !== '')
  const given = parts.filter((part) => part !== 'v1').join('/')
  const foreign = foreignPaths.get(given)
  if (foreign !== undefined) return foreign
  // Routes with `/v1` are registered before their twins without.
  const byName = new Map<string, string>()
  for (const pattern of table.keys()) {
    if (unsuggested.has(pattern)) continue
    const name = pattern.replace(/^\/(?:v1\/)?/, '')
    if (name !== '' && !/[:*]/.test(name) && !byName.has(name)) byName.set(name, pattern)
  }
  for (let at = 0; at < parts.length; at += 1) {
    const route = byName.get(parts.slice(at).join('/'))
    if (route !== undefined) return route
  }
  const [nearest] = [...byName.keys()]
    .map((name) => ({ name, distance: editDistance(given, name) }))
    .filter(({ name, distance }) => distance <= name.length / 4)
    .toSorted((one, other) => one.distance - other.distance)
  return nearest && byName.get(nearest.name)
}

/**
 * OpenAI routes that this program lacks and that look like a response id; clients expect 404 for a missing route. No client of
 * docs/clients.md calls them (Codex CLI 0.169.0 compacts with a request to /v1/responses).
 */
const notOffered: ReadonlyMap<string, string> = new Map([
  [
    '/responses/compact',
    'copilot-proxy does not offer /v1/responses/compact. To compact a conversation, ask for a summary with POST /v1/responses.',
  ],
  [
    '/responses/input_tokens',
    'copilot-proxy does not offer /v1/responses/input_tokens. Read usage.input_tokens of an answer, or count a Messages request ' +
      'with POST /v1/messages/count_tokens.',
  ],
])

function matches(pattern: string, path: string): boolean {
  if (!pattern.includes(':') && !pattern.includes('*')) return pattern === path
  const wanted = pattern.split('/')
  const given = path.split('/')
  const hasWildcard = wanted.at(-1) === '*'
  if (hasWildcard ? given.length < wanted.length : given.length !== wanted.length) return false
  return wanted.every((part, i) => part === '*' || part.startsWith(':') || part === given[i])
}
