import { expect, test } from 'vitest'
import { toCopilotAccount } from '../../../src/auth/copilot/quota.ts'
import { copilotUserReply } from '../../../src/auth/copilot/wire.ts'
import { fixture } from '../support.ts'

const account = (name: string): ReturnType<typeof toCopilotAccount> =>
  toCopilotAccount(copilotUserReply.parse(fixture(name)))

test('reads premium requests, and both spellings of unlimited', () => {
  expect(account('user-premium-requests')).toEqual({
    login: 'octocat',
    plan: 'individual',
    sku: 'monthly_subscriber_quota',
    tokenBasedBilling: false,
    resetsAt: '2026-12-01T00:00:00.000Z',
    quotas: [
      {
        id: 'premium_interactions',
        unlimited: false,
        entitlement: 300,
        remaining: 267.4,
        percentRemaining: 89.1,
        overageCount: 0,
        overagePermitted: false,
        overageEntitlement: 0,
      },
      { id: 'chat', unlimited: true },
      { id: 'completions', unlimited: true },
    ],
  })
})

test('reads AI credits, a negative rest, and keeps a quota it does not know', () => {
  expect(account('user-ai-credits')).toEqual({
    login: 'octocat',
    plan: 'business',
    sku: 'copilot_standalone_seat_quota',
    tokenBasedBilling: true,
    resetsAt: '2026-10-01T00:00:00.000Z',
    quotas: [
      {
        id: 'premium_interactions',
        unlimited: false,
        entitlement: 300,
        remaining: -1,
        percentRemaining: -0.4,
        creditsUsed: 301,
        overageCount: 4,
        overagePermitted: true,
        overageEntitlement: 50,
      },
      { id: 'a_new_kind', unlimited: false, remaining: 4 },
    ],
  })
})

test.each([
  ['used up, although it has no cap of its own', { unlimited: true, has_quota: false }, 0],
  ['used up, whatever the overage would allow', { unlimited: true, has_quota: false, overage_permitted: true }, 0],
  ['used up in the older spelling', { entitlement: -1, remaining: -1, has_quota: false }, 0],
  ['unlimited while the pool has something', { unlimited: true, has_quota: true }, undefined],
  ['unlimited without a stated pool', { unlimited: true }, undefined],
] as const)('a pooled quota is %s', (_what, snapshot, remaining) => {
  const { quotas } = toCopilotAccount(
    copilotUserReply.parse({ quota_snapshots: { premium_interactions: { ...snapshot, credits_used: 7 } } }),
  )
  expect(quotas).toEqual([
    remaining === undefined
      ? { id: 'premium_interactions', unlimited: true, creditsUsed: 7 }
      : { id: 'premium_interactions', unlimited: false, remaining, percentRemaining: 0, creditsUsed: 7 },
  ])
})

test('reads the free plan by its sku, with a percentage of its own making', () => {
  expect(account('user-free')).toEqual({
    login: 'octocat',
    plan: 'free',
    sku: 'free_limited_copilot',
    tokenBasedBilling: false,
    resetsAt: '2026-01-01T00:00:00.000Z',
    quotas: [
      { id: 'chat', unlimited: false, entitlement: 50, remaining: 12, percentRemaining: 24 },
      { id: 'completions', unlimited: false, entitlement: 4000, remaining: 2000, percentRemaining: 50 },
    ],
  })
})

test('makes do with almost nothing, and takes a snapshot’s own reset date only then', () => {
  expect(account('user-sparse')).toEqual({
    plan: 'unknown',
    tokenBasedBilling: false,
    resetsAt: '2026-01-01T00:00:00.000Z',
    quotas: [{ id: 'premium_interactions', unlimited: false, remaining: 5 }],
  })
  expect(toCopilotAccount({})).toEqual({ plan: 'unknown', tokenBasedBilling: false, quotas: [] })
})

test.each([
  ['zero', 0],
  ['an empty string', ''],
  ['no date', 'soon'],
  ['a date before the epoch', -5],
])('a reset date that is %s is left out', (_what, date) => {
  expect(toCopilotAccount({ limited_user_reset_date: date }).resetsAt).toBeUndefined()
})

test('a snapshot wins over the plain table for the same quota', () => {
  const reply = copilotUserReply.parse({
    limited_user_quotas: { chat: 1 },
    quota_snapshots: { chat: { remaining: 2, entitlement: 4 } },
  })
  expect(toCopilotAccount(reply).quotas).toEqual([
    { id: 'chat', unlimited: false, remaining: 2, entitlement: 4, percentRemaining: 50 },
  ])
})
