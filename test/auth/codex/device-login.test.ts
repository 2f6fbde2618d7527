import { describe, expect, test } from 'vitest'
import {
  finishCodexDeviceLogin,
  startCodexDeviceLogin,
  type CodexDeviceOutcome,
} from '../../../src/auth/codex/login.ts'
import type { DeviceCode, DevicePollDeps } from '../../../src/auth/device-poll.ts'
import { manualClock } from '../support.ts'
import { openIssuer, type Answer, type Asked } from './issuer.ts'

const never = new AbortController().signal
const startPath = '/api/accounts/deviceauth/usercode'
const pollPath = '/api/accounts/deviceauth/token'

/** Sleeping moves the clock: a whole flow takes no time, and the pauses can be read off. */
function setUp(): { deps: DevicePollDeps; pausesMs: number[]; nowMs: () => number } {
  const clock = manualClock()
  const pausesMs: number[] = []
  const deps: DevicePollDeps = {
    fetch,
    timeoutMs: 5_000,
    now: clock.now,
    sleep: async (ms) => {
      pausesMs.push(ms)
      clock.advance(ms)
    },
  }
  return { deps, pausesMs, nowMs: clock.now }
}

async function ask(answer: Answer) {
  const { deps, nowMs } = setUp()
  const issuer = await openIssuer({ [startPath]: [answer] })
  const outcome = await startCodexDeviceLogin(deps, { issuer: issuer.url, clientId: 'example-client' }, never)
  return { outcome, issuer, nowMs }
}

describe('asking for a code', () => {
  test('sends the client id as JSON and gives the code, the page of the issuer and the deadline', async () => {
    const { outcome, issuer, nowMs } = await ask({
      body: { device_auth_id: 'example-device-auth', user_code: 'ABCD-12345', interval: '7' },
    })
    expect(outcome).toEqual({
      kind: 'started',
      code: {
        userCode: 'ABCD-12345',
        verificationUri: `${issuer.url}/codex/device`,
        expiresAtMs: nowMs() + 15 * 60_000,
        intervalSeconds: 7,
        deviceCode: 'example-device-auth',
      },
    })
    expect(issuer.asked).toEqual([
      { path: startPath, type: 'application/json', body: JSON.stringify({ client_id: 'example-client' }) },
    ])
  })

  test('knows the other name of the code', async () => {
    const { outcome } = await ask({ body: { device_auth_id: 'x', usercode: 'ABCD-12345' } })
    expect(outcome).toMatchObject({ kind: 'started', code: { userCode: 'ABCD-12345' } })
  })

  test.each([
    ['"5"', '5', 5],
    ['"1"', '1', 1],
    ['3', 3, 3],
    ['0', 0, 5],
    ['-2', -2, 5],
    ['nothing', undefined, 5],
    ['null', null, 5],
    ['"soon"', 'soon', 5],
    ['a list', [], 5],
  ])('an interval of %s means polling every so many seconds', async (_what, interval, seconds) => {
    const { outcome } = await ask({ body: { device_auth_id: 'x', user_code: 'ABCD-12345', interval } })
    expect(outcome).toMatchObject({ code: { intervalSeconds: seconds } })
  })

  test('404 means that there is no such login', async () => {
    expect((await ask({ status: 404, body: { error: 'not found' } })).outcome).toEqual({ kind: 'not_offered' })
  })

  test.each<[string, Answer, string]>([
    ['a refusal', { status: 403, body: { error: { message: 'Not from here' } } }, 'OpenAI answered 403: Not from here'],
    ['an OAuth error', { status: 400, body: { error: 'invalid_client' } }, 'OpenAI answered 400: invalid_client'],
    ['a reply of another shape', { body: [] }, 'OpenAI answered 200 with an unexpected reply'],
    ['a web page', { status: 403, body: '<html>Just a moment' }, 'Got a web page instead of OpenAI’s answer'],
    ['no code', { body: { device_auth_id: 'x' } }, 'cannot be shown'],
    ['a code that repaints', { body: { device_auth_id: 'x', user_code: '\u001B[2JABCD' } }, 'cannot be shown'],
    [
      'a redirect',
      { status: 307, body: '', headers: { location: 'https://elsewhere.example' } },
      'answered with a redirect',
    ],
    ['too much', { body: 'x'.repeat(2_000_000) }, 'too large'],
  ])('reports %s', async (_what, answer, words) => {
    expect((await ask(answer)).outcome).toEqual({ kind: 'failed', detail: expect.stringContaining(words) })
  })

  test('an abort is its own outcome', async () => {
    const { deps } = setUp()
    const issuer = await openIssuer({})
    expect(await startCodexDeviceLogin(deps, { issuer: issuer.url, clientId: 'x' }, AbortSignal.abort())).toEqual({
      kind: 'aborted',
    })
  })
})

const pending403: Answer = { status: 403, body: { error: { code: 'deviceauth_authorization_unknown' } } }
const pending404: Answer = { status: 404, body: '' }
const granted: Answer = {
  body: { authorization_code: 'example-code', code_challenge: 'x', code_verifier: 'example-verifier' },
}
const tokens: Answer = { body: { access_token: 'example-access', refresh_token: 'example-refresh' } }

interface Polled {
  readonly outcome: CodexDeviceOutcome
  readonly pausesMs: readonly number[]
  readonly asked: readonly Asked[]
  readonly issuer: string
}

