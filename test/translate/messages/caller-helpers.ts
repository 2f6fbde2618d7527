import { messagesBodyOf } from '../../../src/translate/messages/wire.ts'
import { messagesDialect } from '../../../src/translate/messages/dialect.ts'
import { readdirSync, readFileSync } from 'node:fs'
import type { CallerHeaders, DecodedTurn } from '../../../src/translate/dialect.ts'
import { encodeContext, traits } from '../turns.ts'
import { deepFreeze } from '../faults.ts'

export const hello = [{ role: 'user', content: 'hello' }]

/** The model and the settings for decoding. */
export const context = encodeContext(traits('gpt-5-mini'))

/** A body that is complete but for what the test is about. */
export function decode(body: object, headers?: CallerHeaders) {
  const text = JSON.stringify({ model: 'gpt-5-mini', max_tokens: 100, messages: hello, ...body })
  return messagesDialect.decodeRequest(text, { bytes: Buffer.from(text), headers })
}

/** The body as a Turn. It is frozen, so that a decoder which changes it fails the test. */
export function turnOf(body: object): DecodedTurn {
  const request = decode(body)
  deepFreeze(messagesBodyOf(request).value)
  return messagesDialect.decodeTurn(request, context)
}

/** A file of test/fixtures. */
export function fixture(path: string): string {
  return readFileSync(new URL(`../../fixtures/${path}`, import.meta.url), 'utf8')
}

/** `claude-code-first`, …: the files of test/fixtures/messages-requests. */
export const clientNames = readdirSync(new URL('../../fixtures/messages-requests', import.meta.url)).map((name) =>
  name.replace(/\.json$/, ''),
)
