import { expect, test } from 'vitest'
import { toStreamFault } from '../../../../src/translate/engine/reply/stream-fault.ts'
import { asIs } from '../../../as-is.ts'

test.each([
  [{ code: 429, message: 'm' }, 429],
  [{ code: '503', message: 'm' }, 503],
  [{ status: 408, message: 'm' }, 408],
  [{ code: 'rate_limited', message: 'm' }, 429],
  [{ code: 'user_weekly_rate_limited:pro', message: 'm' }, 429],
  [{ type: 'rate_limit_error', message: 'm' }, 429],
  [{ code: 'quota_exceeded', message: 'm' }, 402],
  [{ code: 'free_quota_exceeded', message: 'm' }, 402],
  [{ code: 'context_length_exceeded', message: 'm' }, 400],
  [{ code: 'model_max_prompt_tokens_exceeded', message: 'm' }, 400],
  [{ code: 'invalid_request_body', type: 'invalid_request_error', message: 'm' }, 400],
  [{ type: 'overloaded_error', message: 'm' }, 529],
  [{ type: 'usage_limit_reached', message: 'm' }, 429],
  [{ type: 'usage_not_included', message: 'm' }, 403],
  [{ code: 'insufficient_quota', message: 'm' }, 429],
  [{ code: 'invalid_encrypted_content', message: 'm' }, 400],
])('%j would have been status %i', (error, status) => {
  expect(toStreamFault(error, asIs).error).toMatchObject({ kind: 'upstream_status', status, message: 'm' })
})

test.each([
  [
    { code: 'internal_error', message: 'm' },
    { message: 'm', code: 'internal_error' },
  ],
  [{ code: 200, message: 'm' }, { message: 'm' }],
  [
    { code: 'toString', message: 'm' },
    { message: 'm', code: 'toString' },
  ],
  ['plain words', { message: 'plain words' }],
  [{ message: { not: 'text' } }, { message: 'The provider reported a failure without a message.' }],
  [undefined, { message: 'The provider reported a failure without a message.' }],
])('%j is a failure of no known status', (error, expected) => {
  expect(toStreamFault(error, asIs).error).toEqual({ kind: 'upstream_failed', ...expected })
})

test('code, type and param are kept, a status is not repeated as a code', () => {
  expect(toStreamFault({ code: 'off', type: 't', param: 'p', message: 'm', status: 400 }, asIs).error).toEqual({
    kind: 'upstream_status',
    status: 400,
    message: 'm',
    code: 'off',
    type: 't',
    param: 'p',
  })
  expect(toStreamFault({ code: '429', message: 'm' }, asIs).error).not.toHaveProperty('code')
})

const words = "The 'gpt-6-sol' model is not supported when using Codex with a ChatGPT account."

test.each([
  [
    { status: 403, type: 'usage_limit_reached', message: 'm', resets_in_seconds: 99.5 },
    { status: 429, code: 'usage_limit_reached', retryAfter: '100', headers: { 'x-should-retry': 'false' } },
  ],
  [
    { code: 'usage_limit_reached', message: 'm', resets_at: 1_790_000_000 },
    { status: 429, code: 'usage_limit_reached', headers: { 'x-should-retry': 'false' } },
  ],
  [
    { type: 'usage_not_included', message: 'm' },
    { status: 403, code: 'usage_not_included', headers: { 'x-should-retry': 'false' } },
  ],
  [
    { code: 'insufficient_quota', message: 'm' },
    { status: 429, headers: { 'x-should-retry': 'false' } },
  ],
  [
    { status: 400, message: words },
    { status: 404, code: 'model_not_found', param: 'model' },
  ],
  [{ message: 'Model not found gpt-6-sol' }, { status: 404, code: 'model_not_found', param: 'model' }],
  // A code that is known says more than the words beside it.
  [
    { code: 'rate_limit_exceeded', message: words },
    { status: 429, code: 'rate_limit_exceeded' },
  ],
])('%j keeps what the same failure would have by HTTP', (error, expected) => {
  expect(toStreamFault(error, asIs).error).toMatchObject({ kind: 'upstream_status', ...expected })
})

test.each([-1, 0, 1e9, Number.NaN, '60', null])('%j is no time to wait for', (within) => {
  const fault = toStreamFault({ code: 'usage_limit_reached', message: 'm', resets_in_seconds: within }, asIs)
  expect(fault.error).not.toHaveProperty('retryAfter')
})

test('a rate limit that is not a used-up plan sets no wait time and no headers', () => {
  const { error } = toStreamFault({ code: 'rate_limit_exceeded', message: 'm', resets_in_seconds: 60 }, asIs)
  expect(error).not.toHaveProperty('retryAfter')
  expect(error).not.toHaveProperty('headers')
})

test.each([
  [{ type: 'token_expired', message: 'm' }, 'token_expired'],
  [{ type: 'model_is_resting', message: 'm', status: 503 }, 'model_is_resting'],
])('a type that says what happened is the code of a failure without one: %j', (error, code) => {
  expect(toStreamFault(error, asIs).error).toMatchObject({ code })
})

test.each(['error', 'server_error', 'invalid_request_error'])(
  'a type that names a kind of failure is none: %s',
  (type) => {
    expect(toStreamFault({ type, message: 'm' }, asIs).error).not.toHaveProperty('code')
  },
)

test.each([
  ['<html><body>502 Bad Gateway</body></html>', expect.stringContaining('web page')],
  ['token ghu_example0000 expired', 'token [redacted] expired'],
  ['x'.repeat(9000), 'x'.repeat(4000)],
])('upstream says no more than a caller may read', (message, expected) => {
  expect(toStreamFault({ code: 502, message }, asIs).error).toMatchObject({ message: expected })
  expect(toStreamFault(message, asIs).error).toMatchObject({ message: expected })
})
