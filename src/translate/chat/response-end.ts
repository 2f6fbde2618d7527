import { isFilled, isObject, objectsOf } from './wire-chunk.ts'
import type { WireChunk, WireDelta } from './wire-chunk.ts'

/** The final event of a stream that ends in the Responses dialect, in Chat's words. */
export interface ResponseEnd {
  /** Identity and usage of the reply, as a chunk without a choice. */
  readonly chunk: WireChunk
  /** The whole answer; it matters only where no chunk said anything before. */
  readonly delta: WireDelta
  readonly reason: 'stop' | 'length' | 'content_filter'
}

/** `response.completed` and `response.incomplete` carry the whole response. Source: dialects §6, §7.3. */
export function readResponseEnd(value: unknown): ResponseEnd {
  const response = isObject(value) ? value : {}
  const items = objectsOf(response['output'])
  const parts = items.filter((item) => item['type'] === 'message').flatMap((item) => objectsOf(item['content']))
  const content = joined(parts, 'output_text', 'text')
  const refusal = joined(parts, 'refusal', 'refusal')
  const calls = items.filter((item) => item['type'] === 'function_call')
  return {
    chunk: {
      id: response['id'],
      created: response['created_at'],
      model: response['model'],
      choices: [],
      ...(isObject(response['usage']) && { usage: toChatUsage(response['usage']) }),
      ...(isObject(response['copilot_usage']) && { copilot_usage: response['copilot_usage'] }),
    },
    delta: {
      ...(content !== '' && { content }),
      ...(refusal !== '' && { refusal }),
      ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
    },
    reason: reasonOf(response['incomplete_details']),
  }
}

function joined(parts: readonly Record<string, unknown>[], type: string, key: string): string {
  let text = ''
  for (const part of parts) {
    if (part['type'] === type && isFilled(part[key])) text += part[key]
  }
  return text
}

function toToolCall(item: Record<string, unknown>, index: number) {
  const { call_id: id, name, arguments: args } = item
  return { index, id, type: 'function', function: { name, arguments: args } }
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

/** A token count; 0 where upstream gives none. */
export function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
