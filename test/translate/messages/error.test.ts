import { expect, test } from 'vitest'
import type { ProxyError } from '../../../src/errors.ts'
import {
  encodeMessagesErrorEvent,
  messagesErrorStatus,
  toMessagesError,
} from '../../../src/translate/messages/error.ts'
import { decode, fixture, turnOf } from './caller-helpers.ts'
import { errorOf } from '../faults.ts'

const upstream = (status: number, message = 'm', code?: string): ProxyError => ({
  kind: 'upstream_status',
  status,
  message,
  ...(code !== undefined && { code }),
})

test.each<[ProxyError, number, string, string]>([
  [
    { kind: 'invalid_request', path: 'messages[3].content', detail: 'expected a string', code: 'invalid_type' },
    400,
    'invalid_request_error',
    "Invalid 'messages[3].content': expected a string.",
  ],
  [
    { kind: 'malformed_body', detail: 'not JSON' },
    400,
    'invalid_request_error',
    'Could not read the request: not JSON.',
  ],
  [{ kind: 'key_required' }, 401, 'authentication_error', 'No key: '],
  [{ kind: 'upstream_unauthorized', upstreamMessage: 'expired' }, 401, 'authentication_error', 'Invalid API key'],
  [{ kind: 'forbidden', detail: 'other host' }, 403, 'permission_error', 'Refused: other host.'],
  [{ kind: 'route_not_found', method: 'GET', path: '/v2' }, 404, 'not_found_error', '/v2'],
  [
    { kind: 'model_not_found', model: 'x', suggestions: ['y'] },
    404,
    'not_found_error',
    "'x' does not exist. Similar: y.",
  ],
  [
    { kind: 'method_not_allowed', method: 'GET', path: '/v1/messages', allow: ['POST'] },
    405,
    'invalid_request_error',
    'Use POST.',
  ],
  [{ kind: 'body_stalled', afterMs: 1000 }, 408, 'timeout_error', '1 seconds'],
  [{ kind: 'body_too_large', limitBytes: 1024 * 1024 }, 413, 'request_too_large', 'larger than 1 MB'],
  [{ kind: 'unsupported_media_type', detail: 'send JSON' }, 415, 'invalid_request_error', 'send JSON.'],
  [{ kind: 'queue_full', retryAfterSeconds: 2 }, 429, 'rate_limit_error', 'Try again in 2 s.'],
  [
    { kind: 'rate_limited', perMinute: 9, setting: 'server.max-requests-per-minute', retryAfterSeconds: 2 },
    429,
    'rate_limit_error',
    'Rate limit reached: 9 requests',
  ],
  [{ kind: 'internal' }, 500, 'api_error', 'for request id req_1.'],
  [{ kind: 'upstream_unreachable', detail: 'no such host' }, 502, 'api_error', 'no such host.'],
  [{ kind: 'upstream_truncated' }, 502, 'api_error', 'is incomplete'],
  [{ kind: 'upstream_unusable', detail: 'a web page' }, 502, 'api_error', 'a web page.'],
  [{ kind: 'upstream_failed', message: 'boom' }, 502, 'api_error', 'boom'],
  // The proxy's own: it is not upstream that is busy, and the words say what to do.
  [{ kind: 'shutting_down' }, 503, 'api_error', 'shutting down'],
  [
    { kind: 'copilot_unavailable', detail: 'Nobody is logged in', fix: 'Run: copilot-proxy login' },
    503,
    'api_error',
    'Nobody is logged in. Run: copilot-proxy login',
  ],
  [{ kind: 'upstream_silent', phase: 'idle', afterMs: 1500 }, 504, 'timeout_error', '1.5 s (timeouts.idle-seconds).'],
])('reports %j as %i %s', (error, status, type, words) => {
  expect(messagesErrorStatus(error)).toBe(status)
  const body = toMessagesError(error, 'req_1')
  expect(body).toEqual({ type: 'error', error: { type, message: body.error.message }, request_id: 'req_1' })
  expect(body.error.message).toContain(words)
})

test.each([
  [400, 400, 'invalid_request_error'],
  [402, 402, 'billing_error'],
  [403, 403, 'permission_error'],
  [404, 404, 'not_found_error'],
  [408, 408, 'timeout_error'],
  [409, 409, 'conflict_error'],
  [413, 413, 'request_too_large'],
  [422, 422, 'invalid_request_error'],
  [429, 429, 'rate_limit_error'],
  [500, 500, 'api_error'],
  [502, 502, 'api_error'],
  [503, 529, 'overloaded_error'],
  [504, 504, 'timeout_error'],
  [529, 529, 'overloaded_error'],
  [302, 502, 'api_error'],
])('passes on an upstream %i as %i %s', (sent, status, type) => {
  expect(messagesErrorStatus(upstream(sent))).toBe(status)
  expect(toMessagesError(upstream(sent), 'r').error).toEqual({ type, message: 'm' })
})

test.each([
  [
    'prompt is too long: 210194 tokens > 200000 maximum',
    undefined,
    'prompt is too long: 210194 tokens > 200000 maximum',
  ],
  [
    'prompt token count of 138898 exceeds the limit of 64000',
    'model_max_prompt_tokens_exceeded',
    'prompt is too long: 138898 tokens > 64000 maximum',
  ],
  ['prompt token count of 138898 exceeds the limit of 64000', '', 'prompt is too long: 138898 tokens > 64000 maximum'],
  [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130211 tokens.",
    'context_length_exceeded',
    'prompt is too long: 130211 tokens > 128000 maximum',
  ],
  [
    'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens.',
    'context_length_exceeded',
    'prompt is too long: 300123 tokens > 272000 maximum',
  ],
  [
    'Request body is too large for model context window',
    undefined,
    'prompt is too long: Request body is too large for model context window',
  ],
  ['Too much.', 'context_length_exceeded', 'prompt is too long: Too much.'],
])('words a full context so that Claude Code shortens the conversation: %s (%s)', (message, code, expected) => {
  const failed: ProxyError = { kind: 'upstream_failed', message, ...(code !== undefined && { code }) }
  for (const error of [
    upstream(400, message, code),
    upstream(413, message, code),
    upstream(503, message, code),
    failed,
  ]) {
    expect(messagesErrorStatus(error)).toBe(400)
    expect(toMessagesError(error, 'r').error).toEqual({ type: 'invalid_request_error', message: expected })
  }
})

test('hands over the details that the SDK looks for', () => {
  const error = errorOf(() => decode({ thread: { type: 'create' } }))
  expect(messagesErrorStatus(error)).toBe(400)
  expect(toMessagesError(error, 'r').error).toEqual({
    type: 'invalid_request_error',
    message: "Invalid 'thread': threads are not supported; send the whole conversation in messages.",
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  })
})

test('12: refuses a prefill with the message of models that refuse it', () => {
  const { in: body, out } = JSON.parse(fixture('worked/12.json')) as { in: object; out: object }
  expect(
    toMessagesError(
      errorOf(() => turnOf(body)),
      '$req',
    ),
  ).toEqual(out)
})

test('ends a stream with one named event that holds the same body', () => {
  const error: ProxyError = { kind: 'upstream_failed', message: 'two\nlines' }
  const event = encodeMessagesErrorEvent(error, 'r')
  expect(event).toBe(`event: error\ndata: ${JSON.stringify(toMessagesError(error, 'r'))}\n\n`)
})
