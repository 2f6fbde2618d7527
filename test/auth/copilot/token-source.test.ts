import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { http, HttpResponse } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createCopilotTokenSource, type CopilotTokenOptions } from '../../../src/auth/copilot/token-source.ts'
import type { CopilotToken, CopilotTokenSource } from '../../../src/auth/copilot/token.ts'
import { copilotRecordKind } from '../../../src/auth/copilot/record.ts'
import { createMemoryRecordStore } from '../../../src/auth/records/memory-record-store.ts'
import { createRecordStore, type RecordStore } from '../../../src/auth/records/record-store.ts'
import { RecordStoreError } from '../../../src/auth/records/record-fs.ts'
import type { CopilotRecord } from '../../../src/auth/copilot/wire.ts'
import { exampleRecord, fixture, lateFetch, manualClock, recordingLog, faultOf } from '../support.ts'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }))
afterAll(() => server.close())

const options: CopilotTokenOptions = {
  githubBaseUrl: 'https://github.com',
  githubApiBaseUrl: 'https://api.github.com',
  baseUrl: '',
  headers: { 'editor-version': 'vscode/1.0' },
  refreshSafetyMarginSeconds: 60,
}
const never = new AbortController().signal
const MINUTE = 60_000

let clock = manualClock()
let log = recordingLog()
const sources: CopilotTokenSource[] = []
beforeEach(() => {
  clock = manualClock()
  log = recordingLog()
})
afterEach(async () => {
  await Promise.all(sources.splice(0).map((source) => source.close()))
  server.resetHandlers()
  // No path through here may write a credential to the log.
  expect(log.lines.join('\n')).not.toMatch(/gh[uop]_\w|github_pat_\w|tid=/)
})

type Answer = (n: number) => Response | Promise<Response>
const granted = (n: number, more: Record<string, unknown> = {}): Response =>
  HttpResponse.json({ token: `tid=${n}`, expires_at: 1, refresh_in: 1500, ...more })

/** Counts exchanges, and answers the n-th one (from 1). */
function answerExchanges(answer: Answer, api = 'https://api.github.com'): { count: number; credentials: string[] } {
  const seen = { count: 0, credentials: [] as string[] }
  server.use(
    http.get(`${api}/copilot_internal/v2/token`, ({ request }) => {
      seen.count += 1
      seen.credentials.push(request.headers.get('authorization') ?? '')
      return answer(seen.count)
    }),
  )
  return seen
}

function start(
  store: RecordStore<CopilotRecord>,
  changes: Partial<CopilotTokenOptions> = {},
  random = 0,
): CopilotTokenSource {
  const { now, monotonicMs } = clock
  const source = createCopilotTokenSource(
    { store, fetch: lateFetch, now, monotonicMs, random: () => random, log },
    { ...options, ...changes },
  )
  sources.push(source)
  return source
}

const memory = (metadata: Partial<CopilotRecord['metadata']> = {}): RecordStore<CopilotRecord> =>
  createMemoryRecordStore(copilotRecordKind, [exampleRecord(metadata)])

/** A stored token obtained `ageSeconds` ago. */
const stored = (ageSeconds: number, token = 'tid=stored'): Partial<CopilotRecord['metadata']> => ({
  access_token: token,
  refresh_in: 1500,
  obtained_at: clock.now() / 1000 - ageSeconds,
})

