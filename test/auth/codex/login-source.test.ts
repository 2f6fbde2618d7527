import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { CodexAccount, CodexCredentialSource } from '../../../src/auth/codex/credentials.ts'
import { createCodexLoginSource } from '../../../src/auth/codex/login-source.ts'
import {
  codexRecordKind,
  isRenewalInDoubt,
  withRenewalBegun,
  type CodexRecord,
} from '../../../src/auth/codex/record.ts'
import { createMemoryRecordStore } from '../../../src/auth/records/memory-record-store.ts'
import { RecordStoreError } from '../../../src/auth/records/record-fs.ts'
import type { RecordStore } from '../../../src/auth/records/record-store.ts'
import { lateFetch, manualClock, recordingLog, faultOf } from '../support.ts'
import { accessToken, codexRecord, jwt, nameOf } from './support.ts'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }))
afterAll(() => server.close())

const issuer = 'https://auth.example.com'
const never = new AbortController().signal
const MINUTE = 60_000
const HOUR_SECONDS = 3600

let clock = manualClock()
let log = recordingLog()
const sources: CodexCredentialSource[] = []
beforeEach(() => {
  clock = manualClock()
  log = recordingLog()
})
afterEach(async () => {
  vi.useRealTimers()
  await Promise.all(sources.splice(0).map((source) => source.close()))
  server.resetHandlers()
  // No path through here may write a credential to the log.
  expect(log.lines.join('\n')).not.toMatch(/eyJ|rt-example/)
})

type Answer = (n: number) => Response | Promise<Response>

/** The n-th renewal: `renewed-<n>`, which lives an hour, and the next refresh token. */
const granted: Answer = (n) =>
  HttpResponse.json({
    access_token: accessToken({ issuedAtSeconds: Math.floor(clock.now() / 1000), name: `renewed-${n}` }),
    refresh_token: `rt-example-${n}`,
  })
const refused =
  (status: number, body: Record<string, unknown>): Answer =>
  () =>
    HttpResponse.json(body, { status })

/** The refresh tokens that come, in order; answers the n-th (from 1). */
function answerRenewals(answer: Answer = granted, at = issuer): string[] {
  const seen: string[] = []
  server.use(
    http.post(`${at}/oauth/token`, async ({ request }) => {
      const body: unknown = await request.json()
      seen.push(
        typeof body === 'object' && body !== null && 'refresh_token' in body ? String(body.refresh_token) : 'none',
      )
      return answer(seen.length)
    }),
  )
  return seen
}

function start(store: RecordStore<CodexRecord>, random = 0): CodexCredentialSource {
  const { now, monotonicMs } = clock
  const source = createCodexLoginSource(
    { store, fetch: lateFetch, now, monotonicMs, random: () => random, log },
    { issuer, clientId: 'app-example' },
  )
  sources.push(source)
  return source
}

const memory = (ageSeconds: number, metadata: Partial<CodexRecord['metadata']> = {}): RecordStore<CodexRecord> =>
  createMemoryRecordStore(codexRecordKind, [codexRecord(clock.now(), ageSeconds, metadata)])

const nameGot = async (source: CodexCredentialSource): Promise<unknown> => nameOf((await source.get(never)).value)

const change = (store: RecordStore<CodexRecord>, metadata: Partial<CodexRecord['metadata']>): Promise<unknown> =>
  store.update('codex-account-1', (record) => ({ ...record, metadata: { ...record.metadata, ...metadata } }))

