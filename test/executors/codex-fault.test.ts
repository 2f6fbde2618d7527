import { describe, expect, test } from 'vitest'
import { isLoginDead, toCodexFault, withHeaderError } from '../../src/executors/codex-fault.ts'
import type { CodexRefusal } from '../../src/executors/codex-fault.ts'
import { readErrorBody } from '../../src/upstream-errors/error-body.ts'
import { asIs } from '../as-is.ts'

const nowMs = Date.UTC(2026, 10, 21, 18, 0, 0)

/** The error of a body that came with a status, or, without one, inside a stream. */
function faultOf(status: number | undefined, body: unknown, changed: Partial<CodexRefusal> = {}) {
  const error = readErrorBody(typeof body === 'string' ? body : JSON.stringify(body))
  return toCodexFault({ status, error, retryAfter: undefined, headers: {}, ...changed }, nowMs, asIs).error
}

const notSupported = "The 'gpt-9' model is not supported when using Codex with a ChatGPT account."

/** Seconds since epoch. */
const resetAt = (seconds: number) => nowMs / 1000 + seconds

const burst = (words: string) => ({
  error: { code: 'rate_limit_exceeded', message: `Limit reached. Please ${words}` },
})

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

describe('the code and the message of an error outrank its status', () => {
  test.each([
    ['a detail', 400, { detail: 'Unsupported parameter: top_p' }, 400, 'Unsupported parameter: top_p', undefined],
    ['a model of another plan', 400, { detail: notSupported }, 404, notSupported, 'model_not_found'],
    [
      'the same, wrapped',
      400,
      { type: 'error', status: 400, error: { type: 'invalid_request_error', message: notSupported } },
      404,
      notSupported,
      'model_not_found',
    ],
    [
      'a model of another form',
      404,
      { detail: 'Model not found gpt-9' },
      404,
      'Model not found gpt-9',
      'model_not_found',
    ],
    [
      'a prompt that is too long',
      413,
      { error: { code: 'context_too_large', message: 'too large' } },
      400,
      'too large',
      'context_too_large',
    ],
    [
      'the same, in a stream',
      undefined,
      { error: { code: 'context_length_exceeded', message: 'full' } },
      400,
      'full',
      'context_length_exceeded',
    ],
    [
      'reasoning nobody can read',
      400,
      { error: { code: 'invalid_encrypted_content', message: 'no' } },
      400,
      'no',
      'invalid_encrypted_content',
    ],
    [
      'a workspace that is off',
      402,
      { detail: { code: 'deactivated_workspace' } },
      402,
      'The workspace of this ChatGPT login is deactivated.',
      'deactivated_workspace',
    ],
    [
      'a workspace of somebody else',
      403,
      { detail: { code: 'invalid_workspace_selected' } },
      403,
      'This ChatGPT login may not use its workspace.',
      'invalid_workspace_selected',
    ],
    [
      'a plan without Codex',
      429,
      { error: { type: 'usage_not_included', message: 'Upgrade to Plus.' } },
      403,
      'The plan of this ChatGPT login does not include Codex. Upgrade to Plus.',
      'usage_not_included',
    ],
    [
      'the same, without words',
      undefined,
      { error: { type: 'usage_not_included' } },
      403,
      'The plan of this ChatGPT login does not include Codex.',
      'usage_not_included',
    ],
    ['no more money', 429, { error: { code: 'insufficient_quota', message: 'pay' } }, 429, 'pay', 'insufficient_quota'],
    ['an overload', 503, { error: { code: 'server_is_overloaded', message: 'x' } }, 503, 'x', 'server_is_overloaded'],
    ['an overload in a stream', undefined, { code: 'slow_down', message: 'x' }, 503, 'x', 'slow_down'],
    [
      'a full house',
      undefined,
      { message: 'Selected model is at capacity. Try another.' },
      503,
      'Selected model is at capacity. Try another.',
      'server_is_overloaded',
    ],
    [
      'a full house, by another status',
      500,
      { error: { message: 'Selected model is at capacity.', type: 'server_error' } },
      503,
      'Selected model is at capacity.',
      'server_is_overloaded',
    ],
    ['a policy, in a stream', undefined, { code: 'cyber_policy', message: 'x' }, 400, 'x', 'cyber_policy'],
    ['an expired token, in a stream', undefined, { code: 'token_expired', message: 'x' }, 401, 'x', 'token_expired'],
    ['a revoked one with another status', 403, { code: 'token_revoked', message: 'x' }, 401, 'x', 'token_revoked'],
    ['a failure of theirs, in a stream', undefined, { code: 'server_error', message: 'x' }, 500, 'x', 'server_error'],
    ['a name nobody knows', 418, { error: { code: 'teapot', message: 'x' } }, 418, 'x', 'teapot'],
    ['nothing', 500, '', 500, 'OpenAI answered 500 without a message.', undefined],
    ['plain text', 401, 'Unauthorized', 401, 'Unauthorized', undefined],
  ])('%s', (_, status, body, expected, message, code) => {
    const error = faultOf(status, body)
    expect(error).toMatchObject({ kind: 'upstream_status', status: expected, message })
    expect('code' in error ? error.code : undefined).toBe(code)
  })

  test('a validation list becomes a sentence, with its first path as the parameter', () => {
    const detail = [
      { type: 'missing', loc: ['body', 'input', 0, 'role'], msg: 'Field required' },
      { loc: 'nowhere', msg: 'Odd' },
      { loc: ['query'] },
      'noise',
    ]
    expect(faultOf(422, { detail })).toMatchObject({
      status: 422,
      message: 'input.0.role: Field required; Odd',
      param: 'input.0.role',
    })
  })

  test('a failure in a stream without a known status keeps its message and its code', () => {
    expect(faultOf(undefined, { error: { type: 'error', code: 'teapot', message: 'short and stout' } })).toEqual({
      kind: 'upstream_failed',
      message: 'short and stout',
      code: 'teapot',
      headers: {},
    })
    expect(faultOf(undefined, '')).toMatchObject({ kind: 'upstream_failed' })
  })

  test('a web page is not passed on, but its support id is', () => {
    const error = faultOf(403, '<!DOCTYPE html><html><body>secret page</body></html>', { headers: { 'cf-ray': 'ray' } })
    expect(error).toMatchObject({ status: 403, headers: { 'cf-ray': 'ray' } })
    expect(JSON.stringify(error)).not.toContain('secret page')
  })
})