describe('when a token is fetched', () => {
  test('a stored one that is still good is used without an exchange', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(memory(stored(600)))
    expect(await source.get(never)).toEqual({
      value: 'tid=stored',
      recordId: 'copilot-octocat',
      candidates: ['https://api.githubcopilot.com'],
      completionsUrl: 'https://copilot-proxy.githubusercontent.com',
    })
    expect(exchanges.count).toBe(0)
  })

  test.each([
    ['due', stored(1500)],
    ['long expired', stored(100_000)],
    ['without the time it was obtained', { access_token: 'tid=stored', refresh_in: 1500 }],
    ['from the future, because the clock was set back', stored(-3600)],
    ['absent', {}],
  ])('a stored one that is %s is replaced first', async (_what, metadata) => {
    const exchanges = answerExchanges(granted)
    expect(await start(memory(metadata)).get(never)).toMatchObject({ value: 'tid=1' })
    expect(exchanges).toEqual({ count: 1, credentials: ['token ghu_example'] })
  })

  test('it is due at refresh_in less the margin, by either clock, whatever expires_at says', async () => {
    const exchanges = answerExchanges((n) => granted(n, { expires_at: 32_503_680_000 }))
    const source = start(memory())
    await source.get(never)
    clock.advance(1439_000)
    expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
    clock.advance(1_000)
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
    expect(exchanges.count).toBe(2)
  })

  test('jitter brings it forward by half a minute at most', async () => {
    answerExchanges(granted)
    const source = start(memory(), {}, 0.999)
    await source.get(never)
    clock.advance(1409_000)
    expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
    clock.advance(2_000)
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
  })

  test('C14 the record keeps what was learned, and nothing of an address that is not allowed', async () => {
    answerExchanges((n) =>
      granted(n, { sku: 'example', endpoints: { api: 'https://api.business.githubcopilot.com/' } }),
    )
    const store = memory({ base_url: 'https://api.individual.githubcopilot.com' })
    const token = await start(store).get(never)
    expect(token.candidates[0]).toBe('https://api.business.githubcopilot.com')
    expect((await store.current())?.metadata).toMatchObject({
      access_token: 'tid=1',
      expires_at: 1,
      refresh_in: 1500,
      obtained_at: clock.now() / 1000,
      base_url: 'https://api.business.githubcopilot.com',
      sku: 'example',
      login: 'octocat',
    })
  })

  test.each([
    'http://api.githubcopilot.com',
    'https://githubcopilot.com.evil.example',
    'https://203.0.113.7',
    'https://user:canary@api.githubcopilot.com',
  ])('an answer that names %s is believed but for that', async (api) => {
    answerExchanges((n) => granted(n, { endpoints: { api } }))
    const store = memory()
    expect(await start(store).get(never)).toMatchObject({ candidates: ['https://api.githubcopilot.com'] })
    expect((await store.current())?.metadata).not.toHaveProperty('base_url')
    expect(log.lines).toEqual([expect.stringContaining('ignored a base URL')])
    expect(log.lines[0]).not.toContain('canary')
  })

  test('an account of another host is exchanged there and nowhere else', async () => {
    const exchanges = answerExchanges(granted, 'https://api.octo.ghe.com')
    const store = memory({ github_api_base_url: 'https://api.octo.ghe.com' })
    await start(store).get(never)
    expect(exchanges.count).toBe(1)
  })

  test('a login from the environment is used instead of the records, and never stored', async () => {
    const exchanges = answerExchanges(granted)
    const store = memory(stored(0))
    const source = start(store, { githubToken: 'ghu_environment' })
    expect(await source.get(never)).toMatchObject({ value: 'tid=1', recordId: 'copilot-environment' })
    expect(exchanges.credentials).toEqual(['token ghu_environment'])
    expect(await store.list()).toEqual([exampleRecord(stored(0))])
  })

  test('the timer refreshes a token nobody asks for, and finds out by the clock that it has slept', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const exchanged = Promise.withResolvers<void>()
      const exchanges = answerExchanges((n) => {
        if (n === 2) exchanged.resolve()
        return granted(n)
      })
      const source = start(memory())
      await source.get(never)
      vi.advanceTimersByTime(30_000)
      expect(exchanges.count).toBe(1)
      clock.jumpWallClock(8 * 60 * MINUTE)
      vi.advanceTimersByTime(30_000)
      await exchanged.promise
      expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('clocks', () => {
  test('E16 sleep past the end: the first call afterwards gets a new token', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(memory())
    await source.get(never)
    clock.jumpWallClock(3 * 60 * MINUTE)
    expect(source.status()).toMatchObject({ state: 'expired' })
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
    expect(exchanges.count).toBe(2)
  })

  test('E16 a clock set back does not keep an old token in use', async () => {
    answerExchanges(granted)
    const source = start(memory())
    await source.get(never)
    clock.jumpWallClock(-60 * MINUTE)
    clock.advance(27 * MINUTE)
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
  })

  test.each([10, 60])('E16 a clock that jumps to and fro by %i minutes causes no storm', async (minutes) => {
    const exchanges = answerExchanges(granted)
    const source = start(memory())
    for (let n = 0; n < 50; n += 1) {
      clock.jumpWallClock((n % 2 === 0 ? minutes : -minutes) * MINUTE)
      clock.advance(1_000)
      await source.get(never)
    }
    expect(exchanges.count).toBeLessThanOrEqual(2)
  })

  test.each([
    ['a margin larger than the lifetime', { refreshSafetyMarginSeconds: 100_000 }, 1500],
    ['a lifetime of nothing', {}, 0],
    ['a negative lifetime', {}, -500],
  ])('%s does not cause a refresh for every request', async (_what, changes, refresh_in) => {
    const exchanges = answerExchanges((n) => granted(n, { refresh_in }))
    const source = start(memory(), changes)
    for (let n = 0; n < 40; n += 1) {
      await source.get(never)
      clock.advance(250)
    }
    expect(exchanges.count).toBeLessThanOrEqual(2)
  })
})

describe('many at once', () => {
  test('E14 1,000 calls on an expired token make one exchange, and all succeed', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(memory(stored(100_000)))
    const tokens = await Promise.all(Array.from({ length: 1000 }, () => source.get(new AbortController().signal)))
    expect(new Set(tokens.map((token) => token.value))).toEqual(new Set(['tid=1']))
    expect(exchanges.count).toBe(1)
  })

  test('E14 1,000 calls on a failing exchange make one, and all get the same clear fault', async () => {
    const exchanges = answerExchanges(() => new HttpResponse('', { status: 503 }))
    const source = start(memory())
    const faults = await Promise.all(Array.from({ length: 1000 }, () => faultOf(source.get(never))))
    expect(new Set(faults.map((fault) => JSON.stringify(fault))).size).toBe(1)
    expect(faults[0]).toMatchObject({ kind: 'copilot_unavailable', retryAfterSeconds: 1 })
    expect(exchanges.count).toBe(1)
  })

  test('whoever began the exchange may leave; the others get its token', async () => {
    const release = Promise.withResolvers<void>()
    const exchanges = answerExchanges(async (n) => {
      await release.promise
      return granted(n)
    })
    const source = start(memory())
    const first = new AbortController()
    const leaving = source.get(first.signal)
    const staying = source.get(never)
    first.abort(new Error('gone'))
    await expect(leaving).rejects.toThrow('gone')
    release.resolve()
    expect(await staying).toMatchObject({ value: 'tid=1' })
    expect(exchanges.count).toBe(1)
  })

  test('a caller that has left before asking causes nothing', async () => {
    await expect(start(memory(stored(0))).get(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  })
})

describe('an exchange that does not work', () => {
  test('E13 while the old token is good it is used, and retries keep their distance', async () => {
    const exchanges = answerExchanges((n) => (n === 1 ? granted(n) : new HttpResponse('', { status: 500 })))
    const source = start(memory())
    await source.get(never)
    clock.advance(1440_000)
    const attempts: number[] = []
    for (let second = 0; second < 119; second += 1) {
      expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
      if (exchanges.count > attempts.length + 1) attempts.push(second)
      clock.advance(1_000)
    }
    expect(source.status()).toMatchObject({ state: 'ok', detail: expect.stringContaining('500') })
    expect(attempts.length).toBeGreaterThan(2)
    const gaps = attempts.slice(1).map((second, n) => second - (attempts[n] ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5)
    clock.advance(1_000)
    expect(await faultOf(source.get(never))).toMatchObject({ kind: 'copilot_unavailable' })
  })

  test('E13 a failing one without a token is not hammered by a busy caller', async () => {
    const exchanges = answerExchanges(() => HttpResponse.error())
    const source = start(memory())
    for (let n = 0; n < 20; n += 1) {
      await faultOf(source.get(never))
      clock.advance(100)
    }
    expect(exchanges.count).toBeLessThanOrEqual(2)
  })

  test('E15 one that hangs is bounded: the waiting fail together, and the next call tries again', async () => {
    const exchanges = answerExchanges((n) => (n === 1 ? new Promise(() => {}) : granted(n)))
    const source = start(memory(), { exchangeTimeoutMs: 30 })
    const faults = await Promise.all([faultOf(source.get(never)), faultOf(source.get(never))])
    expect(faults[0]).toEqual({
      kind: 'copilot_unavailable',
      detail: 'No answer from api.github.com within 0.03 s',
      fix: expect.any(String),
      retryAfterSeconds: 1,
    })
    expect(faults[1]).toEqual(faults[0])
    expect(exchanges.count).toBe(1)
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
  })

  test('E13 one that hangs is not waited for while the old token is good', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const asked = Promise.withResolvers<void>()
      answerExchanges((n) => {
        if (n === 1) return granted(n)
        asked.resolve()
        return new Promise(() => {})
      })
      const source = start(memory())
      await source.get(never)
      clock.advance(1450_000)
      const patient = source.get(never)
      await asked.promise
      await vi.advanceTimersByTimeAsync(2_000)
      expect(await patient).toMatchObject({ value: 'tid=1' })
      clock.advance(2_000)
      expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
    } finally {
      vi.useRealTimers()
    }
  })

  test('a rate limit is waited out, and named', async () => {
    const exchanges = answerExchanges((n) =>
      n === 1
        ? HttpResponse.json(fixture('github-403-rate-limit'), { status: 403, headers: { 'retry-after': '90' } })
        : granted(n),
    )
    const source = start(memory())
    expect(await faultOf(source.get(never))).toMatchObject({ retryAfterSeconds: 90 })
    clock.advance(30_000)
    expect(await faultOf(source.get(never))).toMatchObject({ retryAfterSeconds: 60 })
    expect(exchanges.count).toBe(1)
    clock.advance(60_000)
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
  })

  test('a redirect gives no token', async () => {
    answerExchanges(() => new HttpResponse(null, { status: 302, headers: { location: 'https://evil.example/' } }))
    expect(await faultOf(start(memory()).get(never))).toMatchObject({
      detail: expect.stringContaining('answered with a redirect'),
    })
  })
})

describe('an account that GitHub refuses', () => {
  test('C22 a bad login is asked about once, until somebody logs in', async () => {
    const exchanges = answerExchanges((n) =>
      n === 1 ? HttpResponse.json(fixture('github-401'), { status: 401 }) : granted(n),
    )
    const store = memory()
    const source = start(store)
    const fault = await faultOf(source.get(never))
    expect(fault).toEqual({
      kind: 'copilot_unavailable',
      detail: 'GitHub does not accept the stored login: Bad credentials',
      fix: 'Run: copilot-proxy login',
    })
    for (let n = 0; n < 20; n += 1) {
      clock.advance(10 * MINUTE)
      expect(await faultOf(source.get(never))).toEqual(fault)
    }
    expect(exchanges.count).toBe(1)
    expect(source.status()).toMatchObject({ state: 'login_required', login: 'octocat' })
    await store.write(exampleRecord({ logged_in_at: 1_800_000_000 }))
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
    expect(source.status()).toMatchObject({ state: 'ok' })
  })

  test('a bad login from the environment names the variable', async () => {
    answerExchanges(() => HttpResponse.json(fixture('github-401'), { status: 401 }))
    const source = start(createMemoryRecordStore(copilotRecordKind, []), { githubToken: 'ghu_environment' })
    expect(await faultOf(source.get(never))).toEqual({
      kind: 'copilot_unavailable',
      detail: 'GitHub does not accept the token in COPILOT_GITHUB_TOKEN: Bad credentials',
      fix: 'Set COPILOT_GITHUB_TOKEN to a valid token',
    })
  })

  test('an invalid token from the environment is not sent, and does not count as a network failure', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(createMemoryRecordStore(copilotRecordKind, []), { githubToken: 'ghu_example and more' })
    expect(await faultOf(source.get(never))).toEqual({
      kind: 'copilot_unavailable',
      detail: expect.stringContaining('COPILOT_GITHUB_TOKEN is not a valid token'),
      fix: 'Set COPILOT_GITHUB_TOKEN to a valid token',
    })
    expect(source.status()).toMatchObject({ state: 'login_required' })
    expect(exchanges.count).toBe(0)
  })

  test('no access has a plain message, and is checked again a minute later', async () => {
    const exchanges = answerExchanges((n) =>
      n === 1 ? HttpResponse.json(fixture('exchange-403-spammy'), { status: 403 }) : granted(n),
    )
    const source = start(memory())
    expect(await faultOf(source.get(never))).toEqual({
      kind: 'copilot_unavailable',
      detail: 'GitHub has flagged this account.',
      fix: expect.stringContaining('support.github.com'),
    })
    clock.advance(59_000)
    await faultOf(source.get(never))
    expect(exchanges.count).toBe(1)
    expect(source.status()).toMatchObject({ state: 'no_access' })
    clock.advance(1_000)
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
  })

  test('distinguishes a token of the wrong kind or host', async () => {
    answerExchanges(() => HttpResponse.json(fixture('github-404'), { status: 404 }))
    expect(await faultOf(start(memory()).get(never))).toMatchObject({
      detail: expect.stringContaining('GHE.com'),
      fix: 'Run: copilot-proxy login',
    })
  })
})

