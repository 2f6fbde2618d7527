import { parseJson } from './http-json.ts'
import { toPlainLine } from './plain-text.ts'
import type { AccessTokenReply } from './wire.ts'

/** An OAuth reply: JSON, or the form encoding GitHub answers with when something on the way drops our Accept header. */
export function parseJsonOrForm(text: string): unknown {
  return parseJson(text) ?? Object.fromEntries(new URLSearchParams(text))
}

/** The error's own description, else its code. */
export function describeRefusal(reply: AccessTokenReply): string {
  return toPlainLine(reply.error_description || reply.error || 'no reason given')
}
