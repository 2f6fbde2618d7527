import { chatDialect } from './chat/dialect.ts'
import type { Dialect, DialectId, UpstreamDialect } from './dialect.ts'
import { messagesDialect } from './messages/dialect.ts'
import { responsesDialect } from './responses/dialect.ts'

/** Every dialect. A dialect with a missing verb does not compile. */
export const dialects = {
  chat: chatDialect,
  responses: responsesDialect,
  messages: messagesDialect,
} satisfies Record<DialectId, Dialect>

const all: readonly Dialect[] = Object.values(dialects)

const byPath: ReadonlyMap<string, UpstreamDialect> = new Map(
  all.flatMap(({ upstream }) => (upstream === undefined ? [] : [[upstream.path, upstream]])),
)

/** The paths that upstreams of a known dialect are asked at. */
export const upstreamPaths: readonly string[] = [...byPath.keys()]

/** The dialect of an upstream path, e.g. `/v1/messages`; undefined for paths of no dialect. */
export function dialectOfPath(path: string): UpstreamDialect | undefined {
  return byPath.get(path)
}