describe('when a token is renewed', () => {
  test('one that is still good is used as it is', async () => {
    const seen = answerRenewals()
    const store = memory(600)
    const value = (await store.current())?.metadata.access_token
    expect(await start(store).get(never)).toEqual({ kind: 'chatgpt', value, accountId: 'account-1', isFedramp: false })
    expect(seen).toEqual([])
  })

  test.each([
    ['five minutes before its end', HOUR_SECONDS - 299, {}],
    ['long after its end', 100_000, {}],
    ['when its own claim says so and the record does not', HOUR_SECONDS - 299, { expires_at: undefined }],
    ['when no header can carry it', 0, { access_token: 'not a token' }],
    [
      'after eight days, when nothing says when it ends',
      8 * 24 * HOUR_SECONDS + 1,
      { access_token: jwt({ jti: 'opaque' }), expires_at: undefined },
    ],
    [
      'when nothing says how old it is either',
      0,
      { access_token: jwt({ jti: 'opaque' }), expires_at: undefined, last_refresh: undefined },
    ],
  ])('%s it is, and the record has the new tokens', async (_what, ageSeconds, metadata) => {
    const seen = answerRenewals()
    const store = memory(ageSeconds, metadata)
    expect(await nameGot(start(store))).toBe('renewed-1')
    expect(seen).toEqual(['rt-example-0'])
    const stored = await store.current()
    expect(nameOf(stored?.metadata.access_token ?? '')).toBe('renewed-1')
    expect(stored?.metadata).toMatchObject({
      refresh_token: 'rt-example-1',
      last_refresh: clock.now() / 1000,
      expires_at: clock.now() / 1000 + HOUR_SECONDS,
    })
    expect(stored?.metadata).not.toHaveProperty('renewal_begun')
  })

  test.each([
    ['five minutes and a second before its end', HOUR_SECONDS - 301, {}],
    [
      'before eight days, when nothing says when it ends',
      8 * 24 * HOUR_SECONDS - 1,
      { access_token: jwt({ jti: 'opaque' }), expires_at: undefined },
    ],
  ])('%s it is not', async (_what, ageSeconds, metadata) => {
    const seen = answerRenewals()
    await start(memory(ageSeconds, metadata)).get(never)
    expect(seen).toEqual([])
  })

  test('jitter brings it forward by half a minute at most', async () => {
    const seen = answerRenewals()
    await start(memory(HOUR_SECONDS - 331), 0.999).get(never)
    expect(seen).toEqual([])
    await start(memory(HOUR_SECONDS - 329), 0.999).get(never)
    expect(seen).toHaveLength(1)
  })

  test('E16 a tick notices the end of a sleep, and a clock that was set back changes nothing', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const seen = answerRenewals()
    const source = start(memory(600))
    await source.get(never)
    clock.jumpWallClock(-5 * 24 * 60 * MINUTE)
    await source.get(never)
    expect(seen).toHaveLength(0)
    clock.jumpWallClock(10 * 24 * 60 * MINUTE)
    vi.advanceTimersByTime(30_000)
    await vi.waitFor(() => expect(seen).toHaveLength(1))
    expect(await nameGot(source)).toBe('renewed-1')
  })

  test('E16 a clock that is hours ahead of upstream’s does not make every token look old', async () => {
    const seen = answerRenewals((n) =>
      HttpResponse.json({
        access_token: accessToken({ issuedAtSeconds: clock.now() / 1000 - 20_000, name: `renewed-${n}` }),
        refresh_token: `rt-example-${n}`,
      }),
    )
    const store = memory(100_000)
    await start(store).get(never)
    clock.advance(50 * MINUTE)
    expect(await nameGot(start(store))).toBe('renewed-1')
    expect(seen).toHaveLength(1)
  })

  test('E14 many callers share one renewal, and one that leaves does not end it', async () => {
    const release = Promise.withResolvers<void>()
    const seen = answerRenewals(async (n) => {
      await release.promise
      return granted(n)
    })
    const source = start(memory(100_000))
    const leaving = new AbortController()
    const left = source.get(leaving.signal)
    const others = [source.get(never), source.get(never), source.get(never)]
    leaving.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    release.resolve()
    expect((await Promise.all(others)).map(({ kind }) => kind)).toEqual(['chatgpt', 'chatgpt', 'chatgpt'])
    expect(seen).toEqual(['rt-example-0'])
  })

  test('the login server is the one that made the record, where that is a safe address', async () => {
    const own = answerRenewals(granted, 'https://login.example.org')
    await start(memory(100_000, { issuer: 'https://login.example.org/' })).get(never)
    expect(own).toHaveLength(1)
    const configured = answerRenewals()
    await start(memory(100_000, { issuer: 'http://elsewhere.example' })).get(never)
    await start(memory(100_000, { issuer: 'nonsense' })).get(never)
    expect(configured).toHaveLength(2)
  })
})

