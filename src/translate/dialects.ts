import type { CallerDialect, DialectId, UpstreamDialectId, UpstreamDialect } from './dialect.ts'
import { createChatCaller } from './chat/caller/dialect.ts'
import { chatUpstream } from './chat/upstream/dialect.ts'
import { messagesCaller } from './messages/caller/dialect.ts'
import { messagesUpstream } from './messages/upstream/dialect.ts'
import { responsesCaller } from './responses/caller/dialect.ts'
import { responsesUpstream } from './responses/upstream/dialect.ts'

/** Every dialect that callers speak. A dialect with a missing verb does not compile. */
export const callerDialects = {
  chat: createChatCaller(),
  responses: responsesCaller,
  messages: messagesCaller,
} satisfies Record<DialectId, CallerDialect>

/** Every dialect that upstreams speak. A dialect that only callers speak has no row here. */
export const upstreamDialects = {
  chat: chatUpstream,
  responses: responsesUpstream,
  messages: messagesUpstream,
} satisfies Record<UpstreamDialectId, UpstreamDialect>

const byPath: ReadonlyMap<string, UpstreamDialect> = new Map(
  Object.values(upstreamDialects).map((dialect) => [dialect.path, dialect]),
)

/** The paths that upstreams of a known dialect are asked at. */
export const upstreamPaths: readonly string[] = [...byPath.keys()]

/** The dialect of an upstream path, e.g. `/v1/messages`; undefined for paths of no dialect. */
export function dialectOfPath(path: string): UpstreamDialect | undefined {
  return byPath.get(path)
}

/** The path of an upstream that speaks the caller's own dialect; undefined for a dialect that only callers speak. */
export function ownPathOf({ id }: CallerDialect): string | undefined {
  return (upstreamDialects as Readonly<Partial<Record<DialectId, UpstreamDialect>>>)[id]?.path
}
