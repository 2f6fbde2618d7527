import { countOf, isFilled, isObject, objectsOf, objectOf } from '../../../json/json.ts'
import type { FinishReason, WireChunk, WireDelta } from '../wire.ts'

/**
 * Converts the final event of a stream that ends in the Responses dialect, `response.completed` or `response.incomplete`,
 * to a chunk without a choice (identity and usage of the reply), the answer in one delta (no keys if `output` is empty)
 * and the finish reason. Source: OpenAI API reference, Responses, 2026-11.
 */
export function readResponseEnd({ response: value, copilot_usage: beside }: WireChunk) {
  const response = objectOf(value)
  const { id, created_at: created, model, usage, copilot_usage: copilotUsage, incomplete_details: details } = response
  return {
    chunk: {
      id,
      created,
      model,
      choices: [],
      ...(isObject(usage) && { usage: toChatUsage(usage) }),
      copilot_usage: isObject(copilotUsage) ? copilotUsage : beside,
    },
    delta: toDelta(objectsOf(response['output'])),
    reason: toFinishReason(details),
  }
}

type Item = Readonly<Record<string, unknown>>

function toDelta(output: readonly Item[]): WireDelta {
  const messages = output.filter(({ type }) => type === 'message').flatMap(({ content }) => objectsOf(content))
  const summaries = output.filter(({ type }) => type === 'reasoning').flatMap(({ summary }) => objectsOf(summary))
  const reasoning = textsOf(summaries, 'summary_text', 'text').join('\n\n')
  const content = textsOf(messages, 'output_text', 'text').join('')
  const refusal = textsOf(messages, 'refusal', 'refusal').join('')
  const calls = output.filter(({ type }) => type === 'function_call' || type === 'custom_tool_call').map(toToolCall)
  return {
    ...(reasoning !== '' && { reasoning_text: reasoning }),
    ...(content !== '' && { content }),
    ...(refusal !== '' && { refusal }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

function textsOf(parts: readonly Item[], type: string, key: string): string[] {
  return parts
    .filter((part) => part['type'] === type)
    .map((part) => part[key])
    .filter(isFilled)
}

function toToolCall({ type, call_id: id, name, arguments: args, input }: Item, index: number) {
  if (type === 'function_call') return { index, id, type: 'function', function: { name, arguments: args } }
  return { index, id, type: 'custom', custom: { name, input } }
}

function toFinishReason(details: unknown): FinishReason {
  const reason = isObject(details) ? details['reason'] : undefined
  if (reason === 'max_output_tokens') return 'length'
  return reason === 'content_filter' ? reason : 'stop'
}

function toChatUsage(usage: Item) {
  const { input_tokens_details: inputDetails, output_tokens_details: outputDetails } = usage
  const input = countOf(usage['input_tokens'])
  const output = countOf(usage['output_tokens'])
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: countOf(usage['total_tokens']) || input + output,
    prompt_tokens_details: { cached_tokens: detailOf(inputDetails, 'cached_tokens') },
    completion_tokens_details: { reasoning_tokens: detailOf(outputDetails, 'reasoning_tokens') },
  }
}

function detailOf(details: unknown, key: string): number {
  return isObject(details) ? countOf(details[key]) : 0
}