describe('a renewal that fails', () => {
  test('E13 for now: the old token is used until it really ends, and tries are paced', async () => {
    const seen = answerRenewals(refused(503, {}))
    const source = start(memory(HOUR_SECONDS - 200))
    expect(await nameGot(source)).toBe('stored')
    expect(await nameGot(source)).toBe('stored')
    expect(seen).toHaveLength(1)
    expect(source.status()).toMatchObject({ state: 'ok', detail: expect.stringContaining('503') })
    clock.advance(5_000)
    expect(await nameGot(source)).toBe('stored')
    expect(seen).toHaveLength(2)
    clock.advance(6_000)
    await source.get(never)
    expect(seen).toHaveLength(2)
    clock.advance(200_000)
    expect(await faultOf(source.get(never))).toEqual({
      kind: 'codex_unavailable',
      detail: expect.stringContaining('503'),
      fix: expect.stringContaining('retries automatically'),
      retryAfterSeconds: 1,
    })
    answerRenewals()
    clock.advance(1_000)
    expect(await nameGot(source)).toBe('renewed-1')
    expect(source.status()).toMatchObject({ state: 'ok', detail: 'Logged in', fix: '' })
  })

  test('for good: nothing is tried until somebody logs in again', async () => {
    const seen = answerRenewals(refused(401, { error: { code: 'refresh_token_reused' } }))
    const store = memory(100_000)
    const source = start(store)
    const fault = {
      kind: 'codex_unavailable',
      detail: 'The ChatGPT login has ended: its refresh token had been used before',
      fix: 'Run: copilot-proxy login codex',
    }
    expect(await faultOf(source.get(never))).toEqual(fault)
    clock.advance(24 * 60 * MINUTE)
    expect(await faultOf(source.get(never))).toEqual(fault)
    expect(source.status()).toMatchObject({ state: 'login_required', fix: fault.fix, source: 'login' })
    expect(seen).toHaveLength(1)
    await store.write(codexRecord(clock.now(), 0, { refresh_token: 'rt-example-9', logged_in_at: clock.now() / 1000 }))
    expect(await nameGot(source)).toBe('stored')
    expect(source.status()).toMatchObject({ state: 'ok' })
  })
})

const brokenOff = (): Response => HttpResponse.error()
const refusedConnection = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' })

