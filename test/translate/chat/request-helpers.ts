import { chatDialect } from '../../../src/translate/chat/dialect.ts'
import { chatBodyOf } from '../../../src/translate/chat/wire.ts'
import { dialects } from '../../../src/translate/dialects.ts'
import type { CallerRequest, DecodedTurn, EncodeContext } from '../../../src/translate/dialect.ts'
import type { ModelTraits } from '../../../src/translate/model-traits.ts'
import { formatWarning, refuseLosses, type Warning } from '../../../src/translate/warning.ts'
import { deepFreeze } from '../faults.ts'

export const hello = [{ role: 'user', content: 'hello' }]

export function traits(id: string, rest: Partial<ModelTraits> = {}): ModelTraits {
  return { id, family: id, supports: {}, ...rest }
}

export interface PassOptions {
  readonly model?: ModelTraits
  readonly historyWindow?: number
  readonly reasoningContent?: boolean
  readonly strict?: boolean
  readonly learnedRefusals?: readonly string[]
}

export function contextOf({
  model = traits('gpt-4.1'),
  strict = false,
  learnedRefusals = [],
}: PassOptions = {}): EncodeContext {
  return { model, strict, learnedRefusals: new Set(learnedRefusals) }
}

/** Warnings as the header has them, with the sentence of the log. */
export function describeWarnings(warnings: readonly Warning[]): string[] {
  return warnings.map((warning) => `${formatWarning(warning)}: ${warning.detail}`)
}

/** A caller's request. Its value is frozen, so that a coder which changes it fails the test. */
export function turnOf(request: CallerRequest): DecodedTurn {
  return dialects.chat.decodeTurn(request, contextOf())
}

export function callOf(body: unknown, { historyWindow = 0, reasoningContent = false }: PassOptions = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const settings = { historyWindow, reasoningContent: reasoningContent ? 'always' : 'auto' } as const
  const request = dialects.chat.decodeRequest(text, { bytes: Buffer.from(text), settings: { chat: settings } })
  deepFreeze(chatBodyOf(request).value)
  return request
}

/** What upstream gets for a caller's body, as the pipeline sends it on. */
export function pass(body: unknown, options: PassOptions = {}) {
  const context = contextOf(options)
  const encoded = chatDialect.upstream.passRequest(callOf(body, options), context)
  if (encoded === undefined) throw new Error('the request has to be translated')
  if (context.strict) refuseLosses(encoded.warnings)
  const json = encoded.body.toString()
  // Every body here is a JSON object: the caller's dialect has refused anything else.
  const value = JSON.parse(json) as Record<string, unknown>
  return { json, value, warnings: describeWarnings(encoded.warnings) }
}