async function poll(polls: readonly Answer[], change: Partial<DeviceCode> = {}, exchange = tokens): Promise<Polled> {
  const { deps, pausesMs, nowMs } = setUp()
  const { url: issuer, asked } = await openIssuer({ [pollPath]: polls, '/oauth/token': [exchange] })
  const code: DeviceCode = {
    userCode: 'ABCD-12345',
    verificationUri: `${issuer}/codex/device`,
    expiresAtMs: nowMs() + 15 * 60_000,
    intervalSeconds: 5,
    deviceCode: 'example-device-auth',
    ...change,
  }
  const outcome = await finishCodexDeviceLogin(deps, { issuer, clientId: 'example-client' }, code, never)
  return { outcome, pausesMs, asked, issuer }
}

describe('waiting for the person', () => {
  test('403 and 404 both mean not yet; then the code is redeemed with the verifier of the issuer', async () => {
    const { outcome, pausesMs, asked, issuer } = await poll([pending403, pending404, pending403, granted])
    expect(outcome).toEqual({
      kind: 'authorized',
      tokens: { accessToken: 'example-access', refreshToken: 'example-refresh' },
    })
    expect(pausesMs).toEqual([5000, 5000, 5000, 5000])
    expect(asked.slice(0, 4)).toEqual(
      Array.from({ length: 4 }, () => ({
        path: pollPath,
        type: 'application/json',
        body: JSON.stringify({ device_auth_id: 'example-device-auth', user_code: 'ABCD-12345' }),
      })),
    )
    expect(Object.fromEntries(new URLSearchParams(asked[4]?.body))).toEqual({
      grant_type: 'authorization_code',
      client_id: 'example-client',
      code: 'example-code',
      redirect_uri: `${issuer}/deviceauth/callback`,
      code_verifier: 'example-verifier',
    })
  })

  test.each<[string, Answer]>([
    ['a server that is down', { status: 503, body: 'busy' }],
    ['a reply without a code', { body: {} }],
    ['the sign-in page of a network', { body: '<html>Guest network' }],
    ['a time limit of the server', { status: 408, body: '' }],
  ])('%s is no answer: it goes on', async (_what, answer) => {
    const { outcome, pausesMs } = await poll([answer, granted])
    expect(outcome).toMatchObject({ kind: 'authorized' })
    expect(pausesMs).toEqual([5000, 5000])
  })

  test('after 429 it asks less often', async () => {
    const { pausesMs } = await poll([{ status: 429, body: '' }, pending403, granted])
    expect(pausesMs).toEqual([5000, 10_000, 10_000])
  })

  test('a lost network is no answer', async () => {
    const { deps, pausesMs, nowMs } = setUp()
    const code = {
      userCode: 'ABCD-12345',
      verificationUri: '',
      expiresAtMs: nowMs() + 12_000,
      intervalSeconds: 5,
      deviceCode: 'x',
    }
    const outcome = await finishCodexDeviceLogin(deps, { issuer: 'http://127.0.0.1:1', clientId: 'x' }, code, never)
    expect(outcome).toEqual({ kind: 'expired', detail: expect.stringContaining('Could not reach 127.0.0.1:1') })
    expect(pausesMs).toEqual([5000, 5000, 2000])
  })

  test('ends after 15 minutes, and never polls after them', async () => {
    const { outcome, pausesMs, asked } = await poll([pending403])
    expect(outcome).toEqual({ kind: 'expired', detail: '' })
    expect(pausesMs.reduce((sum, ms) => sum + ms, 0)).toBe(15 * 60_000)
    expect(asked).toHaveLength(180)
  })

  test('names what stood in the way when only web pages came back', async () => {
    const { outcome } = await poll([{ status: 403, body: '<!doctype html><title>Just a moment</title>' }])
    expect(outcome).toEqual({ kind: 'expired', detail: expect.stringContaining('Got a web page') })
  })

  test.each<[string, Answer, string]>([
    [
      'a refusal',
      { status: 400, body: { error: { message: 'No code ABCD-12345 of example-device-auth' } } },
      'OpenAI answered 400: No code [redacted] of [redacted]',
    ],
    [
      'a redirect',
      { status: 302, body: '', headers: { location: 'https://elsewhere.example' } },
      'answered with a redirect',
    ],
  ])('%s ends it', async (_what, answer, words) => {
    const { outcome, asked } = await poll([answer])
    expect(outcome).toEqual({ kind: 'failed', detail: expect.stringContaining(words) })
    expect(asked).toHaveLength(1)
  })

  test('a code that cannot be redeemed is a failure whose message has no code and no verifier', async () => {
    const refused = {
      status: 400,
      body: { error: 'invalid_grant', error_description: 'example-code example-verifier' },
    }
    const { outcome, asked } = await poll([granted], {}, refused)
    expect(outcome).toMatchObject({ kind: 'failed' })
    expect(JSON.stringify(outcome)).not.toMatch(/example-/)
    expect(asked).toHaveLength(2)
  })

  test('Ctrl-C ends it at once, also during a wait', async () => {
    const { deps, nowMs } = setUp()
    const ctrlC = new AbortController()
    const sleep: DevicePollDeps['sleep'] = async (_ms, signal) => {
      ctrlC.abort()
      signal.throwIfAborted()
    }
    const issuer = await openIssuer({})
    const code = {
      userCode: 'ABCD-12345',
      verificationUri: '',
      expiresAtMs: nowMs() + 60_000,
      intervalSeconds: 5,
      deviceCode: 'x',
    }
    const options = { issuer: issuer.url, clientId: 'x' }
    expect(await finishCodexDeviceLogin({ ...deps, sleep }, options, code, ctrlC.signal)).toEqual({ kind: 'aborted' })
    expect(issuer.asked).toEqual([])
  })
})