describe('a renewal whose answer does not come', () => {
  test('E15 is listened for longer than any caller waits', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const arrived = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const seen = answerRenewals(async (n) => {
      arrived.resolve()
      await release.promise
      return granted(n)
    })
    const source = start(memory(100_000))
    const first = faultOf(source.get(never))
    await arrived.promise
    vi.advanceTimersByTime(20_000)
    expect(await first).toEqual({
      kind: 'codex_unavailable',
      detail: 'copilot-proxy is renewing the login, and the login server has not answered yet',
      fix: 'Try again in a moment',
      retryAfterSeconds: 1,
    })
    release.resolve()
    const second = source.get(never)
    expect(nameOf((await second).value)).toBe('renewed-1')
    expect(seen).toEqual(['rt-example-0'])
  })

  test('is waited for as long by who was refused', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const arrived = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    answerRenewals(async (n) => {
      arrived.resolve()
      await release.promise
      return granted(n)
    })
    const source = start(memory(0))
    const { value } = await source.get(never)
    const replaced = source.replace(value, never)
    await arrived.promise
    vi.advanceTimersByTime(20_000)
    expect((await replaced).value).toBe(value)
    expect(source.refused('made up').error).toMatchObject({
      kind: 'codex_unavailable',
      detail: expect.stringContaining('is renewing the login'),
    })
    release.resolve()
  })

  test('goes on for 20 seconds and more', async () => {
    const timeouts: number[] = []
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      timeouts.push(ms)
      return never
    })
    answerRenewals()
    await nameGot(start(memory(100_000)))
    timeout.mockRestore()
    expect(timeouts).toEqual([120_000])
  })

  test.each([
    ['the connection broke', brokenOff],
    ['a gateway answered', refused(502, {})],
    ['the answer was no answer', refused(200, {})],
  ])('because %s: the token is not sent again while the old one works', async (_what, answer) => {
    const seen = answerRenewals(answer)
    const source = start(memory(HOUR_SECONDS - 200))
    expect(await nameGot(source)).toBe('stored')
    await vi.waitFor(() => expect(source.status().detail).not.toBe('Logged in'))
    for (let n = 0; n < 3; n += 1) {
      clock.advance(60_000)
      expect(await nameGot(source)).toBe('stored')
    }
    expect(seen).toHaveLength(1)
    answerRenewals()
    clock.advance(60_000)
    expect(await nameGot(source)).toBe('renewed-1')
    expect(source.status()).toMatchObject({ state: 'ok', detail: 'Logged in' })
  })

  test('within the time limit: the token is not sent again while the old one works', async () => {
    const seen = answerRenewals(() => new Promise(() => {}))
    const { now, monotonicMs } = clock
    const source = createCodexLoginSource(
      { store: memory(HOUR_SECONDS - 200), fetch: lateFetch, now, monotonicMs, random: () => 0, log },
      { issuer, clientId: 'app-example', renewalTimeoutMs: 20 },
    )
    sources.push(source)
    await vi.waitFor(() => expect(source.status().detail).toContain('No answer'))
    clock.advance(150_000)
    expect(await nameGot(source)).toBe('stored')
    expect(seen).toHaveLength(1)
  })

  test('and one that was refused for now after that: it still may be spent', async () => {
    answerRenewals(brokenOff)
    const store = memory(HOUR_SECONDS - 200)
    const source = start(store)
    await vi.waitFor(() => expect(source.status().detail).toContain('Could not reach'))
    clock.advance(200_000)
    answerRenewals(refused(503, {}))
    expect(await faultOf(source.get(never))).toMatchObject({ detail: expect.stringContaining('503') })
    clock.advance(2_000)
    answerRenewals(refused(401, { error: { code: 'refresh_token_reused' } }))
    expect(await faultOf(source.get(never))).toMatchObject({ detail: expect.stringContaining('was interrupted') })
  })

  test('because there was no connection at all: it is tried again', async () => {
    const seen = answerRenewals()
    const source = createCodexLoginSource(
      {
        store: memory(HOUR_SECONDS - 200),
        fetch: () => Promise.reject(Object.assign(new TypeError('x'), { cause: refusedConnection })),
        now: clock.now,
        monotonicMs: clock.monotonicMs,
        random: () => 0,
        log,
      },
      { issuer, clientId: 'app-example' },
    )
    sources.push(source)
    const attempts = (): number => log.lines.filter((line) => line.includes('was not renewed')).length
    await vi.waitFor(() => expect(attempts()).toBe(1))
    clock.advance(10_000)
    expect(await nameGot(source)).toBe('stored')
    expect(attempts()).toBe(2)
    expect(seen).toEqual([])
  })
})

