import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCli } from '../cli/cli.ts'
import { createUser, openGithub } from '../commands/harness.ts'
import { bodyOfPrompt } from '../http/callers.ts'
import { openProxy } from '../http/harness.ts'
import { createAuthority, createCertificate } from '../tls-certificate.ts'
import { openTlsFront } from '../upstreams/tls-front.ts'
import { envelopeOf, expectUnharmed } from './unharmed.ts'
import { listenForTest } from '../listen-for-test.ts'

/** The one that this process trusts. */
const authority = createAuthority()
const usual = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([...usual, authority.cert]))
afterAll(() => setDefaultCACertificates(usual))

/** Opens a listener that passes each connection to `onSocket`. Returns its port. */
async function openListener(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onSocket(socket)
  })
  return listenForTest(server)
}

async function closedPort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

interface Away {
  readonly url: string
  /** Bytes of requests that it was sent. */
  readonly received: () => number
}

const nothing = (): number => 0
const hourMs = 3600_000

/** Upstreams that must get no request: the problem, the expected message, and the upstream. */
const faults: readonly (readonly [string, number, RegExp, () => Promise<Away>])[] = [
  [
    'the host name was not found',
    502,
    /host name was not found|could not be resolved/,
    // A label of 64 letters is none: the resolver says so without asking anybody.
    async () => ({ url: `https://${'a'.repeat(64)}.chatgpt.com`, received: nothing }),
  ],
  [
    'nobody listens',
    502,
    /was refused \(ECONNREFUSED\)/,
    async () => ({ url: `https://127.0.0.1:${await closedPort()}`, received: nothing }),
  ],
  [
    'its certificate has expired',
    502,
    /has expired/,
    () => front({ authority, notAfter: new Date(Date.now() - hourMs) }),
  ],
  [
    'its certificate is for another host',
    502,
    /for another host/,
    () => front({ authority, hosts: ['elsewhere.example'] }),
  ],
  ['it signed its certificate itself', 502, /not trusted/, () => front({})],
  [
    'its certificate is of an authority that nobody trusts',
    502,
    /not trusted; NODE_EXTRA_CA_CERTS must name/,
    () => front({ authority: createAuthority('Nobody') }),
  ],
  [
    'it does not speak TLS',
    502,
    /the TLS handshake failed/,
    async () => {
      const port = await openListener((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
      return { url: `https://127.0.0.1:${port}`, received: nothing }
    },
  ],
  [
    'it cuts the handshake',
    502,
    /was closed/,
    async () => ({
      url: `https://127.0.0.1:${await openListener((socket) => socket.once('data', () => socket.destroy()))}`,
      received: nothing,
    }),
  ],
  [
    'it accepts and never answers',
    504,
    /within 0\.3 s/,
    async () => ({ url: `https://127.0.0.1:${await openListener(() => {})}`, received: nothing }),
  ],
]

async function front(options: Parameters<typeof createCertificate>[0]): Promise<Away> {
  const port = await openListener((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
  return openTlsFront(port, createCertificate(options))
}

const shortConnect = 'copilot: { timeouts: { connect-seconds: 0.3 } }'

// The limit is a hang guard.
test.each(faults)(
  'E20 a Codex upstream is not asked when %s',
  { timeout: 20_000 },
  async (_what, status, words, open) => {
    const { url, received } = await open()
    const settings = { COPILOT_PROXY_CODEX_BASE_URL: url }
    const proxy = await openProxy({ codexLogin: 'stored', file: shortConnect, settings })
    for (const stream of [true, false]) {
      const body = bodyOfPrompt('responses', 'gpt-5.5', 'Hello', { stream })
      const reply = await proxy.send('/v1/responses', { body })
      expect(reply.status).toBe(status)
      expect(reply.json()).toEqual(envelopeOf('/v1/responses'))
      expect(reply.text).toMatch(words)
      await expectUnharmed(proxy, reply.text)
    }
    expect(received()).toBe(0)
  },
)

test.each(faults)(
  'E20 a Copilot upstream is not asked when %s',
  { timeout: 20_000 },
  async (_what, status, words, open) => {
    const { url, received } = await open()
    const settings = { COPILOT_PROXY_COPILOT_BASE_URL: url.replace('chatgpt.com', 'githubcopilot.com') }
    const proxy = await openProxy({ file: shortConnect, settings })
    for (const stream of [true, false]) {
      for (const [caller, path] of [
        ['chat', '/v1/chat/completions'],
        ['messages', '/v1/messages'],
      ] as const) {
        const reply = await proxy.send(path, { body: bodyOfPrompt(caller, 'gpt-4.1', 'Hello', { stream }) })
        expect(reply.status).toBe(status)
        expect(reply.json()).toEqual(envelopeOf(path))
        expect(reply.text).toMatch(words)
        await expectUnharmed(proxy, reply.text)
      }
    }
    expect(received()).toBe(0)
  },
)

test('E20 switching certificate checks off is warned of at the start', async () => {
  const { home } = await createUser()
  const env = { COPILOT_PROXY_HOME: home, NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  const cli = startCli(['serve', '--demo', '--port', '0'], env)
  await cli.seen('stdout', /listening on/)
  await cli.seen('stderr', /WARN NODE_TLS_REJECT_UNAUTHORIZED=0 turns off all certificate checks/)
  cli.child.kill('SIGTERM')
  expect((await cli.ended).code).toBe(0)
})

/** A user whose GitHub and Copilot speak TLS, with a certificate of `signer`. */
async function userOver(signer: ReturnType<typeof createAuthority>) {
  const github = await openGithub()
  const { url } = await openTlsFront(github.port, createCertificate({ authority: signer }))
  const user = await createUser()
  const file = join(user.home, 'company.pem')
  await writeFile(file, authority.cert)
  const env = {
    COPILOT_PROXY_HOME: user.home,
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: url,
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: url,
    COPILOT_PROXY_COPILOT_BASE_URL: url,
  }
  return { github, env, trusting: { ...env, NODE_EXTRA_CA_CERTS: file } }
}

async function askOnce(url: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: bodyOfPrompt('chat', 'gpt-4.1', 'Hello'),
  })
}

test('E21 an authority of NODE_EXTRA_CA_CERTS is trusted by login and serve', { timeout: 30_000 }, async () => {
  const { github, env, trusting } = await userOver(authority)
  const wary = startCli(['login', '--token-stdin'], env)
  wary.child.stdin?.end(github.tokens.issueGithub())
  const refused = await wary.ended
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('NODE_EXTRA_CA_CERTS')

  const login = startCli(['login', '--token-stdin'], trusting)
  login.child.stdin?.end(github.tokens.issueGithub())
  expect(await login.ended).toMatchObject({ code: 0, stderr: '' })

  const cli = startCli(['serve', '--port', '0'], trusting)
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  expect((await askOnce(url)).status).toBe(200)
  cli.child.kill('SIGTERM')
  expect((await cli.ended).code).toBe(0)
})

test('E21 another authority is not trusted for it', { timeout: 30_000 }, async () => {
  const { github, trusting } = await userOver(createAuthority('Somebody else'))
  const cli = startCli(['serve', '--port', '0'], { ...trusting, COPILOT_GITHUB_TOKEN: github.tokens.issueGithub() })
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  const reply = await askOnce(url)
  expect(reply.status).toBe(503)
  expect(await reply.text()).toContain('its certificate is not trusted')
  expect(github.exchanges()).toBe(0)
})
