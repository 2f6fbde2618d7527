import { chatDialect } from './chat/dialect.ts'
import type { Dialect, DialectId } from './dialect.ts'

/** Every dialect the program speaks. A dialect with a missing verb does not compile. */
export const dialects = {
  chat: chatDialect,
} satisfies Record<DialectId, Dialect>