describe('after upstream’s 401', () => {
  test('E12 the token is renewed once for all who were refused', async () => {
    const seen = answerRenewals()
    const source = start(memory(0))
    const { value } = await source.get(never)
    const replaced = await Promise.all([1, 2, 3].map(() => source.replace(value, never)))
    expect(replaced.map((credential) => nameOf(credential.value))).toEqual(['renewed-1', 'renewed-1', 'renewed-1'])
    expect(nameOf((await source.replace(value, never)).value)).toBe('renewed-1')
    expect(seen).toEqual(['rt-example-0'])
  })

  test('a token that another process has stored meanwhile is taken instead', async () => {
    const seen = answerRenewals()
    const inner = memory(0)
    // Nobody hears of the change.
    const store = { ...inner, watch: () => () => {} }
    const source = start(store)
    const { value } = await source.get(never)
    const theirs = accessToken({ issuedAtSeconds: clock.now() / 1000, name: 'theirs' })
    await change(inner, { access_token: theirs, refresh_token: 'rt-example-theirs' })
    expect(nameOf((await source.replace(value, never)).value)).toBe('theirs')
    expect(seen).toEqual([])
  })

  test('one that other process has stored while we waited for the lock is taken too', async () => {
    const seen = answerRenewals()
    const inner = memory(100_000)
    const stale = await inner.current()
    const theirs = accessToken({ issuedAtSeconds: clock.now() / 1000, name: 'theirs' })
    await change(inner, {
      access_token: theirs,
      refresh_token: 'rt-example-theirs',
      expires_at: clock.now() / 1000 + HOUR_SECONDS,
    })
    expect(await nameGot(start({ ...inner, current: async () => stale }))).toBe('theirs')
    expect(seen).toEqual([])
  })

  test('a login with another account that was stored meanwhile is followed', async () => {
    const store = memory(0)
    const source = start({ ...store, watch: () => () => {} })
    const { value } = await source.get(never)
    const issuedAtSeconds = clock.now() / 1000
    const access = accessToken({ issuedAtSeconds, name: 'another', accountId: 'account-2' })
    const metadata = { access_token: access, account_id: 'account-2', logged_in_at: 1_800_000_000 }
    await store.write(codexRecord(clock.now(), 0, metadata, 'codex-account-2'))
    expect(await source.replace(value, never)).toMatchObject({ value: access, accountId: 'account-2' })
  })

  test('a failing renewal gives the same token, unless the login has ended', async () => {
    const store = memory(0)
    answerRenewals(refused(503, {}))
    const source = start(store)
    const { value } = await source.get(never)
    expect((await source.replace(value, never)).value).toBe(value)
    answerRenewals(refused(401, {}))
    clock.advance(10_000)
    expect(await faultOf(source.replace(value, never))).toMatchObject({ fix: expect.stringContaining('login codex') })
    expect(await faultOf(source.get(never))).toMatchObject({ fix: expect.stringContaining('login codex') })
  })

  test('a token for which renewal has brought no other one is not renewed for again', async () => {
    const seen = answerRenewals((n) => HttpResponse.json({ refresh_token: `rt-example-${n}` }))
    const store = memory(0)
    const source = start(store)
    const first = await source.get(never)
    expect(await source.replace(first.value, never)).toEqual(first)
    clock.advance(10_000)
    expect(await source.replace(first.value, never)).toEqual(first)
    expect(seen).toEqual(['rt-example-0'])
    expect((await store.current())?.metadata.refresh_token).toBe('rt-example-1')
  })

  test('one whose renewal was refused for good before is not used again', async () => {
    const seen = answerRenewals(refused(400, { error: 'invalid_grant' }))
    const source = start(memory(HOUR_SECONDS - 200))
    const { value } = await source.get(never)
    expect(await faultOf(source.replace(value, never))).toMatchObject({ fix: expect.stringContaining('login codex') })
    expect(await faultOf(source.get(never))).toMatchObject({ fix: expect.stringContaining('login codex') })
    expect(seen).toHaveLength(1)
  })

  test('a renewed token that is refused at once is not renewed again', async () => {
    const seen = answerRenewals()
    const source = start(memory(0))
    const first = await source.get(never)
    const second = await source.replace(first.value, never)
    expect(await source.replace(second.value, never)).toEqual(second)
    expect(seen).toHaveLength(1)
  })

  test('renewals for a backend that refuses every token become rare, until it takes one', async () => {
    const seen = answerRenewals()
    const source = start(memory(0))
    const refusedFor = async (ms: number): Promise<void> => {
      for (let passedMs = 0; passedMs < ms; passedMs += 5_000) {
        const { value } = await source.get(never)
        await source.replace(value, never)
        clock.advance(5_000)
      }
    }
    await refusedFor(MINUTE)
    expect(seen).toHaveLength(1)
    await refusedFor(10_000)
    expect(seen).toHaveLength(2)
    await refusedFor(100_000)
    expect(seen).toHaveLength(2)
    await refusedFor(20_000)
    expect(seen).toHaveLength(3)
    source.markAccepted((await source.get(never)).value)
    await refusedFor(2 * MINUTE)
    expect(seen).toHaveLength(3)
    clock.advance(3 * MINUTE)
    source.markAccepted((await source.get(never)).value)
    await refusedFor(5_000)
    expect(seen).toHaveLength(4)
  })

  test('a new login ends that pause', async () => {
    const seen = answerRenewals()
    const store = memory(0)
    const source = start({ ...store, watch: () => () => {} })
    const refuseOnce = async (): Promise<void> => {
      const { value } = await source.get(never)
      await source.replace(value, never)
    }
    await refuseOnce()
    await refuseOnce()
    expect(seen).toHaveLength(1)
    const access_token = accessToken({ issuedAtSeconds: clock.now() / 1000, name: 'again' })
    await change(store, { access_token, logged_in_at: 1_800_000_000 })
    await refuseOnce()
    expect(await nameGot(source)).toBe('again')
    await refuseOnce()
    expect(seen).toHaveLength(2)
    clock.advance(MINUTE)
    await refuseOnce()
    expect(seen).toHaveLength(3)
  })

  test('a refusal after a renewal names the fix: a new login, or the reason why the login cannot be renewed', async () => {
    answerRenewals()
    const source = start(memory(0))
    const first = await source.get(never)
    await source.replace(first.value, never)
    expect(source.refused('Unauthorized').error).toEqual({
      kind: 'upstream_status',
      status: 401,
      message:
        'OpenAI refuses the ChatGPT login, although it was renewed: Unauthorized. Run: copilot-proxy login codex',
      code: 'invalid_api_key',
    })
    answerRenewals(refused(503, {}))
    const other = start(memory(0))
    const { value } = await other.get(never)
    await other.replace(value, never)
    expect(other.refused('Unauthorized').error).toMatchObject({
      kind: 'codex_unavailable',
      detail: expect.stringContaining('503'),
      retryAfterSeconds: 1,
    })
    await other.close()
    expect(other.refused('Unauthorized').error).toEqual({ kind: 'shutting_down' })
  })

  test('a revoked login is not tried again, whatever is asked, until the record changes', async () => {
    const seen = answerRenewals()
    const store = memory(0)
    const source = start(store)
    const { value } = await source.get(never)
    source.markRevoked('some other token', 'made up')
    expect(source.status().state).toBe('ok')
    source.markRevoked(value, 'Your authentication token has been invalidated')
    clock.advance(24 * 60 * MINUTE)
    const fault = { kind: 'codex_unavailable', detail: 'Your authentication token has been invalidated' }
    expect(await faultOf(source.get(never))).toMatchObject(fault)
    expect(await faultOf(source.replace(value, never))).toMatchObject(fault)
    expect(source.status()).toMatchObject({ state: 'login_required', fix: 'Run: copilot-proxy login codex' })
    expect(seen).toEqual([])
    await change(store, { access_token: accessToken({ issuedAtSeconds: 1, name: 'theirs' }), expires_at: clock.now() })
    await vi.waitFor(async () => expect(await nameGot(source)).toBe('theirs'))
  })
})