describe('a token that upstream rejects', () => {
  test('E12 is replaced by one exchange, however many callers report it', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(memory())
    const { value } = await source.get(never)
    const replaced = await Promise.all(Array.from({ length: 100 }, () => source.replace(value, never)))
    expect(new Set(replaced.map((token) => token.value))).toEqual(new Set(['tid=2']))
    expect(await source.replace(value, never)).toMatchObject({ value: 'tid=2' })
    expect(exchanges.count).toBe(2)
  })

  test('stays in use when the exchange gives the same again, without a second try', async () => {
    const exchanges = answerExchanges(() => granted(7))
    const source = start(memory())
    await source.get(never)
    clock.advance(MINUTE)
    expect(await source.replace('tid=7', never)).toMatchObject({ value: 'tid=7' })
    clock.advance(MINUTE)
    expect(await source.replace('tid=7', never)).toMatchObject({ value: 'tid=7' })
    expect(exchanges.count).toBe(2)
  })

  test('stays in use when the exchange fails for the moment', async () => {
    const exchanges = answerExchanges((n) => (n === 1 ? granted(n) : new HttpResponse('', { status: 502 })))
    const source = start(memory())
    await source.get(never)
    // No 401 "Invalid API key": clients repeat a 503 after this time, and do not repeat a 401.
    const passing = { kind: 'copilot_unavailable', retryAfterSeconds: 5 }
    expect(await faultOf(source.replace('tid=1', never))).toMatchObject(passing)
    expect(await faultOf(source.replace('tid=1', never))).toMatchObject(passing)
    expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
    expect(exchanges.count).toBe(2)
  })

  test('is dropped when the account is refused too', async () => {
    answerExchanges((n) => (n === 1 ? granted(n) : HttpResponse.json(fixture('github-401'), { status: 401 })))
    const source = start(memory())
    await source.get(never)
    expect(await faultOf(source.replace('tid=1', never))).toMatchObject({ kind: 'copilot_unavailable' })
    expect(source.status()).toMatchObject({ state: 'login_required' })
  })

  test('stays dropped, though it is still stored, until there is another', async () => {
    const exchanges = answerExchanges((n) =>
      n === 1 ? HttpResponse.json(fixture('exchange-403-spammy'), { status: 403 }) : granted(n),
    )
    // Due, and good for a while: nobody has to wait for the exchange that fails.
    const source = start(memory(stored(1500)))
    expect(await source.get(never)).toMatchObject({ value: 'tid=stored' })
    expect(exchanges.count).toBe(1)
    const refused = { kind: 'copilot_unavailable', detail: 'GitHub has flagged this account.' }
    expect(await faultOf(source.replace('tid=stored', never))).toMatchObject(refused)
    expect(await faultOf(source.get(never))).toMatchObject(refused)
    expect(source.status()).toMatchObject({ state: 'no_access' })
    expect(exchanges.count).toBe(1)
    clock.advance(MINUTE)
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
  })

  test('E12 an upstream that rejects every token costs an exchange every five seconds at most', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(memory())
    for (let n = 0; n < 40; n += 1) {
      const { value } = await source.get(never)
      await source.replace(value, never)
      clock.advance(250)
    }
    expect(exchanges.count).toBeLessThanOrEqual(4)
  })

  test('a value that is no longer in use is answered from memory', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(memory(stored(0)))
    await source.get(never)
    expect(await source.replace('tid=older', never)).toMatchObject({ value: 'tid=stored' })
    expect(exchanges.count).toBe(0)
  })
})

