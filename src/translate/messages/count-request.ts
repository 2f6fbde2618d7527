import type { CallerRequest, EncodeContext, EncodedRequest } from '../dialect.ts'
import { messagesBodyOf } from './wire-request.ts'

/** What a count depends on. Source: Anthropic API reference, count tokens, 2026-11. */
const COUNTED = ['system', 'messages', 'tools', 'tool_choice', 'thinking'] as const

/** The body of a token count upstream. It takes shapes that the Messages route refuses, so nothing is repaired. */
export function countRequestBody(
  request: CallerRequest,
  context: EncodeContext,
): Pick<EncodedRequest, 'body' | 'headers'> {
  const { value } = messagesBodyOf(request)
  const counted = COUNTED.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key]] as const]))
  return {
    body: Buffer.from(JSON.stringify({ model: context.model.id, ...Object.fromEntries(counted) })),
    headers: { 'anthropic-version': '2023-06-01' },
  }
}
