import { expect, test } from 'vitest'
import type { ProxyError } from '../../../src/errors.ts'
import { encodeChatErrorEvent } from '../../../src/translate/chat/error.ts'
import { openAiErrorStatus, toOpenAiError } from '../../../src/translate/engine/openai-error.ts'

/** One of every kind, and every branch of a kind. */
const cases: readonly [ProxyError, string, string, string | null, string | null][] = [
  [
    { kind: 'invalid_request', path: 'messages[3].content', detail: 'expected a string', code: 'invalid_type' },
    'invalid_request_error',
    "Invalid 'messages[3].content': expected a string.",
    'messages[3].content',
    'invalid_type',
  ],
  [
    { kind: 'invalid_request', path: '', detail: 'the URL is not valid' },
    'invalid_request_error',
    'Invalid request: the URL is not valid.',
    null,
    null,
  ],
  [
    { kind: 'malformed_body', detail: 'not valid JSON at line 1, column 2 (position 1)' },
    'invalid_request_error',
    'Could not read the request: not valid JSON at line 1, column 2 (position 1).',
    null,
    null,
  ],
  [
    { kind: 'body_stalled', afterMs: 30_000 },
    'invalid_request_error',
    'The rest of the request body did not arrive within 30 seconds.',
    null,
    'request_timeout',
  ],
  [
    { kind: 'body_too_large', limitBytes: 64 * 1024 * 1024 },
    'invalid_request_error',
    'The request body is larger than 64 MB (server.body-limit-mb).',
    null,
    'request_too_large',
  ],
  [
    { kind: 'unsupported_media_type', detail: 'send JSON' },
    'invalid_request_error',
    'Unsupported media type: send JSON.',
    null,
    'unsupported_media_type',
  ],
  [
    { kind: 'key_required' },
    'authentication_error',
    'No key: this copilot-proxy requires one. Send one of server.api-keys as "Authorization: Bearer <key>".',
    null,
    'invalid_api_key',
  ],
  [
    { kind: 'forbidden', detail: 'the Host header names another machine' },
    'permission_error',
    'Refused: the Host header names another machine.',
    null,
    'forbidden',
  ],
  [
    { kind: 'route_not_found', method: 'GET', path: '/v2' },
    'invalid_request_error',
    'Unknown path: GET /v2. The APIs are at /v1/chat/completions, /v1/responses and /v1/messages.',
    null,
    'route_not_found',
  ],
  [
    { kind: 'route_not_found', method: 'GET', path: '/v1/model', suggestion: 'GET /v1/models' },
    'invalid_request_error',
    'Unknown path: GET /v1/model. Did you mean GET /v1/models?',
    null,
    'route_not_found',
  ],
  [
    { kind: 'method_not_allowed', method: 'GET', path: '/v1/chat/completions', allow: ['POST'] },
    'invalid_request_error',
    'Method GET is not allowed for /v1/chat/completions. Use POST.',
    null,
    'method_not_allowed',
  ],
  [
    { kind: 'model_not_found', model: 'gpt-6', suggestions: ['gpt-5', 'gpt-5-mini'] },
    'invalid_request_error',
    "The model 'gpt-6' does not exist. Similar: gpt-5, gpt-5-mini. Run: copilot-proxy models",
    'model',
    'model_not_found',
  ],
  [
    { kind: 'model_not_found', model: 'x', suggestions: [], detail: 'x is switched off for this account' },
    'invalid_request_error',
    'x is switched off for this account. Run: copilot-proxy models',
    'model',
    'model_not_found',
  ],
  [
    { kind: 'queue_full', retryAfterSeconds: 2 },
    'rate_limit_error',
    'The queue is full (server.max-queued-requests). Try again in 2 s.',
    null,
    'rate_limit_exceeded',
  ],
  [
    { kind: 'rate_limited', perMinute: 60, setting: 'server.max-requests-per-minute', retryAfterSeconds: 3 },
    'rate_limit_error',
    'Rate limit reached: 60 requests a minute (server.max-requests-per-minute). Try again in 3 s.',
    null,
    'rate_limit_exceeded',
  ],
  [
    { kind: 'shutting_down' },
    'service_unavailable_error',
    'copilot-proxy is shutting down. Try again after it has restarted.',
    null,
    'shutting_down',
  ],
  [
    { kind: 'copilot_unavailable', detail: 'Nobody is logged in', fix: 'Run: copilot-proxy login' },
    'service_unavailable_error',
    'Nobody is logged in. Run: copilot-proxy login',
    null,
    'copilot_unavailable',
  ],
  [
    { kind: 'upstream_unauthorized', upstreamMessage: 'unauthorized: token expired' },
    'authentication_error',
    'Invalid API key',
    null,
    'invalid_api_key',
  ],
  [
    {
      kind: 'upstream_status',
      status: 400,
      message: 'The requested model is not supported.',
      code: 'model_not_supported',
      param: 'model',
      type: 'invalid_request_error',
    },
    'invalid_request_error',
    'The requested model is not supported.',
    'model',
    'model_not_supported',
  ],
  [
    { kind: 'upstream_status', status: 400, message: 'no', code: '', type: 'error' },
    'invalid_request_error',
    'no',
    null,
    null,
  ],
  // Claude's own words, which no OpenAI client knows.
  [
    { kind: 'upstream_status', status: 529, message: 'Overloaded', type: 'overloaded_error' },
    'service_unavailable_error',
    'Overloaded',
    null,
    'server_is_overloaded',
  ],
  [{ kind: 'upstream_status', status: 500, message: 'boom', type: 'api_error' }, 'server_error', 'boom', null, null],
  [
    { kind: 'upstream_status', status: 404, message: 'model: x', type: 'not_found_error' },
    'invalid_request_error',
    'model: x',
    null,
    null,
  ],
  [{ kind: 'upstream_failed', message: 'boom', code: 'server_error' }, 'server_error', 'boom', null, 'server_error'],
  [
    { kind: 'upstream_unreachable', detail: 'the host name was not found' },
    'server_error',
    'Cannot reach the provider: the host name was not found. To find the cause, run: copilot-proxy doctor',
    null,
    'upstream_unreachable',
  ],
  [
    { kind: 'upstream_silent', phase: 'connect', afterMs: 10_000 },
    'timeout_error',
    'Could not connect to the provider within 10 s (timeouts.connect-seconds). To find the cause, run: copilot-proxy doctor',
    null,
    'upstream_timeout',
  ],
  [
    { kind: 'upstream_silent', phase: 'headers', afterMs: 300_000 },
    'timeout_error',
    'The provider did not answer within 300 s (timeouts.headers-seconds). Try again.',
    null,
    'upstream_timeout',
  ],
  [
    { kind: 'upstream_silent', phase: 'idle', afterMs: 1500 },
    'timeout_error',
    'The provider sent nothing more within 1.5 s (timeouts.idle-seconds). Try again.',
    null,
    'upstream_timeout',
  ],
  [
    { kind: 'upstream_truncated' },
    'server_error',
    'The answer is incomplete: the provider closed the stream before it had finished.',
    null,
    'upstream_truncated',
  ],
  [
    { kind: 'upstream_unusable', detail: 'it answered with a web page' },
    'server_error',
    'The provider sent an unusable answer: it answered with a web page.',
    null,
    'upstream_unusable',
  ],
  [
    { kind: 'internal' },
    'server_error',
    'Internal error in copilot-proxy. See its log for request id req-1.',
    null,
    'internal_error',
  ],
]