/** A store whose next look takes until it is let go, and then tells what was there when it began. */
const slowToRead = (
  store: RecordStore<CopilotRecord>,
): { store: RecordStore<CopilotRecord>; holdNext: () => () => void } => {
  let gate: Promise<void> = Promise.resolve()
  return {
    store: {
      ...store,
      current: async () => {
        const [found, held] = [await store.current(), gate]
        await held
        return found
      },
    },
    holdNext: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
  }
}

describe('a token that the provider answered with 402 or 403', () => {
  test('is replaced before the next request, and not before somebody asks', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(memory())
    expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
    clock.advance(10_000)
    source.renewBeforeNext('tid=1')
    expect(exchanges.count).toBe(1)
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
    expect(exchanges.count).toBe(2)
  })

  test('is used for as long as it is quite new, and then replaced', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(memory())
    await source.get(never)
    source.renewBeforeNext('tid=1')
    clock.advance(4_000)
    expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
    clock.advance(1_000)
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
    expect(exchanges.count).toBe(2)
  })

  test('stays in use when there is no other to be had', async () => {
    const exchanges = answerExchanges((n) => (n === 1 ? granted(n) : new HttpResponse('', { status: 503 })))
    const source = start(memory())
    await source.get(never)
    clock.advance(10_000)
    source.renewBeforeNext('tid=1')
    for (let n = 0; n < 10; n += 1) expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
    expect(exchanges.count).toBe(2)
  })

  test('every time costs an exchange a minute at most, however busy the caller', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(memory())
    for (let second = 0; second < 600; second += 1) {
      source.renewBeforeNext((await source.get(never)).value)
      clock.advance(1_000)
    }
    expect(exchanges.count).toBeGreaterThan(5)
    expect(exchanges.count).toBeLessThanOrEqual(12)
  })

  test('that is not the one in use changes nothing', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(memory())
    await source.get(never)
    clock.advance(10_000)
    source.renewBeforeNext('tid=0')
    await source.get(never)
    expect(exchanges.count).toBe(1)
  })
})

