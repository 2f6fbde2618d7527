import type { FastifyInstance, HTTPMethods } from 'fastify'
import { Fault } from '../errors.ts'
import type { DialectId } from '../translate/dialect.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The dialect of the route's error envelopes. Default: chat. */
    readonly dialect?: DialectId
    /** Needs none of `server.api-keys`. */
    readonly public?: boolean
    /** Answers during shutdown too. */
    readonly always?: boolean
  }
}

/** Methods by path; 404 and 405 answers list them. */
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
  const allowed = openaiPathLikeId.test(path) ? undefined : [...table].find(([pattern]) => matches(pattern, path))?.[1]
  if (allowed !== undefined) return new Fault({ kind: 'method_not_allowed', method, path, allow: [...allowed] })
  const routes = [...table].flatMap(([pattern, methods]) =>
    [...methods].filter((name) => name !== 'HEAD').map((name) => `${name} ${pattern}`),
  )
  return new Fault({ kind: 'route_not_found', method, path, routes })
}

/** OpenAI routes that this program lacks and that look like a response id; clients expect 404 for a missing route. */
const openaiPathLikeId = /^(?:\/v1)?\/responses\/(?:compact|input_tokens)$/

function matches(pattern: string, path: string): boolean {
  if (!pattern.includes(':') && !pattern.includes('*')) return pattern === path
  const wanted = pattern.split('/')
  const given = path.split('/')
  const hasWildcard = wanted.at(-1) === '*'
  if (hasWildcard ? given.length < wanted.length : given.length !== wanted.length) return false
  return wanted.every((part, i) => part === '*' || part.startsWith(':') || part === given[i])
}
