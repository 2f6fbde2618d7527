import OpenAI from 'openai'
import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import { describe, expect, test } from 'vitest'
import { type ProxyError, statusOf } from '../../../src/errors.ts'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import { encodeEvent } from '../../../src/sse/encode.ts'
import {
  encodeResponsesErrorEvent,
  encodeResponsesFailure,
  toResponsesError,
} from '../../../src/translate/responses/error.ts'
import { openAiErrorStatus, toOpenAiError } from '../../../src/translate/engine/openai-error.ts'
import { echoOf } from '../../../src/translate/responses/response-object.ts'

const truncated: ProxyError = { kind: 'upstream_truncated' }
const status = (code: number, rest: object = {}): ProxyError => ({
  kind: 'upstream_status',
  status: code,
  message: 'words of upstream',
  ...rest,
})

/** Name and payload of each event. */
function eventsOf(text: string) {
  const decoder = createSseDecoder()
  return [...decoder.push(Buffer.from(text)), ...decoder.end()].map(({ event, data }) => {
    const value: unknown = JSON.parse(data)
    return { event, value }
  })
}

test('the envelope is OpenAI’s', () => {
  expect(toOpenAiError(status(404, { code: 'model_not_found', param: 'model' }), 'r')).toEqual({
    error: { message: 'words of upstream', type: 'invalid_request_error', param: 'model', code: 'model_not_found' },
  })
})

test('what is not known is null', () => {
  expect(toOpenAiError({ kind: 'malformed_body', detail: 'x' }, 'r').error).toMatchObject({
    param: null,
    code: null,
  })
})

test.each<[string, ProxyError, number]>([
  ['too long as 413', status(413, { message: 'Request body is too large for model context window' }), 400],
  ['too long by code', status(422, { code: 'model_max_prompt_tokens_exceeded' }), 400],
  ['too long inside a stream', { kind: 'upstream_failed', message: 'prompt is too long: 9 tokens > 8 maximum' }, 400],
  ['Anthropic’s overload', status(529), 503],
  ['a limit', status(429), 429],
  ['a broken stream', truncated, 502],
  ['a bad request', { kind: 'invalid_request', path: 'input', detail: 'x' }, 400],
])('status: %s', (_title, error, expected) => {
  expect(openAiErrorStatus(error)).toBe(expected)
})

test('any other status is the one of all dialects', () => {
  for (const code of [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504]) {
    expect(openAiErrorStatus(status(code))).toBe(statusOf(status(code)))
  }
})

test('a prompt that is too long has the code that clients look for', () => {
  const error = status(400, { message: 'prompt token count of 9 exceeds the limit of 8' })
  expect(toOpenAiError(error, 'r').error.code).toBe('context_length_exceeded')
})

const reset = (seconds: number) => ({ resets_at: 1_790_000_000 + seconds, resets_in_seconds: seconds })

describe('a limit', () => {
  const nowMs = 1_790_000_000_000

  test.each<[string, ProxyError, object]>([
    ['of a week', status(429, { code: 'user_weekly_rate_limited', retryAfter: '604800' }), reset(604_800)],
    ['of another name, for hours', status(429, { retryAfter: '7200' }), reset(7200)],
    ['until a date', status(429, { retryAfter: new Date(nowMs + 7_200_000).toUTCString() }), reset(7200)],
    ['of a plan of OpenAI', status(429, { headers: { 'x-should-retry': 'false' }, retryAfter: '60' }), reset(60)],
    ['without a time', status(429, { code: 'user_global_rate_limited' }), {}],
    [
      'of the person’s own budget',
      { kind: 'credits_spent', limit: 5, period: 'day', retryAfterSeconds: 3600 },
      reset(3600),
    ],
  ])('%s has the type and the time that Codex CLI shows', (_title, error, time) => {
    const { error: plain } = toOpenAiError(error, 'r')
    expect(toResponsesError(error, 'r', nowMs)).toEqual({ error: { ...plain, type: 'usage_limit_reached', ...time } })
  })

  test.each<[string, ProxyError]>([
    ['of a minute', status(429, { code: 'user_model_rate_limited', retryAfter: '60' })],
    ['without a code or a time', status(429)],
    ['with an unreadable time', status(429, { retryAfter: 'soon' })],
    ['of wrong keys', { kind: 'wrong_keys', retryAfterSeconds: 900 }],
    ['of a month, as 402', status(402, { code: 'quota_exceeded', retryAfter: '604800' })],
  ])('%s keeps its own type', (_title, error) => {
    expect(toResponsesError(error, 'r', nowMs)).toEqual(toOpenAiError(error, 'r'))
  })
})