/** Answers the n-th question for the account (from 1), and counts them. */
function answerAccounts(answer: Answer): { count: number } {
  const seen = { count: 0 }
  server.use(
    http.get('https://api.github.com/copilot_internal/user', () => {
      seen.count += 1
      return answer(seen.count)
    }),
  )
  return seen
}

const unknown = (): Response => HttpResponse.json(fixture('github-404'), { status: 404 })
const personal = (): Response => HttpResponse.json(fixture('github-403-pat'), { status: 403 })
const revoked = (): Response => HttpResponse.json(fixture('github-401'), { status: 401 })
const named = (): Response =>
  HttpResponse.json({ endpoints: { api: 'https://api.business.githubcopilot.com' }, access_type_sku: 'example' })

describe('a GitHub token that is sent to Copilot itself', () => {
  test.each([
    ['gho_example', unknown, unknown, 1, 'https://api.githubcopilot.com'],
    ['github_pat_example', granted, personal, 0, 'https://api.githubcopilot.com'],
    ['github_pat_example', granted, named, 0, 'https://api.business.githubcopilot.com'],
  ] as const)('%s, where GitHub does not exchange it', async (token, exchanged, account, count, host) => {
    const exchanges = answerExchanges(exchanged)
    const accounts = answerAccounts(account)
    const store = memory({ github_access_token: token })
    const source = start(store)
    const expected = {
      value: token,
      direct: true,
      candidates: [host, 'https://api.githubcopilot.com'],
    }
    expect(await source.get(never)).toMatchObject({ ...expected, candidates: [...new Set(expected.candidates)] })
    expect(source.status()).toMatchObject({ state: 'ok' })
    expect({ exchanges: exchanges.count, accounts: accounts.count }).toEqual({ exchanges: count, accounts: 1 })
    expect((await store.current())?.metadata).toMatchObject({ access_token: token })
    // Another process, or the next start.
    expect(await start(store).get(never)).toMatchObject({ value: token, direct: true })
    expect({ exchanges: exchanges.count, accounts: accounts.count }).toEqual({ exchanges: count, accounts: 1 })
  })

  test('a gho_ token that GitHub does exchange is exchanged', async () => {
    answerExchanges(granted)
    const token = await start(memory({ github_access_token: 'gho_example' })).get(never)
    expect(token).toMatchObject({ value: 'tid=1' })
    expect(token).not.toHaveProperty('direct')
  })

  test('any, where copilot.auth says so; a stored Copilot token is left aside, and used again afterwards', async () => {
    const exchanges = answerExchanges(granted)
    answerAccounts(named)
    const store = memory(stored(0))
    expect(await start(store, { auth: 'direct' }).get(never)).toMatchObject({
      value: 'ghu_example',
      direct: true,
      candidates: ['https://api.business.githubcopilot.com', 'https://api.githubcopilot.com'],
    })
    expect(exchanges.count).toBe(0)
    expect((await store.current())?.metadata).not.toHaveProperty('expires_at')
    expect(await start(store).get(never)).toMatchObject({ value: 'tid=1' })
  })

  test('works from the environment, and a classic one is refused unsent', async () => {
    answerExchanges(unknown)
    const accounts = answerAccounts(unknown)
    expect(await start(memory(), { githubToken: 'gho_environment' }).get(never)).toMatchObject({
      value: 'gho_environment',
      direct: true,
    })
    for (const auth of ['direct', 'exchange'] as const) {
      expect(await faultOf(start(memory(), { githubToken: 'ghp_environment', auth }).get(never))).toMatchObject({
        kind: 'copilot_unavailable',
        detail: 'A classic personal access token (ghp_…) cannot be used for Copilot.',
        fix: expect.stringMatching(/^Set COPILOT_GITHUB_TOKEN to a fine-grained token/),
      })
    }
    expect(accounts.count).toBe(1)
  })

  test('does not end, and its host is looked up again after a day, whatever comes of that', async () => {
    const accounts = answerAccounts((n) => (n === 1 ? named() : HttpResponse.error()))
    const source = start(memory(), { auth: 'direct' })
    await source.get(never)
    clock.advance(23 * 60 * MINUTE)
    await source.get(never)
    expect(accounts.count).toBe(1)
    for (let hour = 0; hour < 48; hour += 1) {
      clock.advance(60 * MINUTE)
      expect(await source.get(never)).toMatchObject({ value: 'ghu_example' })
    }
    expect(accounts.count).toBeGreaterThan(2)
  })

  test('needs a new login once Copilot and GitHub both refuse it, and not where GitHub still takes it', async () => {
    const accounts = answerAccounts((n) => (n < 3 ? named() : revoked()))
    const source = start(memory(), { auth: 'direct' })
    await source.get(never)
    expect(await source.replace('ghu_example', never)).toMatchObject({ value: 'ghu_example' })
    expect(await source.replace('ghu_example', never)).toMatchObject({ value: 'ghu_example' })
    expect(accounts.count).toBe(2)
    clock.advance(MINUTE)
    expect(await faultOf(source.replace('ghu_example', never))).toMatchObject({
      kind: 'copilot_unavailable',
      fix: 'Run: copilot-proxy login',
    })
    clock.advance(60 * MINUTE)
    expect(await faultOf(source.get(never))).toMatchObject({ kind: 'copilot_unavailable' })
    expect(accounts.count).toBe(3)
  })

  test('is not asked about after a 402 or 403, which a token has no part in', async () => {
    const accounts = answerAccounts(named)
    const source = start(memory(), { auth: 'direct' })
    await source.get(never)
    clock.advance(10 * MINUTE)
    source.renewBeforeNext('ghu_example')
    await source.get(never)
    expect(accounts.count).toBe(1)
  })
})

