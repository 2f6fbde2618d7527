import { countOf, isFilled, isObject, objectsOf } from '../../parts/wire-json.ts'
import type { WireChunk, WireToolCall } from '../wire-chunk.ts'
import { asDrafted, draftedItems } from './response-draft.ts'
import type { ResponseDraft } from './response-draft.ts'

/** The final event of a stream that ends in the Responses dialect, in Chat's words. */
export interface ResponseEnd {
  /** Identity and usage of the reply, as a chunk without a choice. */
  readonly chunk: WireChunk
  /** The whole answer; '' and none where there is nothing. */
  readonly content: string
  readonly refusal: string
  readonly reasoning: string
  readonly encryptedContent: string
  readonly calls: readonly WireToolCall[]
  readonly reason: 'stop' | 'length' | 'content_filter'
}

/**
 * `response.completed` and `response.incomplete` carry the whole response, or leave `output` empty after events that
 * told it. Source: OpenAI API reference, Responses, 2026-11; docs/copilot-wire.md, "Chat stream".
 */
export function readResponseEnd(value: unknown, draft: ResponseDraft): ResponseEnd {
  const response = isObject(value) ? value : {}
  const output = objectsOf(response['output'])
  const items = output.length > 0 ? output.map((item, at) => asDrafted(draft, item, at)) : draftedItems(draft)
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => objectsOf(content))
  const reasoning = items.filter(({ type }) => type === 'reasoning')
  return {
    chunk: {
      id: response['id'],
      created: response['created_at'],
      model: response['model'],
      choices: [],
      ...(isObject(response['usage']) && { usage: toChatUsage(response['usage']) }),
      ...(isObject(response['copilot_usage']) && { copilot_usage: response['copilot_usage'] }),
    },
    content: textsOf(parts, 'output_text', 'text').join(''),
    refusal: textsOf(parts, 'refusal', 'refusal').join(''),
    reasoning: reasoning.flatMap(reasoningTexts).join('\n\n'),
    encryptedContent: reasoning.map((item) => item['encrypted_content']).findLast(isFilled) ?? '',
    calls: items.map(toToolCall).filter((call) => call !== undefined),
    reason: reasonOf(response['incomplete_details']),
  }
}

/** Summaries are what models show of their reasoning; the reasoning itself where there is none. */
function reasoningTexts({ summary, content }: Readonly<Record<string, unknown>>): string[] {
  const summaries = textsOf(objectsOf(summary), 'summary_text', 'text')
  return summaries.length > 0 ? summaries : textsOf(objectsOf(content), 'reasoning_text', 'text')
}

function textsOf(parts: readonly Record<string, unknown>[], type: string, key: string): string[] {
  return parts
    .filter((part) => part['type'] === type)
    .map((part) => part[key])
    .filter(isFilled)
}

function toToolCall(item: Readonly<Record<string, unknown>>): WireToolCall | undefined {
  const { type, call_id: id, name, arguments: args, input } = item
  if (type === 'function_call') return { id, type: 'function', function: { name, arguments: args } }
  return type === 'custom_tool_call' ? { id, type: 'custom', custom: { name, input } } : undefined
}

function reasonOf(details: unknown): ResponseEnd['reason'] {
  if (!isObject(details)) return 'stop'
  switch (details['reason']) {
    case 'max_output_tokens':
      return 'length'
    case 'content_filter':
      return 'content_filter'
    default:
      return 'stop'
  }
}

function toChatUsage(usage: Record<string, unknown>) {
  const input = countOf(usage['input_tokens'])
  const output = countOf(usage['output_tokens'])
  const cached = detailOf(usage['input_tokens_details'], 'cached_tokens')
  const reasoning = detailOf(usage['output_tokens_details'], 'reasoning_tokens')
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: countOf(usage['total_tokens']) || input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}

function detailOf(details: unknown, key: string): number {
  return isObject(details) ? countOf(details[key]) : 0
}
