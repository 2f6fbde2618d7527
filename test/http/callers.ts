import type { UpstreamDialectId } from '../../src/translate/dialect.ts'

export const callers = ['chat', 'responses', 'messages'] as const satisfies readonly UpstreamDialectId[]

export const dialectPaths = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
} as const satisfies Record<UpstreamDialectId, string>

/** A small request in a caller's dialect; `change` is laid over it. */
export function bodyOfPrompt(
  caller: UpstreamDialectId,
  model: string,
  prompt: string,
  change: Readonly<Record<string, unknown>> = {},
): string {
  const messages = [{ role: 'user', content: prompt }]
  const body = {
    chat: { messages },
    responses: { input: prompt },
    messages: { max_tokens: 1000, messages },
  }[caller]
  return JSON.stringify({ model, ...body, ...change })
}