describe('what is stored changes', () => {
  test('nobody is logged in, somebody logs in, somebody logs out', async () => {
    const exchanges = answerExchanges(granted)
    const store = createMemoryRecordStore(copilotRecordKind, [])
    const source = start(store)
    expect(source.status()).toMatchObject({ state: 'starting' })
    expect(await faultOf(source.get(never))).toEqual({
      kind: 'copilot_unavailable',
      detail: 'Not logged in to GitHub Copilot',
      fix: 'Run: copilot-proxy login',
    })
    expect(source.status()).toMatchObject({ state: 'login_required' })
    await store.write(exampleRecord())
    expect(await source.get(never)).toMatchObject({ value: 'tid=1', recordId: 'copilot-octocat' })
    await store.remove('copilot-octocat')
    expect(await faultOf(source.get(never))).toMatchObject({ fix: 'Run: copilot-proxy login' })
    expect(exchanges.count).toBe(1)
  })

  test('listeners hear of a new account and of new base URLs, not of a mere refresh', async () => {
    answerExchanges(granted)
    const store = memory()
    const source = start(store)
    const heard: (CopilotToken | undefined)[] = []
    const stop = source.onChange((token) => heard.push(token))
    await source.get(never)
    clock.advance(1450_000)
    await source.get(never)
    expect(heard.map((token) => token?.value)).toEqual(['tid=1'])

    const edited = await store.update('copilot-octocat', (record) => ({
      ...record,
      attributes: { base_url: 'http://127.0.0.1:4199' },
    }))
    await vi.waitFor(() => expect(heard).toHaveLength(2))
    expect(heard[1]?.candidates).toEqual(['http://127.0.0.1:4199', 'https://api.githubcopilot.com'])

    await store.write({
      ...exampleRecord({ ...stored(0, 'tid=second'), logged_in_at: 1_900_000_000 }),
      id: 'copilot-second',
    })
    await vi.waitFor(() => expect(heard).toHaveLength(3))
    expect(await source.get(never)).toMatchObject({ value: 'tid=second', recordId: 'copilot-second' })

    stop()
    await store.remove('copilot-second')
    await vi.waitFor(async () => expect(await source.get(never)).toMatchObject({ recordId: edited?.id }))
    expect(heard).toHaveLength(3)
  })

  test('listeners hear once that nobody is logged in, at the start and after a logout', async () => {
    answerExchanges(granted)
    const store = createMemoryRecordStore(copilotRecordKind, [])
    const source = start(store)
    const heard: (string | undefined)[] = []
    source.onChange((token) => heard.push(token?.value))
    await faultOf(source.get(never))
    await faultOf(source.get(never))
    expect(heard).toEqual([undefined])
    await store.write(exampleRecord())
    await source.get(never)
    await store.remove('copilot-octocat')
    await faultOf(source.get(never))
    await faultOf(source.get(never))
    expect(heard).toEqual([undefined, 'tid=1', undefined])
  })

  test('a token refreshed by another process is taken over instead of an exchange', async () => {
    const exchanges = answerExchanges(granted)
    const store = memory(stored(1300))
    const source = start(store)
    await source.get(never)
    clock.advance(200_000)
    // The other process was faster: its token is there once we hold the lock, not when we looked first.
    const current = await store.current()
    const racing: RecordStore<CopilotRecord> = {
      ...store,
      current: async () => current,
      update: (_id, change) =>
        store.update('copilot-octocat', (record, ...rest) =>
          change({ ...record, metadata: { ...record.metadata, ...stored(1, 'tid=theirs') } }, ...rest),
        ),
    }
    expect(await start(racing).get(never)).toMatchObject({ value: 'tid=theirs' })
    expect(exchanges.count).toBe(0)
  })

  test('a change during a background read of the store is not missed', async () => {
    const inner = memory(stored(0))
    const { store, holdNext } = slowToRead(inner)
    const source = start(store)
    await source.get(never)
    const second = new Promise<CopilotToken | undefined>((resolve) => source.onChange(resolve))
    const release = holdNext()
    await inner.write(exampleRecord({ ...stored(0), sku: 'edited' }))
    await new Promise((resolve) => setImmediate(resolve))
    const changed = { ...stored(0, 'tid=second'), logged_in_at: 1_900_000_000 }
    await inner.write(exampleRecord(changed, { id: 'copilot-second' }))
    release()
    expect(await second).toMatchObject({ value: 'tid=second' })
  })

  test('a rejection during a background read of the store still causes an exchange', async () => {
    answerExchanges(granted)
    const inner = memory(stored(0))
    const { store, holdNext } = slowToRead(inner)
    const source = start(store)
    await source.get(never)
    const release = holdNext()
    await inner.write(exampleRecord({ ...stored(0), sku: 'edited' }))
    await new Promise((resolve) => setImmediate(resolve))
    const replaced = source.replace('tid=stored', never)
    release()
    expect(await replaced).toMatchObject({ value: 'tid=1' })
  })

  test('a record removed while its lock was waited for means signed out', async () => {
    const store: RecordStore<CopilotRecord> = { ...memory(), update: async () => undefined }
    const fault = await faultOf(start(store).get(never))
    expect(fault).toMatchObject({ detail: 'Not logged in to GitHub Copilot' })
  })
})

