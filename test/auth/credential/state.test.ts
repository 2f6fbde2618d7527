import { describe, expect, test } from 'vitest'
import { next, statusOf, usableOf, wantsRefresh } from '../../../src/auth/credential/state.ts'
import type {
  CredentialEvent,
  CredentialState,
  HeldCredential,
  RefreshFailure,
} from '../../../src/auth/credential/state.ts'
import type { StoredRecord } from '../../../src/auth/records/record-kind.ts'

type Held = HeldCredential<StoredRecord, { readonly value: string }>
type State = CredentialState<Held>
type Event = CredentialEvent<Held>

const minute = 60_000
const at = (ms: number) => ({ wallMs: ms, monotonicMs: ms })
const record: StoredRecord = { id: 'one', metadata: {} }

/** A login with a credential that is due after 20 minutes and ends after 30. @param value undefined: it has none yet */
function found(value?: string, key = 'login-1') {
  const life = { seenAt: at(0), dueAfterMs: 20 * minute, expiresAfterMs: 30 * minute }
  return {
    login: { record, key, secrets: `${key} ${value}` },
    held: value === undefined ? undefined : { credential: { value }, record, life },
  }
}

const failing = (failure: Partial<RefreshFailure> = {}, ms = 0) => ({
  failure: { state: 'unreachable', detail: 'No answer.', fix: 'Wait', ...failure } as const,
  at: at(ms),
  random: 0,
})
const read = (value?: string, key?: string): Event => ({ kind: 'read', found: found(value, key) })
const nobody: Event = { kind: 'read', found: undefined }
const began = (rejected?: string): Event => ({ kind: 'refresh_began', rejected, at: at(0) })
const refreshed = (value: string, rejected?: string): Event => ({ kind: 'refreshed', rejected, found: found(value) })
const failed = (failure?: Partial<RefreshFailure>, rejected?: string): Event => ({
  kind: 'refresh_failed',
  rejected,
  ...failing(failure),
})
const storeFailed: Event = { kind: 'store_failed', ...failing({ state: 'unreadable' }) }
const rejected = (value: string): Event => ({ kind: 'rejected', value })
const revoked = (value: string): Event => ({ kind: 'revoked', value, ...failing({ state: 'login_required' }) })
const stale = (value: string): Event => ({ kind: 'marked_stale', value })

const start: State = { kind: 'unread', failure: undefined }
const after = (events: readonly Event[]): State => events.reduce<State>(next, start)

const texts = { nobody: 'Nobody.', loginFix: 'Log in', starting: 'Starting.', expired: 'Expired.' }
const rules = { mayReplace: () => true }

/** What a caller notices: the credential, the status, and whether a refresh would begin now. */
const seen = (state: State, ms = 0) => [
  usableOf(state, at(ms))?.value,
  statusOf(state, at(ms), texts).state,
  wantsRefresh(state, undefined, at(ms), rules),
]

const refused = failed({ state: 'login_required', retryAfterMs: Infinity }, 'a')

const rows: readonly (readonly [what: string, events: readonly Event[], seen: readonly unknown[], ms?: number])[] = [
  ['nothing has been read', [], [undefined, 'starting', false]],
  ['nobody is logged in', [nobody], [undefined, 'login_required', false]],
  ['there is a login without a credential', [read()], [undefined, 'starting', true]],
  ['there is a credential', [read('a')], ['a', 'ok', false]],
  ['the credential is due', [read('a')], ['a', 'ok', true], 25 * minute],
  ['the credential has ended', [read('a')], [undefined, 'expired', true], 31 * minute],
  ['somebody logged out', [read('a'), nobody], [undefined, 'login_required', false]],
  ['a refresh brought another one', [read('a'), began(), refreshed('b')], ['b', 'ok', false]],
  ['a refresh was aborted', [read('a'), began(), { kind: 'refresh_aborted' }], ['a', 'ok', false]],
  ['a refresh failed while the old one works', [read('a'), began(), failed()], ['a', 'ok', false]],
  ['a refresh failed and there is none', [read(), began(), failed()], [undefined, 'unreachable', false]],
  ['the pause after that failure is over', [read(), began(), failed()], [undefined, 'unreachable', true], minute],
  ['the store fails before a login is known', [storeFailed], [undefined, 'unreadable', false]],
  ['the store fails while a credential works', [read('a'), storeFailed], ['a', 'ok', false]],
  ['the store works again', [read('a'), storeFailed, read('a')], ['a', 'ok', false]],
  [
    'the provider refused the login for the rejected one',
    [read('a'), began('a'), refused],
    [undefined, 'login_required', false],
  ],
  ['that one is still stored', [read('a'), began('a'), refused, read('a')], [undefined, 'login_required', false]],
  ['another one is stored then', [read('a'), began('a'), refused, read('b')], ['b', 'ok', false]],
  ['somebody logs in again then', [read('a'), began('a'), refused, read('a', 'login-2')], ['a', 'ok', false]],
  ['upstream rejected it, and nothing else is known', [read('a'), rejected('a')], ['a', 'ok', false]],
  ['the login was revoked', [read('a'), revoked('a')], [undefined, 'login_required', false]],
  ['an earlier credential was revoked', [read('b'), revoked('a')], ['b', 'ok', false]],
  ['it is stale', [read('a'), stale('a')], ['a', 'ok', true], minute],
  ['an earlier one is stale', [read('b'), stale('a')], ['b', 'ok', false], minute],
  ['a stale one was read again', [read('a'), stale('a'), read('a')], ['a', 'ok', true], minute],
  ['a stale one was replaced', [read('a'), stale('a'), began(), refreshed('b')], ['b', 'ok', false], minute],
]

test.each(rows.map((row) => [row[0], row] as const))('%s', (_what, [, events, expected, ms]) => {
  expect(seen(after(events), ms)).toEqual(expected)
})

const rejections = (state: State) => ('history' in state ? state.history.replacementsSinceAccepted : undefined)

describe('a history', () => {
  test('counts replacements until upstream accepts one, and ends with another login', () => {
    const twice = [read('a'), began('a'), refreshed('b', 'a'), began('b'), refreshed('c', 'b')]
    expect(rejections(after(twice))).toBe(2)
    expect(rejections(after([...twice, { kind: 'accepted' }]))).toBe(0)
    expect(rejections(after([...twice, read('d')]))).toBe(2)
    expect(rejections(after([...twice, read('d', 'login-2')]))).toBe(0)
  })

  test('makes each failure in a row wait longer, up to a limit, and forgets them after a success', () => {
    const waits = (count: number) => after([read('a'), ...Array<Event>(count).fill(failed())]).failure?.waitMs
    expect([1, 2, 3, 20].map(waits)).toEqual([5_000, 10_000, 20_000, minute])
    expect(after([read('a'), failed(), refreshed('b')]).failure).toBeUndefined()
  })
})

test('no event changes the state that it is given', () => {
  const given = after([read('a'), began('a'), failed()])
  const before = structuredClone(given)
  for (const event of [
    read('b'),
    nobody,
    storeFailed,
    began(),
    refreshed('b'),
    failed(),
    rejected('a'),
    revoked('a'),
    stale('a'),
  ]) {
    next(given, event)
  }
  expect(given).toEqual(before)
})
