import { describe, expect, test } from 'vitest'
import type { ProxyError } from '../../src/errors.ts'
import { openAiErrorStatus, toOpenAiError } from '../../src/translate/engine/openai-error.ts'
import { messagesErrorStatus, toMessagesError } from '../../src/translate/messages/error.ts'

/** What a backend says, and what Claude Code reads. */
const full: readonly (readonly [message: string, forMessages: string])[] = [
  ['Your input exceeds the context window of this model. Please adjust your input and try again.', ''],
  ['Bad request: input exceeds the context window of this model', ''],
  [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130211 tokens.",
    'prompt is too long: 130211 tokens > 128000 maximum',
  ],
  ['Input is too long for requested model.', ''],
  ['ValidationException: Input is too long for requested model.', ''],
  ['prompt is too long: 210194 tokens > 200000 maximum', 'prompt is too long: 210194 tokens > 200000 maximum'],
  ['exceeded model context window', ''],
  [
    'The input token count (1200345) exceeds the maximum number of tokens allowed (1048576).',
    'prompt is too long: 1200345 tokens > 1048576 maximum',
  ],
  ['prompt token count of 138898 exceeds the limit of 64000', 'prompt is too long: 138898 tokens > 64000 maximum'],
  ['Request body is too large for model context window', ''],
  ['the request exceeds the available context size. try increasing the context size', ''],
  [
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    'prompt is too long: 537812 tokens > 131072 maximum',
  ],
  ['Your request exceeded model token limit: 131072', ''],
  ['litellm.BadRequestError: ContextWindowExceededError: context window exceeded', ''],
  ['Please reduce the length of the messages or completion.', ''],
]

/** The prompt fits, the answer does not: told in the original words, whose numbers Claude Code reads. */
const overflow = 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length'

const faults = (message: string): readonly ProxyError[] => [
  { kind: 'upstream_status', status: 400, message },
  { kind: 'upstream_status', status: 400, message, code: 'invalid_request_body' },
  { kind: 'upstream_status', status: 400, message: `gateway error: 400 ${message}` },
  { kind: 'upstream_failed', message, code: 'server_error' },
]

describe('a full context window', () => {
  test.each([...full, [overflow, overflow] as const])('%s', (message, forMessages) => {
    for (const [at, error] of faults(message).entries()) {
      const told = toMessagesError(error, 'r').error
      expect(messagesErrorStatus(error)).toBe(400)
      expect(told.type).toBe('invalid_request_error')
      if (forMessages === '') expect(told.message).toContain(`prompt is too long: `)
      else if (at !== 2) expect(told.message).toBe(forMessages)
      expect([openAiErrorStatus(error), toOpenAiError(error, 'r').error.code]).toEqual([400, 'context_length_exceeded'])
    }
  })
})

describe('another limit', () => {
  test.each([
    "Invalid 'messages[0].name': string too long. Expected a string with maximum length 64, but got 70 instead.",
    "Invalid 'input[0].content': string too long. Expected a string with maximum length 10485760.",
    'max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens',
    'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.',
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 150 instead.",
    'Request too large for gpt-4.1 on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced.',
    'messages.0.content.0.image.source.base64.data: image exceeds 5 MB maximum',
    'tools.0.custom.description: String should have at most 4096 characters',
    'the context of this conversation is unknown',
  ])('is none: %s', (message) => {
    for (const error of faults(message))
      expect(toOpenAiError(error, 'r').error.code).not.toBe('context_length_exceeded')
  })

  test('is none: a rate limit on the tokens of prompts', () => {
    const message = 'The prompt tokens exceed the limit of this window.'
    const error: ProxyError = { kind: 'upstream_status', status: 429, message, code: 'rate_limited' }
    expect(openAiErrorStatus(error)).toBe(429)
  })
})