describe('a started stream', () => {
  const response = {
    ...echoOf({ model: 'gpt-5-mini' }),
    id: 'resp_1',
    object: 'response',
    created_at: 1_790_000_000,
    completed_at: null,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model: 'gpt-5-mini',
    output: [],
    usage: null,
  }

  test('ends with an error and the failed response, counted on', () => {
    expect(eventsOf(encodeResponsesFailure(status(429, { code: 'rate_limited' }), 'r', response, 7))).toEqual([
      {
        event: 'error',
        value: {
          type: 'error',
          code: 'rate_limited',
          message: 'words of upstream',
          param: null,
          sequence_number: 7,
          error: { type: 'rate_limit_error', code: 'rate_limited', message: 'words of upstream', param: null },
        },
      },
      {
        event: 'response.failed',
        value: {
          type: 'response.failed',
          sequence_number: 8,
          response: {
            ...response,
            status: 'failed',
            error: { code: 'rate_limit_exceeded', message: 'words of upstream' },
          },
        },
      },
    ])
  })

  test.each<[ProxyError, string]>([
    [status(400, { code: 'context_length_exceeded' }), 'context_length_exceeded'],
    [status(413, { message: 'prompt is too long' }), 'context_length_exceeded'],
    [status(402, { code: 'quota_exceeded' }), 'insufficient_quota'],
    [status(429), 'rate_limit_exceeded'],
    [status(503), 'server_is_overloaded'],
    [status(529), 'server_is_overloaded'],
    [status(400), 'invalid_prompt'],
    [status(400, { code: 'cyber_policy' }), 'cyber_policy'],
    [status(408), 'server_error'],
    [status(500), 'server_error'],
    [{ kind: 'upstream_failed', message: 'x' }, 'server_error'],
    [{ kind: 'upstream_failed', message: 'x', code: 'insufficient_quota' }, 'insufficient_quota'],
    [truncated, 'server_error'],
    [{ kind: 'upstream_silent', phase: 'idle', afterMs: 1000 }, 'server_error'],
    // An overload makes Codex CLI give up; a proxy that starts again is worth another try.
    [{ kind: 'shutting_down' }, 'server_error'],
    [{ kind: 'internal' }, 'server_error'],
    [{ kind: 'queue_full', retryAfterSeconds: 1 }, 'rate_limit_exceeded'],
    [
      { kind: 'rate_limited', perMinute: 1, setting: 'server.max-requests-per-minute', retryAfterSeconds: 1 },
      'rate_limit_exceeded',
    ],
    [{ kind: 'body_stalled', afterMs: 1000 }, 'server_error'],
    [{ kind: 'invalid_request', path: 'input', detail: 'x' }, 'invalid_prompt'],
  ])('%j fails with %s', (error, code) => {
    const [, failed] = eventsOf(encodeResponsesFailure(error, 'r', response, 0))
    expect(failed?.value).toMatchObject({ response: { error: { code } } })
  })

  test('without its state there is a response all the same, numbered after everything', () => {
    const [error, failed] = eventsOf(encodeResponsesErrorEvent(truncated, 'abc'))
    expect(error).toMatchObject({
      event: 'error',
      value: { code: 'upstream_truncated', sequence_number: 2_147_483_646 },
    })
    expect(failed).toMatchObject({
      event: 'response.failed',
      value: { sequence_number: 2_147_483_647, response: { id: 'resp_abc', status: 'failed', output: [], tools: [] } },
    })
  })

  const created = encodeEvent(
    'response.created',
    JSON.stringify({ type: 'response.created', sequence_number: 0, response }),
  )

  test.each([
    ['with its state', created + encodeResponsesFailure(truncated, 'r', response, 1)],
    ['without its state', created + encodeResponsesErrorEvent(truncated, 'r')],
    ['before anything was said', encodeResponsesErrorEvent(truncated, 'r')],
  ])('openai’s stream helper fails with our words: %s', async (_title, text) => {
    const client = new OpenAI({
      apiKey: 'none',
      baseURL: 'http://127.0.0.1:1/v1',
      maxRetries: 0,
      fetch: () =>
        Promise.resolve(new Response(text, { status: 200, headers: { 'content-type': 'text/event-stream' } })),
    })
    const stream = client.responses.stream({ model: 'gpt-5-mini', input: 'hi' })
    expect(stream).toBeInstanceOf(ResponseStream)
    await expect(stream.finalResponse()).rejects.toMatchObject({
      code: 'upstream_truncated',
      type: 'server_error',
      message: expect.stringContaining('is incomplete'),
    })
  })

  test('a failed response alone would pass for an answer, which is why an error comes first', async () => {
    const [, failed] = encodeResponsesFailure(truncated, 'r', response, 1).split('event: response.failed')
    const client = new OpenAI({
      apiKey: 'none',
      baseURL: 'http://127.0.0.1:1/v1',
      fetch: () =>
        Promise.resolve(
          new Response(`${created}event: response.failed${failed}`, {
            headers: { 'content-type': 'text/event-stream' },
          }),
        ),
    })
    const stream = client.responses.stream({ model: 'gpt-5-mini', input: 'hi' })
    await expect(stream.finalResponse()).resolves.toMatchObject({ status: 'failed' })
  })
})
