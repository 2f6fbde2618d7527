import { fc } from '../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { readClaims, readLoginClaims } from '../../../src/auth/codex/claims.ts'
import { accessToken, jwt } from './support.ts'

const auth = 'https://api.openai.com/auth'
const profile = 'https://api.openai.com/profile'

describe('claims of a token', () => {
  test('are read from where upstream puts them', () => {
    const token = jwt({
      iat: 1_700_000_000,
      exp: 1_700_864_000,
      [auth]: {
        chatgpt_account_id: 'account-1',
        chatgpt_plan_type: 'self_serve_business_prolite',
        chatgpt_user_id: 'user-1',
        chatgpt_account_is_fedramp: true,
      },
      [profile]: { email: 'person@example.com' },
    })
    expect(readClaims(token)).toEqual({
      accountId: 'account-1',
      plan: 'self_serve_business_prolite',
      userId: 'user-1',
      isFedramp: true,
      email: 'person@example.com',
      issuedAtSeconds: 1_700_000_000,
      expiresAtSeconds: 1_700_864_000,
    })
  })

  test('an address of the token itself goes before the profile’s, and user_id stands in for chatgpt_user_id', () => {
    const token = jwt({
      email: 'own@example.com',
      [auth]: { user_id: 'user-2' },
      [profile]: { email: 'x@example.com' },
    })
    expect(readClaims(token)).toEqual({ email: 'own@example.com', userId: 'user-2', isFedramp: false })
  })

  test.each([
    ['nothing', ''],
    ['an opaque token', 'at-example'],
    ['two parts only', jwt({ exp: 1 }).split('.').slice(0, 2).join('.')],
    ['a payload that is not JSON', `a.${Buffer.from('{"exp":').toString('base64url')}.b`],
    ['a payload that is no object', jwt([1])],
    ['a payload that is null', jwt(null)],
    ['a token of many megabytes', jwt({ exp: 1_700_000_000, pad: 'x'.repeat(4_000_000) })],
    ['claims of wrong types', jwt({ exp: 'soon', iat: {}, email: 7, [auth]: 'x', [profile]: [] })],
    ['times that are no dates', jwt({ exp: 1e300, iat: -5 })],
    ['an account id that no header can carry', jwt({ [auth]: { chatgpt_account_id: 'a\r\nx-evil: 1' } })],
    ['texts without end', jwt({ email: 'x'.repeat(1000), [auth]: { chatgpt_plan_type: 'y'.repeat(1000) } })],
  ])('%s: say nothing', (_what, token) => {
    expect(readClaims(token)).toEqual({ isFedramp: false })
  })

  test('never throw, whatever the token is', () => {
    const odd = fc.oneof(fc.jsonValue(), fc.anything())
    const claims = fc.record(
      { exp: odd, iat: odd, email: odd, [auth]: fc.oneof(odd, fc.record({ chatgpt_account_id: odd })), [profile]: odd },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(fc.string(), claims), fc.constantFrom('', '.', '..', '\0'), (value, tail) => {
        const token = typeof value === 'string' ? value : jwtOf(value)
        const { accountId } = readClaims(token + tail)
        expect(accountId ?? 'none').toMatch(/^[\x21-\x7E]+$/)
      }),
    )
  })
})

test('of a login, the access token’s claims go first, and its times alone count', () => {
  const access = accessToken({ issuedAtSeconds: 1_700_000_000, plan: 'pro' })
  const id = jwt({
    exp: 1,
    email: 'id@example.com',
    [auth]: { chatgpt_account_id: 'other', chatgpt_plan_type: 'free', chatgpt_user_id: 'user-1' },
  })
  expect(readLoginClaims(access, id)).toEqual({
    accountId: 'account-1',
    plan: 'pro',
    userId: 'user-1',
    email: 'person@example.com',
    isFedramp: false,
    issuedAtSeconds: 1_700_000_000,
    expiresAtSeconds: 1_700_003_600,
  })
  expect(readLoginClaims('opaque', id)).toMatchObject({ accountId: 'other', email: 'id@example.com' })
  expect(readLoginClaims('opaque', id)).not.toHaveProperty('expiresAtSeconds')
})

/** Values that JSON cannot hold make no token. */
function jwtOf(value: unknown): string {
  try {
    return jwt(value)
  } catch {
    return ''
  }
}