const withoutLock = (store: RecordStore<CodexRecord>, code: string): RecordStore<CodexRecord> => ({
  ...store,
  update: (id, changeRecord) =>
    store.update(id, (record, save) => {
      const cause = Object.assign(new Error(code), { code })
      return changeRecord(record, save, new RecordStoreError('unwritable', 'made up', { cause }))
    }),
})

describe('a folder that takes no lock', () => {
  test('has no token redeemed, because another process would redeem it too: the old one is used', async () => {
    const seen = answerRenewals()
    const source = start(withoutLock(memory(HOUR_SECONDS - 200), 'EROFS'))
    expect(await nameGot(source)).toBe('stored')
    clock.advance(10_000)
    expect(await nameGot(source)).toBe('stored')
    expect(source.status()).toMatchObject({
      state: 'ok',
      detail: expect.stringContaining('cannot store the new tokens'),
    })
    expect(seen).toEqual([])
  })

  test.each([
    ['EROFS', /^The file system is read-only: set COPILOT_PROXY_HOME/],
    ['ENOSPC', /^The disk is full: free some space/],
  ])('%s is reported to a caller when there is no other token, and tried again', async (code, words) => {
    const seen = answerRenewals()
    const inner = memory(100_000)
    const store = { ...withoutLock(inner, code) }
    const source = start(store)
    expect(await faultOf(source.get(never))).toEqual({
      kind: 'codex_unavailable',
      detail: 'The login cannot be renewed, because copilot-proxy cannot store the new tokens',
      fix: expect.stringMatching(words),
      retryAfterSeconds: 1,
    })
    expect(seen).toEqual([])
    store.update = inner.update
    clock.advance(1_000)
    expect(await nameGot(source)).toBe('renewed-1')
  })
})

