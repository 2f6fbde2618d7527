import { http, HttpResponse } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { DeviceCode } from '../../../src/auth/device-poll.ts'
import { pollForToken, startDeviceFlow } from '../../../src/auth/copilot/login.ts'
import type { DevicePollDeps } from '../../../src/auth/device-poll.ts'
import { fixture, lateFetch, manualClock } from '../support.ts'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const options = { githubBaseUrl: 'https://github.com', clientId: 'example-client', scope: 'read:user' }
const never = new AbortController().signal

/** Sleeping moves the clock: a whole flow takes no time, and the pauses can be read off. */
function setUp(): { deps: DevicePollDeps; pausesMs: number[]; code: DeviceCode } {
  const clock = manualClock()
  const pausesMs: number[] = []
  const deps: DevicePollDeps = {
    fetch: lateFetch,
    timeoutMs: 30_000,
    now: clock.now,
    sleep: async (ms) => {
      pausesMs.push(ms)
      clock.advance(ms)
    },
  }
  const code: DeviceCode = {
    userCode: 'ABCD-1234',
    verificationUri: 'https://github.com/login/device',
    expiresAtMs: clock.now() + 899_000,
    intervalSeconds: 5,
    deviceCode: 'example-device-code',
  }
  return { deps, pausesMs, code }
}

type Answer = () => Response | Promise<Response>
const json =
  (name: string): Answer =>
  () =>
    HttpResponse.json(fixture(name))

/** Answers polls in order; the last answer repeats. Returns the bodies received. */
function answerPolls(...answers: readonly Answer[]): unknown[] {
  const bodies: unknown[] = []
  server.use(
    http.post('https://github.com/login/oauth/access_token', async ({ request }) => {
      bodies.push(await request.json())
      const answer = answers[Math.min(bodies.length, answers.length) - 1]
      return answer?.() ?? HttpResponse.error()
    }),
  )
  return bodies
}

describe('C20 asking for a code', () => {
  const answerStart = (answer: Answer): void =>
    server.use(http.post('https://github.com/login/device/code', () => answer()))

  test('sends client id and scope as JSON and gives the code, the page and the deadline', async () => {
    const { deps, code } = setUp()
    let received: unknown
    server.use(
      http.post('https://github.com/login/device/code', async ({ request }) => {
        received = { body: await request.json(), accept: request.headers.get('accept') }
        return HttpResponse.json(fixture('device-code'))
      }),
    )
    expect(await startDeviceFlow(deps, options, never)).toEqual({ kind: 'started', code })
    expect(received).toEqual({
      body: { client_id: 'example-client', scope: 'read:user' },
      accept: 'application/json',
    })
  })

  test('reads a form-encoded reply', async () => {
    const { deps, code } = setUp()
    answerStart(
      () =>
        new HttpResponse(
          'device_code=example-device-code&expires_in=899&interval=5&user_code=ABCD-1234&verification_uri=https%3A%2F%2Fgithub.com%2Flogin%2Fdevice',
        ),
    )
    expect(await startDeviceFlow(deps, options, never)).toEqual({ kind: 'started', code })
  })

  test.each([
    [0, 5],
    [-3, 5],
    [null, 5],
    [30, 30],
  ])('an interval of %s means polling every %i s', async (interval, seconds) => {
    const { deps } = setUp()
    answerStart(() => HttpResponse.json({ ...fixture('device-code'), interval }))
    expect(await startDeviceFlow(deps, options, never)).toMatchObject({ code: { intervalSeconds: seconds } })
  })

  test.each([
    'https://github.com.evil.example/login/device',
    'https://evil.example/login/device',
    'https://user@github.com/login/device',
    'https://evil.example\\@github.com/login/device',
    'http://github.com/login/device',
    'https://github.com:8443/login/device',
    'https://api.github.com/login/device',
    'javascript:alert(1)',
    'github.com/login/device',
  ])('refuses the login page %s', async (verification_uri) => {
    const { deps } = setUp()
    answerStart(() => HttpResponse.json({ ...fixture('device-code'), verification_uri }))
    const outcome = await startDeviceFlow(deps, options, never)
    expect(outcome).toMatchObject({ kind: 'failed', detail: expect.stringContaining('not GitHub’s') })
    expect(JSON.stringify(outcome)).not.toContain('evil')
  })

  test('accepts a loopback page only from a loopback GitHub', async () => {
    const { deps } = setUp()
    server.use(
      http.post('http://127.0.0.1:4199/login/device/code', () =>
        HttpResponse.json({ ...fixture('device-code'), verification_uri: 'http://127.0.0.1:4199/login/device' }),
      ),
    )
    const local = { ...options, githubBaseUrl: 'http://127.0.0.1:4199' }
    expect(await startDeviceFlow(deps, local, never)).toMatchObject({ kind: 'started' })
  })

  test('refuses a code that a terminal should not print', async () => {
    const { deps } = setUp()
    answerStart(() => HttpResponse.json({ ...fixture('device-code'), user_code: '\u001B[2JABCD' }))
    expect(await startDeviceFlow(deps, options, never)).toMatchObject({ kind: 'failed' })
  })

  test.each([
    ['GitHub’s own refusal', json('poll-flow-disabled'), 'Device Flow must be explicitly enabled'],
    ['an HTML page', () => new HttpResponse('<html>busy</html>', { status: 502 }), 'status 502'],
    ['a lost network', () => HttpResponse.error(), 'Could not reach github.com'],
    [
      'the sign-in page of a network',
      () => HttpResponse.html('<!doctype html><title>Guest network</title>'),
      'Got a web page instead of GitHub’s answer (status 200). Possible causes: a sign-in page of this network',
    ],
    ['text that is nothing known', () => new HttpResponse('busy'), 'GitHub gave no login code (status 200)'],
    [
      'a redirect',
      () => new HttpResponse(null, { status: 302, headers: { location: 'https://evil.example/x?code=1' } }),
      'answered with a redirect to evil.example',
    ],
  ] satisfies [string, Answer, string][])('reports %s', async (_what, answer, words) => {
    const { deps } = setUp()
    answerStart(answer)
    expect(await startDeviceFlow(deps, options, never)).toEqual({
      kind: 'failed',
      detail: expect.stringContaining(words),
    })
  })

  test('an abort while the request is under way is its own outcome', async () => {
    const { deps } = setUp()
    const ctrlC = new AbortController()
    answerStart(() => {
      ctrlC.abort()
      return HttpResponse.json(fixture('device-code'))
    })
    expect(await startDeviceFlow(deps, options, ctrlC.signal)).toEqual({ kind: 'aborted' })
  })

  test('a server that never answers is given up after the time limit', async () => {
    const { deps } = setUp()
    answerStart(() => new Promise(() => {}))
    expect(await startDeviceFlow({ ...deps, timeoutMs: 20 }, options, never)).toEqual({
      kind: 'failed',
      detail: 'No answer from github.com within 0.02 s',
    })
  })
})