describe('a used-up plan', () => {
  const reached = { type: 'usage_limit_reached', message: 'The usage limit has been reached', plan_type: 'plus' }

  test.each([
    ['the seconds that are left', 429, { resets_in_seconds: 13_872 }, '13872', '3 h 52 min, at 2026-11-21 21:51 UTC'],
    ['a point in time', 429, { resets_at: resetAt(90) }, '90', '2 min, at 2026-11-21 18:01 UTC'],
    ['a fraction', 429, { resets_in_seconds: 0.2 }, '1', '1 s, at 2026-11-21 18:00 UTC'],
    ['days', 429, { resets_at: resetAt(3 * 86_400 + 7200) }, '266400', '3 d 2 h, at 2026-11-24 20:00 UTC'],
    ['both, of which the clock is the weaker', 429, { resets_in_seconds: 60, resets_at: 1 }, '60', '1 min, at'],
    ['another status', 403, { resets_in_seconds: 60 }, '60', '1 min, at'],
    ['a stream', undefined, { resets_in_seconds: 60 }, '60', '1 min, at'],
  ])('states its reset time, from %s', (_, status, reset, retryAfter, words) => {
    const error = faultOf(status, { error: { ...reached, ...reset } }, { retryAfter: '5' })
    expect(error).toMatchObject({
      kind: 'upstream_status',
      status: 429,
      code: 'usage_limit_reached',
      type: 'usage_limit_reached',
      retryAfter,
      headers: { 'x-should-retry': 'false' },
      message: expect.stringContaining(`The usage limit has been reached. It resets in ${words}`),
    })
  })

  test.each([
    ['nothing', {}],
    ['the past', { resets_at: resetAt(-1), resets_in_seconds: -5 }],
    ['next year', { resets_in_seconds: 1e9 }],
    ['something else', { resets_at: '2026', resets_in_seconds: null }],
    ['no number', { resets_at: Number.MAX_VALUE }],
  ])('states no reset time for %s', (_, reset) => {
    expect(faultOf(429, { error: { ...reached, ...reset } }, { retryAfter: '5' })).toMatchObject({
      message: 'The usage limit has been reached',
      retryAfter: '5',
      headers: { 'x-should-retry': 'false' },
    })
  })

  test('is not confused with a short rate limit, which can be retried', () => {
    expect(faultOf(429, { error: { code: 'rate_limit_exceeded', message: 'slow' } })).toMatchObject({ headers: {} })
  })
})