/** Fails to write from the given step on: 1 the mark, 2 the tokens. */
function failing(store: RecordStore<CodexRecord>, fromStep: number, problem: 'lock_lost' | 'unwritable') {
  const state = { broken: true, writes: 0 }
  const failWhileBroken = (): void => {
    state.writes += 1
    if (state.broken && state.writes >= fromStep) throw new RecordStoreError(problem, 'made up')
  }
  const broken: RecordStore<CodexRecord> = {
    ...store,
    update: (id, changeRecord) =>
      store.update(id, async (record, save, noLock) => {
        const saveOrFail = async (step: CodexRecord): Promise<void> => {
          failWhileBroken()
          await save(step)
        }
        const changed = await changeRecord(record, saveOrFail, noLock)
        if (changed !== undefined) failWhileBroken()
        return changed
      }),
  }
  return { store: broken, state }
}

describe('what cannot be stored', () => {
  test('is not renewed while the old token works: no token is spent for one that would be lost', async () => {
    const seen = answerRenewals()
    const { store, state } = failing(memory(HOUR_SECONDS - 200), 1, 'unwritable')
    const source = start(store)
    expect(await nameGot(source)).toBe('stored')
    expect(source.status()).toMatchObject({
      state: 'ok',
      detail: expect.stringContaining('cannot store the new tokens'),
    })
    expect(seen).toEqual([])
    state.broken = false
    clock.advance(10_000)
    expect(await nameGot(source)).toBe('renewed-1')
  })

  test('C05 is renewed when the old one has ended, used from memory, and stored as soon as that works', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const seen = answerRenewals()
    const inner = memory(100_000)
    const { store, state } = failing(inner, 1, 'unwritable')
    const source = start(store)
    expect(await nameGot(source)).toBe('renewed-1')
    expect(log.lines.join('\n')).toContain('used from memory and stored later')
    clock.advance(58 * MINUTE)
    expect(await nameGot(source)).toBe('renewed-1')
    clock.advance(3 * MINUTE)
    expect(await nameGot(source)).toBe('renewed-2')
    expect(seen).toEqual(['rt-example-0', 'rt-example-1'])
    expect((await inner.current())?.metadata.refresh_token).toBe('rt-example-0')
    state.broken = false
    vi.advanceTimersByTime(30_000)
    await vi.waitFor(async () => expect((await inner.current())?.metadata.refresh_token).toBe('rt-example-2'))
    expect(await nameGot(source)).toBe('renewed-2')
    expect(await nameGot(start(inner))).toBe('renewed-2')
  })

  test('is stored when the source closes, at the latest', async () => {
    answerRenewals()
    const inner = memory(100_000)
    const { store, state } = failing(inner, 2, 'unwritable')
    const source = start(store)
    await source.get(never)
    expect((await inner.current())?.metadata.refresh_token).toBe('rt-example-0')
    state.broken = false
    await source.close()
    expect((await inner.current())?.metadata).toMatchObject({ refresh_token: 'rt-example-1' })
  })

  test('gives way to what somebody else has stored meanwhile', async () => {
    answerRenewals()
    const inner = memory(100_000)
    const { store, state } = failing(inner, 2, 'unwritable')
    const source = start(store)
    await source.get(never)
    const theirs = accessToken({ issuedAtSeconds: clock.now() / 1000, name: 'theirs' })
    const expires_at = clock.now() / 1000 + HOUR_SECONDS
    await change(inner, { access_token: theirs, refresh_token: 'rt-example-theirs', expires_at })
    state.broken = false
    await vi.waitFor(async () => expect(await nameGot(source)).toBe('theirs'))
    await source.close()
    expect((await inner.current())?.metadata.refresh_token).toBe('rt-example-theirs')
  })

  test('because another process took the lock over, is not renewed at all: that process is at it', async () => {
    const seen = answerRenewals()
    const { store } = failing(memory(100_000), 1, 'lock_lost')
    expect(await faultOf(start(store).get(never))).toMatchObject({ kind: 'codex_unavailable', retryAfterSeconds: 1 })
    expect(seen).toEqual([])
  })
})