describe('C20 polling', () => {
  test('waits the interval and a second between polls until the person has agreed', async () => {
    const { deps, pausesMs, code } = setUp()
    const bodies = answerPolls(json('poll-pending'), json('poll-pending'), json('poll-authorized'))
    expect(await pollForToken(deps, options, code, never)).toEqual({ kind: 'authorized', githubToken: 'ghu_example' })
    expect(pausesMs).toEqual([6_000, 6_000, 6_000])
    expect(bodies[0]).toEqual({
      client_id: 'example-client',
      device_code: 'example-device-code',
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    })
  })

  test('slow_down sets the interval for all later polls, or adds five seconds where it names none', async () => {
    const { deps, pausesMs, code } = setUp()
    answerPolls(json('poll-slow-down'), json('poll-pending'), json('poll-slow-down-bare'), json('poll-authorized'))
    await pollForToken(deps, options, code, never)
    expect(pausesMs).toEqual([6_000, 13_000, 13_000, 18_000])
  })

  test.each([0, 1, 6, 10])('slow_down adds five seconds at least, also where it names %i', async (interval) => {
    const { deps, pausesMs, code } = setUp()
    answerPolls(() => HttpResponse.json({ error: 'slow_down', interval }), json('poll-authorized'))
    await pollForToken(deps, options, code, never)
    expect(pausesMs).toEqual([6_000, 11_000])
  })

  test.each([
    ['a 5xx with HTML', () => new HttpResponse('<html>unicorn</html>', { status: 503 })],
    ['a 5xx that looks like an error of the flow', () => HttpResponse.json(fixture('poll-denied'), { status: 500 })],
    ['HTML with 200', () => new HttpResponse('<html>welcome to the hotel</html>')],
    ['an empty body', () => new HttpResponse('')],
    ['a lost network', () => HttpResponse.error()],
    ['JSON that is no answer', () => HttpResponse.json([])],
    ['a token of the wrong type', () => HttpResponse.json({ access_token: 7 })],
  ] satisfies [string, Answer][])('goes on after %s', async (_what, answer) => {
    const { deps, pausesMs, code } = setUp()
    answerPolls(answer, json('poll-authorized'))
    expect(await pollForToken(deps, options, code, never)).toMatchObject({ kind: 'authorized' })
    expect(pausesMs).toEqual([6_000, 6_000])
  })

  test('slows down after 429', async () => {
    const { deps, pausesMs, code } = setUp()
    answerPolls(() => new HttpResponse('', { status: 429 }), json('poll-authorized'))
    await pollForToken(deps, options, code, never)
    expect(pausesMs).toEqual([6_000, 11_000])
  })

  test('continues after a poll that hangs', async () => {
    const { deps, code } = setUp()
    answerPolls(() => new Promise(() => {}), json('poll-authorized'))
    expect(await pollForToken({ ...deps, timeoutMs: 20 }, options, code, never)).toMatchObject({ kind: 'authorized' })
  })

  test.each([
    ['expired_token', json('poll-expired'), { kind: 'expired' }],
    ['access_denied', json('poll-denied'), { kind: 'denied' }],
    [
      'access_denied with status 400',
      () => HttpResponse.json(fixture('poll-denied'), { status: 400 }),
      { kind: 'denied' },
    ],
    [
      'device_flow_disabled',
      json('poll-flow-disabled'),
      { kind: 'failed', detail: 'Device Flow must be explicitly enabled for this App' },
    ],
    [
      'incorrect_client_credentials',
      json('poll-bad-client'),
      { kind: 'failed', detail: 'The client_id and/or client_secret passed are incorrect.' },
    ],
    [
      'incorrect_device_code without a description',
      () => HttpResponse.json({ error: 'incorrect_device_code' }),
      { kind: 'failed', detail: 'incorrect_device_code' },
    ],
    [
      'an error never seen before',
      () => HttpResponse.json({ error: 'brand_new' }),
      { kind: 'failed', detail: 'brand_new' },
    ],
    [
      'a token that no header can carry',
      () => HttpResponse.json({ access_token: 'ghu_example\r\nx: y' }),
      { kind: 'failed', detail: expect.not.stringContaining('ghu_example') },
    ],
    [
      'a redirect',
      () => new HttpResponse(null, { status: 307, headers: { location: 'https://evil.example/' } }),
      { kind: 'failed', detail: expect.stringContaining('answered with a redirect') },
    ],
  ] satisfies [string, Answer, unknown][])('ends at %s', async (_what, answer, outcome) => {
    const { deps, pausesMs, code } = setUp()
    answerPolls(answer)
    expect(await pollForToken(deps, options, code, never)).toEqual(outcome)
    expect(pausesMs).toHaveLength(1)
  })

  test('reads form-encoded answers', async () => {
    const { deps, pausesMs, code } = setUp()
    answerPolls(
      () => new HttpResponse('error=slow_down&error_description=Too+many&interval=20'),
      () => new HttpResponse('access_token=ghu_example&token_type=bearer&scope='),
    )
    expect(await pollForToken(deps, options, code, never)).toMatchObject({ githubToken: 'ghu_example' })
    expect(pausesMs).toEqual([6_000, 21_000])
  })

  test('ends when the code’s time is over, even while the network is down throughout', async () => {
    const { deps, pausesMs, code } = setUp()
    answerPolls(() => HttpResponse.error())
    expect(await pollForToken(deps, options, code, never)).toEqual({ kind: 'expired' })
    expect(pausesMs.reduce((sum, ms) => sum + ms, 0)).toBe(899_000)
  })

  test('Ctrl-C during a wait ends it at once, without another poll', async () => {
    const { deps, code } = setUp()
    const bodies = answerPolls(json('poll-pending'))
    const ctrlC = new AbortController()
    const sleep: DevicePollDeps['sleep'] = (_ms, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        queueMicrotask(() => ctrlC.abort())
      })
    expect(await pollForToken({ ...deps, sleep }, options, code, ctrlC.signal)).toEqual({ kind: 'aborted' })
    expect(bodies).toHaveLength(0)
  })

  test('Ctrl-C during a poll ends it at once', async () => {
    const { deps, code } = setUp()
    const ctrlC = new AbortController()
    answerPolls(() => {
      ctrlC.abort()
      return new Promise(() => {})
    })
    expect(await pollForToken(deps, options, code, ctrlC.signal)).toEqual({ kind: 'aborted' })
  })
})
