import type { FastifyInstance, HTTPMethods } from 'fastify'
import { Fault } from '../errors.ts'
import type { DialectId } from '../translate/dialect.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whose error envelope the route answers with. Default: chat. */
    readonly dialect?: DialectId
    /** Answers without one of `server.api-keys`. */
    readonly public?: boolean
    /** Answers also while the daemon stops. */
    readonly always?: boolean
  }
}

/** Path to methods, of every route there is; what 404 and 405 answers name. */
export type RouteTable = ReadonlyMap<string, ReadonlySet<string>>

/** Records every route as it is registered. Call before the routes are. */
export function collectRoutes(app: FastifyInstance): RouteTable {
  const table = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = table.get(url) ?? new Set()
    for (const name of [method].flat()) methods.add(name satisfies HTTPMethods)
    table.set(url, methods)
  })
  return table
}

/** What a request for a route that does not exist is told. */
export function unknownRoute(table: RouteTable, method: string, url: string): Fault {
  const path = url.split('?', 1)[0] ?? url
  const allowed = notAnId.test(path) ? undefined : [...table].find(([pattern]) => matches(pattern, path))?.[1]
  if (allowed !== undefined) return new Fault({ kind: 'method_not_allowed', method, path, allow: [...allowed] })
  const routes = [...table].flatMap(([pattern, methods]) =>
    [...methods].filter((name) => name !== 'HEAD').map((name) => `${name} ${pattern}`),
  )
  return new Fault({ kind: 'route_not_found', method, path, routes })
}

/** Routes of OpenAI's that are not here and read like the id of a response; clients go by the 404. */
const notAnId = /^(?:\/v1)?\/responses\/(?:compact|input_tokens)$/

function matches(pattern: string, path: string): boolean {
  if (!pattern.includes(':') && !pattern.includes('*')) return pattern === path
  const wanted = pattern.split('/')
  const given = path.split('/')
  const open = wanted.at(-1) === '*'
  if (open ? given.length < wanted.length : given.length !== wanted.length) return false
  return wanted.every((part, i) => part === '*' || part.startsWith(':') || part === given[i])
}
