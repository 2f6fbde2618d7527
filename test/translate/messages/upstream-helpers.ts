import { messagesBodyOf } from '../../../src/translate/messages/wire.ts'
import { messagesDialect } from '../../../src/translate/messages/dialect.ts'
import type { EncodedRequest } from '../../../src/translate/dialect.ts'
import type { ModelTraits } from '../../../src/translate/model-traits.ts'
import { formatWarning } from '../../../src/translate/warning.ts'
import { hello } from './caller-helpers.ts'
import { deepFreeze } from '../faults.ts'

type Supports = ModelTraits['supports']

export function traits(id: string, supports: Supports = {}, rest: Partial<ModelTraits> = {}): ModelTraits {
  return { id, family: id, vendor: 'Anthropic', supports, ...rest }
}

const efforts = { reasoningEffort: ['low', 'medium', 'high'], adaptiveThinking: true }
const budget = { minThinkingBudget: 1024, maxThinkingBudget: 32_000 }

/** One of each kind, with what the model list says of them (docs/copilot-wire.md, "Models"). */
export const models = {
  haiku45: traits('claude-haiku-4.5', budget, { maxOutputTokens: 64_000 }),
  sonnet45: traits('claude-sonnet-4.5', budget, { maxOutputTokens: 32_000 }),
  opus46: traits('claude-opus-4.6', { ...efforts, ...budget, structuredOutputs: true }, { maxOutputTokens: 32_000 }),
  opus48: traits('claude-opus-4.8', efforts, { maxOutputTokens: 64_000 }),
  sonnet5: traits(
    'claude-sonnet-5',
    { ...efforts, reasoningEffort: ['low', 'medium', 'high', 'xhigh', 'max'] },
    { maxOutputTokens: 128_000 },
  ),
} as const

export interface PassOptions {
  readonly model?: ModelTraits
  readonly betas?: readonly string[]
  readonly learnedRefusals?: readonly string[]
}

export function contextOf({ model = models.opus48, learnedRefusals = [] }: PassOptions = {}) {
  return { model, strict: false, learnedRefusals: new Set(learnedRefusals) }
}

/** A request as it goes upstream, for looking at. */
export function readEncoded({ body, headers = {}, warnings }: EncodedRequest) {
  const json = body.toString()
  // Every body here is a JSON object: it was made of one.
  const value = JSON.parse(json) as Record<string, unknown>
  return { json, value, betas: headers['anthropic-beta'], headers, warnings: warnings.map(formatWarning) }
}

/**
 * What upstream gets for a caller's body, which is completed by what the test is not about. The body is frozen, so that a
 * rule which changes it fails the test.
 */
export function pass(body: object | string, options: PassOptions = {}) {
  const text =
    typeof body === 'string' ? body : JSON.stringify({ model: 'm', max_tokens: 1000, messages: hello, ...body })
  const encoded = passText(text, options)
  if (encoded === undefined) throw new Error('the request is to be translated')
  return readEncoded(encoded)
}

export function passText(text: string, options: PassOptions = {}): EncodedRequest | undefined {
  const headers = options.betas === undefined ? {} : { 'anthropic-beta': options.betas.join(', ') }
  const request = messagesDialect.decodeRequest(text, { bytes: Buffer.from(text), headers })
  deepFreeze(messagesBodyOf(request).value)
  return messagesDialect.upstream.passRequest(request, contextOf(options))
}

/** Betas as Claude Code sends them. Source: client recordings of 2026-11-20. */
export const claudeCodeBetas = [
  'claude-code-20250219',
  'interleaved-thinking-2025-05-14',
  'context-management-2025-06-27',
  'thinking-token-count-2026-05-13',
  'advanced-tool-use-2025-11-20',
  'thinking-display-updates-2026-08-18',
  'effort-2025-11-24',
  'per-turn-control-2026-07-01',
  'mid-conversation-tool-changes-2026-07-01',
]
