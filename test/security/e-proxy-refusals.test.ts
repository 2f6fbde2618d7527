import { createServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { judgeNetwork, judgeTls } from '../../src/commands/doctor/machine-checks.ts'
import { probe } from '../../src/commands/doctor/probe.ts'
import { createPool } from '../../src/executors/connection-pool.ts'
import { openProxy } from '../http/harness.ts'
import { createAuthority, createCertificate } from '../tls-certificate.ts'
import { openConnectProxy } from '../upstreams/connect-proxy.ts'
import { listenForTest } from '../listen-for-test.ts'

const authority = createAuthority()
const usual = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([...usual, authority.cert]))
afterAll(() => setDefaultCACertificates(usual))

const host = 'copilot.githubcopilot.com'
const agoMs = (days: number): Date => new Date(Date.now() - days * 86_400_000)

/** The answer to CONNECT. */
const answers = (status: string, ...headers: readonly string[]) => ({
  head: [`HTTP/1.1 ${status}`, ...headers, 'content-length: 0', '', ''].join('\r\n'),
})
const local = /Px or Cntlm/
const basic = 'Proxy-Authenticate: Basic realm="a, b"'

type Row = readonly [
  what: string,
  options: Parameters<typeof openConnectProxy>[1],
  login: string,
  reason: RegExp,
  fix: RegExp,
]

const rows: readonly Row[] = [
  [
    'asks for NTLM',
    answers('407 x', 'Proxy-Authenticate: Negotiate', 'Proxy-Authenticate: NTLM'),
    '',
    local,
    /^Start such a local proxy/,
  ],
  [
    'asks for NTLM in one header',
    answers('407 x', 'Proxy-Authenticate: Negotiate, NTLM'),
    'ursula:pw@',
    local,
    /^Start such/,
  ],
  [
    'asks for Digest',
    answers('407 x', 'Proxy-Authenticate: Digest realm="x", qop="auth"'),
    '',
    /by Digest, which/,
    /^Start such/,
  ],
  [
    'takes Basic too',
    answers('407 x', 'Proxy-Authenticate: NTLM', basic),
    'ursula:pw@',
    /407: its login is wrong/,
    /^Correct the login of the proxy in HTTPS_PROXY/,
  ],
  [
    'gets no login',
    answers('407 x', basic),
    '',
    /407: its login is missing/,
    /^Add the login of the proxy to HTTPS_PROXY/,
  ],
  ['names no kind of login', answers('407 x'), 'ursula:pw@', /407: its login is wrong/, /^Correct the login/],
  [
    'forbids the host',
    answers('403 Forbidden', 'content-type: text/html'),
    '',
    /answered 403 and opened no connection/,
    /^Ask the administrator of the proxy/,
  ],
  [
    'wants a person to log in',
    answers('302 Found', 'location: http://login.example/'),
    '',
    /answered 302/,
    /^Ask the administrator/,
  ],
  [
    'does not speak HTTP',
    { head: 'SSH-2.0-OpenSSH_9.2\r\n\r\n' },
    '',
    /failed: its answer is not HTTP/,
    /^Set HTTPS_PROXY to a working proxy/,
  ],
  [
    'closes the connection',
    { head: '' },
    '',
    /failed: the (?:HTTP proxy closed the connection|connection was closed)/,
    /^Set HTTPS_PROXY/,
  ],
  [
    'has a certificate that nobody trusts',
    { certificate: createCertificate({}) },
    '',
    /failed: its certificate is not trusted/,
    /^If it is the proxy of your company, trust its certificate/,
  ],
  [
    'has a certificate for another host',
    { certificate: createCertificate({ authority, hosts: ['b.example'] }) },
    '',
    /failed: its certificate is for another host/,
    /^Set HTTPS_PROXY/,
  ],
  [
    'has an expired certificate',
    { certificate: createCertificate({ authority, notBefore: agoMs(9), notAfter: agoMs(2) }) },
    '',
    /failed: its certificate has expired/,
    /^Set HTTPS_PROXY/,
  ],
]

describe('a proxy that', () => {
  test.each(rows)('%s is named with its reason: answer, log and doctor', async (_what, options, login, reason, fix) => {
    const { address } = await openConnectProxy({}, options)
    const origin = `${options?.certificate === undefined ? 'http' : 'https'}://${address}`
    const env = { HTTPS_PROXY: origin.replace('://', `://${login}`) }

    const settings = { COPILOT_PROXY_COPILOT_BASE_URL: `https://${host}` }
    const proxy = await openProxy({ settings, proxies: env })
    const reply = await proxy.chat()
    expect(reply.status).toBe(502)
    expect(reply.text).toContain(`the HTTP proxy ${origin}`)
    expect(reply.text).toMatch(reason)
    const logged = JSON.stringify(proxy.log)
    expect(logged).toContain(`the HTTP proxy ${origin}`)
    expect(logged).toMatch(reason)

    const pool = createPool({ connectMs: 10_000, env })
    onTestFinished(pool.destroy)
    const deps = { pool, env, now: Date.now, timeoutMs: 20_000 }
    const probed = await probe(deps, `https://${host}`, new AbortController().signal)
    // The host is not to blame for the certificate of the proxy.
    expect(judgeTls([probed], 'linux')).toMatchObject([{ status: 'skipped' }])
    const [finding] = judgeNetwork([probed], 'linux')
    expect(finding).toMatchObject({ status: 'failed', fix: expect.stringMatching(fix) })
    expect(finding.detail).toContain(`Cannot reach ${host} through the proxy ${origin} (HTTPS_PROXY)`)
    expect(finding.detail.replace('the proxy failed', 'failed')).toMatch(reason)
    expect(finding.detail.split(origin)).toHaveLength(2)
    expect(reply.text + logged + finding.detail).not.toMatch(/ursula|pw@/)
  })
})

test('an upstream that does not speak HTTP is named as such', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.2\r\n\r\n')
  })
  const port = await listenForTest(server)
  const proxy = await openProxy({ settings: { COPILOT_PROXY_COPILOT_BASE_URL: `http://127.0.0.1:${port}` } })
  expect((await proxy.chat()).text).toContain('its reply is not valid HTTP')
})