describe('a short rate limit', () => {
  test.each([
    ['try again in 1.5s.', '2', '1500'],
    ['try again in 20ms', '1', '20'],
    ['Try again in 6m0s. Visit', '360', '360000'],
    ['try again in 2 seconds', '2', '2000'],
    ['try again in 1h2m3s', '3723', '3723000'],
    ['try again in 5 minutes', '300', '300000'],
  ])('%s', (words, retryAfter, ms) => {
    expect(faultOf(429, burst(words))).toMatchObject({ retryAfter, headers: { 'retry-after-ms': ms } })
  })

  test.each(['try again in a while', 'try again in 0s', 'try again in 5 milestones', 'try again in s', 'wait 5s'])(
    'has no wait in: %s',
    (words) => {
      const error = faultOf(429, burst(words))
      expect(error).not.toHaveProperty('retryAfter')
      expect(error).toMatchObject({ headers: {} })
    },
  )

  test('prefers the header to the message', () => {
    expect(faultOf(429, burst('try again in 20ms'), { retryAfter: '7' })).toMatchObject({
      retryAfter: '7',
      headers: {},
    })
  })
})

describe('the headers of a 401', () => {
  const plain = { message: 'Unauthorized' }

  test.each([
    ['a body in base64', plain, { 'x-error-json': encoded({ error: { code: 'token_revoked' } }) }],
    ['a bare name', plain, { 'x-openai-authorization-error': 'token_invalidated' }],
    [
      'a name beside a general one',
      { ...plain, code: 'unauthorized' },
      { 'x-error-json': encoded({ error: { code: 'token_invalidated' } }) },
    ],
    ['the body itself', { ...plain, code: 'token_revoked' }, { 'x-openai-authorization-error': 'expired' }],
  ])('end the login by %s', (_, error, headers) => {
    expect(isLoginDead(withHeaderError(error, headers))).toBe(true)
  })

  test.each([
    ['nothing', {}],
    ['an expired token', { 'x-error-json': encoded({ error: { code: 'token_expired' } }) }],
    ['no base64', { 'x-error-json': '{"error":{"code":"token_revoked"' }],
    ['no JSON', { 'x-error-json': Buffer.from('token_revoked').toString('base64') }],
    ['no object', { 'x-error-json': encoded(['token_revoked']) }],
    ['far too much', { 'x-error-json': encoded({ error: { code: 'token_revoked' }, pad: 'x'.repeat(20_000) }) }],
    ['a sentence', { 'x-openai-authorization-error': 'Your token_revoked has gone' }],
    ['a list', { 'x-error-json': ['a'], 'x-openai-authorization-error': ['token_revoked'] }],
  ])('do not end it by %s', (_, headers) => {
    expect(isLoginDead(withHeaderError(plain, headers))).toBe(false)
  })

  test('set the message of an error without one', () => {
    const headers = { 'x-error-json': encoded({ error: { code: 'token_expired', message: 'Too old.' } }) }
    expect(withHeaderError({ message: undefined }, headers)).toMatchObject({
      message: 'Too old.',
      code: 'token_expired',
    })
  })
})