describe('what is stored, and when', () => {
  test('the mark before the token is sent, and the new tokens before anybody gets them', async () => {
    const store = memory(100_000)
    const before: (CodexRecord | undefined)[] = []
    answerRenewals(async (n) => {
      before.push(await store.current())
      return granted(n)
    })
    const source = start(store)
    await source.get(never)
    expect(before.map((record) => record !== undefined && isRenewalInDoubt(record))).toEqual([true])
    expect((await store.current())?.metadata.refresh_token).toBe('rt-example-1')
  })

  test('while the new tokens are being stored nobody gets them', async () => {
    answerRenewals()
    const inner = memory(3480)
    const release = Promise.withResolvers<void>()
    const saving = Promise.withResolvers<void>()
    const slow: RecordStore<CodexRecord> = {
      ...inner,
      update: (id, changeRecord) =>
        inner.update(id, (record, save, noLock) => {
          const saveLate = async (step: CodexRecord): Promise<void> => {
            if (!isRenewalInDoubt(step)) {
              saving.resolve()
              await release.promise
            }
            await save(step)
          }
          return changeRecord(record, saveLate, noLock)
        }),
    }
    const source = start(slow)
    await saving.promise
    // Longer ago than a caller waits for a renewal.
    clock.advance(3_000)
    expect(await nameGot(source)).toBe('stored')
    release.resolve()
    await vi.waitFor(async () => expect(await nameGot(source)).toBe('renewed-1'))
  })

  test('a renewal under way survives closing, and its tokens are stored when close settles', async () => {
    const arrived = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    answerRenewals(async (n) => {
      arrived.resolve()
      await release.promise
      return granted(n)
    })
    const store = memory(100_000)
    const source = start(store)
    await arrived.promise
    const closed = source.close()
    release.resolve()
    await closed
    expect((await store.current())?.metadata.refresh_token).toBe('rt-example-1')
  })

  test('none begins after closing', async () => {
    const seen = answerRenewals()
    const store = memory(100_000)
    const source = start(store)
    await source.close()
    expect(await faultOf(source.get(never))).toEqual({ kind: 'shutting_down' })
    expect(seen).toEqual([])
  })

  test('a mark that another process left is no obstacle once the login server takes the token', async () => {
    const seen = answerRenewals()
    const store = createMemoryRecordStore(codexRecordKind, [withRenewalBegun(codexRecord(clock.now(), 3480))])
    const source = start(store)
    expect(await nameGot(source)).toBe('stored')
    expect(seen).toEqual([])
    clock.advance(3 * MINUTE)
    expect(await nameGot(source)).toBe('renewed-1')
  })
})

describe('who is logged in', () => {
  test('listeners are called when the account changes, not at every renewal', async () => {
    answerRenewals()
    const store = memory(0)
    const source = start(store)
    const accounts: (CodexAccount | undefined)[] = []
    const stop = source.onChange((account) => accounts.push(account))
    const { value } = await source.get(never)
    await source.replace(value, never)
    expect(accounts).toEqual([{ id: 'codex-account-1', label: 'person@example.com' }])
    await store.remove('codex-account-1')
    await vi.waitFor(() => expect(accounts).toHaveLength(2))
    expect(accounts[1]).toBeUndefined()
    expect(await faultOf(source.get(never))).toEqual({
      kind: 'codex_unavailable',
      detail: 'Not logged in to OpenAI Codex',
      fix: 'Run: copilot-proxy login codex',
    })
    stop()
    await store.write(codexRecord(clock.now(), 0))
    expect(await nameGot(source)).toBe('stored')
    expect(accounts).toHaveLength(2)
  })

  test('the status names account, plan and end', async () => {
    const source = start(memory(600))
    await source.get(never)
    expect(source.status()).toEqual({
      state: 'ok',
      detail: 'Logged in',
      fix: '',
      source: 'login',
      recordId: 'codex-account-1',
      email: 'person@example.com',
      plan: 'plus',
      expiresAtMs: clock.now() + 3000_000,
    })
  })
})