const failing = (problem: 'busy' | 'unwritable', store: RecordStore<CopilotRecord>): RecordStore<CopilotRecord> => ({
  ...store,
  update: async (id, change) => {
    const error = new RecordStoreError(problem, `/home/example/${id}.json: made up`)
    if (problem === 'busy') throw error
    const record = (await store.read(id)) ?? exampleRecord()
    if ((await change(record, () => Promise.reject(error), undefined)) !== undefined) throw error
    return record
  },
})

describe('a store that fails', () => {
  test('a token that cannot be stored is used from memory, with a warning, and keeps what it learned', async () => {
    const api = 'https://api.business.githubcopilot.com'
    const exchanges = answerExchanges((n) => granted(n, { endpoints: { api } }))
    const store = memory()
    const source = start(failing('unwritable', store))
    expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
    expect(log.lines).toEqual([expect.stringContaining('could not be stored')])
    const base_url = 'https://api.enterprise.githubcopilot.com'
    await store.write(exampleRecord({}, { attributes: { base_url } }))
    await vi.waitFor(async () => {
      expect(await source.get(never)).toMatchObject({
        value: 'tid=1',
        candidates: [base_url, api, 'https://api.githubcopilot.com'],
      })
    })
    clock.advance(1450_000)
    expect(await source.get(never)).toMatchObject({
      value: 'tid=2',
      candidates: [base_url, api, 'https://api.githubcopilot.com'],
    })
    expect(exchanges.count).toBe(2)
  })

  test('C05 a token that could not be stored is stored as soon as possible, logged once, and overwrites no other login', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    answerExchanges(granted)
    const store = memory()
    let isFull = true
    const disk: RecordStore<CopilotRecord> = {
      ...store,
      update: (...args) => (isFull ? failing('unwritable', store) : store).update(...args),
    }
    const source = start(disk)
    expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
    clock.advance(1450_000)
    expect(await source.get(never)).toMatchObject({ value: 'tid=2' })
    expect(log.lines.filter((line) => line.startsWith('warn'))).toEqual([
      expect.stringContaining('could not be stored'),
    ])
    vi.advanceTimersByTime(30_000)
    expect((await store.current())?.metadata).not.toHaveProperty('access_token')

    isFull = false
    await store.update('copilot-octocat', (record) => ({ ...record, label: 'edited' }))
    vi.advanceTimersByTime(30_000)
    await vi.waitFor(async () => expect((await store.current())?.metadata.access_token).toBe('tid=2'))
    expect(await store.current()).toMatchObject({ label: 'edited' })
    expect(log.lines.at(-1)).toMatch(/^info .*is stored now/)
    vi.useRealTimers()
  })

  test('C05 a token that could not be stored is no other login’s', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    answerExchanges(granted)
    const store = memory()
    let isFull = true
    const disk: RecordStore<CopilotRecord> = {
      ...store,
      update: (...args) => (isFull ? failing('unwritable', store) : store).update(...args),
    }
    const source = start(disk)
    await source.get(never)
    isFull = false
    await store.write(exampleRecord({ logged_in_at: 1_800_000_000 }))
    vi.advanceTimersByTime(30_000)
    await vi.waitFor(async () => expect((await store.current())?.metadata.access_token).toBe('tid=2'))
    expect(log.lines.join('\n')).not.toContain('is stored now')
    vi.useRealTimers()
  })

  test('a lock that cannot be taken is a temporary failure, whose message has no path', async () => {
    const exchanges = answerExchanges(granted)
    const source = start(failing('busy', memory()))
    const fault = await faultOf(source.get(never))
    expect(fault).toMatchObject({ kind: 'copilot_unavailable', retryAfterSeconds: 1 })
    expect(JSON.stringify(fault)).not.toContain('/home')
    expect(source.status()).toMatchObject({ state: 'unreachable' })
    expect(exchanges.count).toBe(0)
  })

  test('a record that cannot be read for a while does not take a good token away', async () => {
    answerExchanges(granted)
    const store = memory()
    let broken = false
    const source = start({
      ...store,
      current: async () => {
        if (broken) throw new RecordStoreError('unreadable', 'made up')
        return store.current()
      },
    })
    await source.get(never)
    broken = true
    await store.write(exampleRecord({ login: 'edited' }))
    await vi.waitFor(() => expect(source.status().detail).toContain('cannot be read'))
    expect(await source.get(never)).toMatchObject({ value: 'tid=1' })
    broken = false
    await store.write(exampleRecord({ login: 'again' }))
    await vi.waitFor(() => expect(source.status()).toMatchObject({ detail: 'Logged in', login: 'again' }))
  })

  test('a request does not settle for a background read of a half-written record', async () => {
    const inner = memory(stored(600))
    const [looking, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let isThere = false
    const source = start({
      ...inner,
      current: async (how) => {
        if (!isThere) return undefined
        if (how?.leaveCorrupt !== true) return inner.current()
        looking.resolve()
        await looked.promise
        throw new RecordStoreError('unreadable', 'made up')
      },
    })
    await faultOf(source.get(never))
    isThere = true
    await inner.write(exampleRecord(stored(600)))
    await looking.promise
    const got = source.get(never)
    looked.resolve()
    expect(await got).toMatchObject({ value: 'tid=stored' })
  })

  test('one that cannot be read from the start says so', async () => {
    const store: RecordStore<CopilotRecord> = {
      ...memory(),
      current: async () => {
        throw new RecordStoreError('unreadable', '/home/example: made up')
      },
    }
    const source = start(store)
    expect(await faultOf(source.get(never))).toMatchObject({ detail: 'The stored login cannot be read' })
    expect(source.status()).toMatchObject({ state: 'unreadable' })
  })
})

