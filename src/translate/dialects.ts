import { chatDialect } from './chat/dialect.ts'
import type { Dialect, DialectId } from './dialect.ts'
import { messagesDialect } from './messages/dialect.ts'
import { responsesDialect } from './responses/dialect.ts'

/** Every dialect the program speaks. A dialect with a missing verb does not compile. */
export const dialects = {
  chat: chatDialect,
  responses: responsesDialect,
  messages: messagesDialect,
} satisfies Record<DialectId, Dialect>

const byPath: ReadonlyMap<string, Dialect> = new Map(
  Object.values(dialects).map((dialect) => [dialect.upstreamPath, dialect]),
)

/** The dialect of an upstream path, e.g. `/v1/messages`; undefined for paths no dialect has. */
export function dialectOfPath(path: string): Dialect | undefined {
  return byPath.get(path)
}