test.each(cases)('words %j', (error, type, message, param, code) => {
  expect(toOpenAiError(error, 'req-1')).toEqual({ error: { message, type, param, code } })
})

test.each([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'insufficient_quota'],
  [403, 'permission_error'],
  [404, 'invalid_request_error'],
  [408, 'timeout_error'],
  [413, 'invalid_request_error'],
  [422, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [500, 'server_error'],
  [502, 'server_error'],
  [503, 'service_unavailable_error'],
  [504, 'timeout_error'],
])('types an upstream %i as %s', (status, type) => {
  expect(toOpenAiError({ kind: 'upstream_status', status, message: 'm' }, 'r').error).toMatchObject({
    type,
    message: 'm',
  })
})

test.each([
  ['prompt token count of 138898 exceeds the limit of 64000', 'model_max_prompt_tokens_exceeded'],
  ['prompt token count of 138898 exceeds the limit of 64000', ''],
  ['prompt is too long: 210194 tokens > 200000 maximum', undefined],
  ['Request body is too large for model context window', undefined],
  ["This model's maximum context length is 128000 tokens. However, your messages resulted in 130211 tokens.", ''],
  ['too much', 'context_length_exceeded'],
])('gives a full context the code that OpenAI clients know: %s (%s)', (message, code) => {
  const error = { message, ...(code !== undefined && { code }) }
  const expected = { message, code: 'context_length_exceeded' }
  expect(toOpenAiError({ kind: 'upstream_status', status: 400, ...error }, 'r').error).toMatchObject(expected)
  expect(toOpenAiError({ kind: 'upstream_failed', ...error }, 'r').error).toMatchObject(expected)
})

test('ends a stream with one event that holds the same body', () => {
  const error: ProxyError = { kind: 'upstream_failed', message: 'two\nlines' }
  const event = encodeChatErrorEvent(error, 'r')
  expect(event).toBe(`data: ${JSON.stringify(toOpenAiError(error, 'r'))}\n\n`)
  expect(event.split('\n')).toHaveLength(3)
})

test.each<[ProxyError, number]>([
  [{ kind: 'upstream_status', status: 413, message: 'prompt is too long: 210194 tokens > 200000 maximum' }, 400],
  [{ kind: 'upstream_status', status: 500, message: 'm', code: 'context_length_exceeded' }, 400],
  [{ kind: 'upstream_failed', message: 'prompt token count of 5 exceeds the limit of 4' }, 400],
  [{ kind: 'upstream_status', status: 413, message: 'Request Entity Too Large' }, 413],
  [{ kind: 'upstream_failed', message: 'it broke' }, 502],
  [{ kind: 'upstream_status', status: 529, message: 'Overloaded' }, 503],
  [{ kind: 'queue_full', retryAfterSeconds: 1 }, 429],
  [{ kind: 'rate_limited', perMinute: 1, setting: 'server.max-requests-per-minute', retryAfterSeconds: 1 }, 429],
])('%j has the status %i', (error, status) => {
  expect(openAiErrorStatus(error)).toBe(status)
})
