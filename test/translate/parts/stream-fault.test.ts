import { expect, test } from 'vitest'
import { toStreamFault } from '../../../src/translate/parts/stream-fault.ts'

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
])('%j would have been status %i', (error, status) => {
  expect(toStreamFault(error).error).toMatchObject({ kind: 'upstream_status', status, message: 'm' })
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
  [{ message: { not: 'text' } }, { message: 'Upstream reported a failure without a message.' }],
  [undefined, { message: 'Upstream reported a failure without a message.' }],
])('%j is a failure of no known status', (error, expected) => {
  expect(toStreamFault(error).error).toEqual({ kind: 'upstream_failed', ...expected })
})

test('code, type and param are kept, a status is not repeated as a code', () => {
  expect(toStreamFault({ code: 'off', type: 't', param: 'p', message: 'm', status: 400 }).error).toEqual({
    kind: 'upstream_status',
    status: 400,
    message: 'm',
    code: 'off',
    type: 't',
    param: 'p',
  })
  expect(toStreamFault({ code: '429', message: 'm' }).error).not.toHaveProperty('code')
})

test.each([
  ['<html><body>502 Bad Gateway</body></html>', expect.stringContaining('web page')],
  ['token ghu_example0000 expired', 'token [redacted] expired'],
  ['x'.repeat(9000), 'x'.repeat(4000)],
])('upstream says no more than a caller may read', (message, expected) => {
  expect(toStreamFault({ code: 502, message }).error).toMatchObject({ message: expected })
  expect(toStreamFault(message).error).toMatchObject({ message: expected })
})