describe('closing', () => {
  test('cancels an exchange under way, and waiting callers get an error', async () => {
    const asked = Promise.withResolvers<void>()
    answerExchanges(() => {
      asked.resolve()
      return new Promise(() => {})
    })
    const source = start(memory())
    const waiting = faultOf(source.get(never))
    await asked.promise
    await source.close()
    expect(await waiting).toEqual({ kind: 'shutting_down' })
    expect(await faultOf(source.get(never))).toEqual({ kind: 'shutting_down' })
    expect(await faultOf(source.replace('tid=1', never))).toEqual({ kind: 'shutting_down' })
  })
})

describe('with records as files', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-token-'))
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  test('two sources on one folder that expire together make one exchange', async () => {
    const exchanges = answerExchanges(granted)
    await createRecordStore({ kind: copilotRecordKind, dir, log }).write(exampleRecord(stored(100_000)))
    const one = start(createRecordStore({ kind: copilotRecordKind, dir, log }))
    const two = start(createRecordStore({ kind: copilotRecordKind, dir, log }))
    const tokens = await Promise.all([one.get(never), two.get(never)])
    expect(tokens.map((token) => token.value)).toEqual(['tid=1', 'tid=1'])
    expect(exchanges.count).toBe(1)
  })

  test('a login in another process is picked up without a restart', async () => {
    answerExchanges(granted)
    const elsewhere = createRecordStore({ kind: copilotRecordKind, dir, log })
    await elsewhere.write(exampleRecord(stored(0)))
    const source = start(createRecordStore({ kind: copilotRecordKind, dir, log, watchEveryMs: 10 }))
    expect(await source.get(never)).toMatchObject({ value: 'tid=stored' })
    const changed = new Promise<CopilotToken | undefined>((resolve) => source.onChange(resolve))
    await elsewhere.write(
      exampleRecord({ ...stored(0, 'tid=second'), logged_in_at: 1_900_000_000 }, { id: 'copilot-second' }),
    )
    expect(await changed).toMatchObject({ value: 'tid=second', recordId: 'copilot-second' })
    expect((await readdir(dir)).toSorted()).toEqual(['copilot-octocat.json', 'copilot-second.json'])
  })
})
