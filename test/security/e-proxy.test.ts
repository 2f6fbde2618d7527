import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startCodex } from '../upstreams/codex.ts'
import { streamReply } from '../upstreams/http/outcome.ts'
import { startCopilot } from '../upstreams/copilot.ts'
import { createPool } from '../../src/executors/connection-pool.ts'
import { startCli } from '../cli/cli.ts'
import { createUser, openGithub } from '../commands/harness.ts'
import { bodyOfPrompt } from '../http/callers.ts'
import { openProxy } from '../http/harness.ts'
import { createAuthority, createCertificate } from '../tls-certificate.ts'
import { openConnectProxy } from '../upstreams/connect-proxy.ts'
import { answers } from './upstream-answers.ts'
import { openTlsFront } from '../upstreams/tls-front.ts'
import { envelopeOf, expectUnharmed } from './unharmed.ts'
import { listenForTest } from '../listen-for-test.ts'

const authority = createAuthority()
const usual = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([...usual, authority.cert]))
afterAll(() => setDefaultCACertificates(usual))

/** An answer to any token. */
const { begin, finish, mark } = answers.chat
const answered = streamReply([...begin, ...finish(''), ...mark])

/** A name that only the proxy knows. */
const host = 'copilot.githubcopilot.com'

/** Opens a daemon that reaches Copilot, but not GitHub, through this proxy. */
async function openBehind(proxyUrl: string, file = '') {
  return openProxy({
    file,
    settings: { COPILOT_PROXY_COPILOT_BASE_URL: `https://${host}` },
    proxies: { HTTPS_PROXY: proxyUrl },
  })
}

async function openFront(target: number, hosts: readonly string[] = [host]) {
  return openTlsFront(target, createCertificate({ authority, hosts }))
}

/** A daemon and the proxy it uses, which leads to its own simulated Copilot. */
async function openTunnelled(hosts?: readonly string[]) {
  const upstream = await startCopilot({ record: 10 })
  onTestFinished(() => upstream.close())
  const front = await openFront(upstream.port, hosts)
  const tunnel = await openConnectProxy({ [`${host}:443`]: front.port })
  const proxy = await openBehind(`http://${tunnel.address}`)
  return { upstream, front, tunnel, proxy }
}

test(
  'E22 login, GitHub, Copilot and Codex go through HTTPS_PROXY with its password, which appears nowhere',
  { timeout: 30_000 },
  async () => {
    const github = await openGithub()
    const codex = await startCodex()
    onTestFinished(() => codex.close())
    const names = ['github.example.test', 'api.github.example.test', 'codex.example.test']
    const githubFront = await openFront(github.port, names)
    const codexFront = await openFront(Number(new URL(codex.apiBaseUrl).port), names)
    const password = 'p@ss %word'
    const tunnel = await openConnectProxy(
      {
        'github.example.test:443': githubFront.port,
        'api.github.example.test:443': githubFront.port,
        'codex.example.test:443': codexFront.port,
      },
      { login: `ada:${password}` },
    )
    const user = await createUser()
    const file = join(user.home, 'company.pem')
    await writeFile(file, authority.cert)
    const env = {
      COPILOT_PROXY_HOME: user.home,
      COPILOT_PROXY_LOG_LEVEL: 'trace',
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: 'https://github.example.test',
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: 'https://api.github.example.test',
      COPILOT_PROXY_COPILOT_BASE_URL: 'https://api.github.example.test',
      COPILOT_PROXY_CODEX_API_BASE_URL: 'https://codex.example.test/v1',
      COPILOT_PROXY_CODEX_API_KEY: codex.apiKey,
      NODE_EXTRA_CA_CERTS: file,
      HTTPS_PROXY: `http://ada:${encodeURIComponent(password)}@${tunnel.address}`,
    }
    const login = startCli(['login', '--token-stdin'], env)
    login.child.stdin?.end(github.tokens.issueGithub())
    expect(await login.ended).toMatchObject({ code: 0, stderr: '' })
    expect(tunnel.tunnels).toContain('api.github.example.test:443')

    const cli = startCli(['serve', '--port', '0'], env)
    const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
    for (const model of ['gpt-4.1', 'codex/gpt-5.3-codex']) {
      for (const stream of [true, false]) {
        const reply = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: bodyOfPrompt('chat', model, 'Hello', { stream }),
        })
        expect(reply.status).toBe(200)
        await reply.text()
      }
    }
    expect(tunnel.tunnels).toContain('codex.example.test:443')
    expect(new Set(tunnel.logins)).toEqual(new Set([`ada:${password}`]))
    cli.child.kill('SIGTERM')
    const { code, stdout, stderr } = await cli.ended
    expect(code).toBe(0)
    const secrets = [password, encodeURIComponent(password), Buffer.from(`ada:${password}`).toString('base64')]
    for (const secret of secrets) expect(stdout + stderr).not.toContain(secret)
  },
)

test('E22 loopback is exempt from every proxy', async () => {
  const proxies = { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' }
  const { chat } = await openProxy({ proxies })
  expect((await chat()).status).toBe(200)
  const upstream = await startCopilot()
  onTestFinished(() => upstream.close())
  for (const name of ['127.0.0.1', 'localhost']) {
    const front = await openFront(upstream.port, [name])
    const settings = { COPILOT_PROXY_COPILOT_BASE_URL: `https://${name}:${front.port}` }
    const proxy = await openProxy({ proxies, settings })
    // The token is another Copilot's: that it is refused shows that it arrived.
    expect((await proxy.chat()).status).toBe(401)
  }
})

// Only there every address of 127.0.0.0/8 can be listened on.
test.runIf(process.platform === 'linux')('E22 so is every other address of it: no proxy gets the token', async () => {
  const requested: string[] = []
  const listen = async (name: string, at: string): Promise<number> => {
    const server = createServer(({ headers }, response) => {
      requested.push(`${name} ${headers.authorization?.slice(0, 'Bearer'.length)}`)
      response.writeHead(500).end()
    })
    return listenForTest(server, at)
  }
  const address = `http://127.0.0.1:${await listen('proxy', '127.0.0.1')}`
  const port = await listen('copilot', '127.0.0.2')
  for (const at of ['127.0.0.2', '[::ffff:127.0.0.2]']) {
    const { chat } = await openProxy({
      settings: { COPILOT_PROXY_COPILOT_BASE_URL: `http://${at}:${port}` },
      proxies: { HTTP_PROXY: address, HTTPS_PROXY: address, NO_PROXY: 'elsewhere.example' },
    })
    expect((await chat()).status).toBe(500)
  }
  expect(new Set(requested)).toEqual(new Set(['copilot Bearer']))
})

// Only there it leads to the machine itself without being one of its loopback addresses.
test.runIf(process.platform === 'linux')('E22 NO_PROXY is honoured, in either case, by host and by port', async () => {
  const upstream = await startCopilot()
  onTestFinished(() => upstream.close())
  const address = '0.0.0.0'
  const front = await openTlsFront(upstream.port, createCertificate({ authority, hosts: [address] }), address)
  const tunnel = await openConnectProxy({ [`${address}:${front.port}`]: front.port })
  const ask = async (env: Readonly<Record<string, string>>): Promise<boolean> => {
    const before = tunnel.tunnels.length
    const { agent, close } = createPool({ connectMs: 2000, env: { HTTPS_PROXY: tunnel.address, ...env } })
    await agent.request({ origin: front.url, path: '/models', method: 'GET' }).then(
      ({ body }) => body.dump(),
      () => {},
    )
    await close()
    return tunnel.tunnels.length > before
  }
  expect(await ask({})).toBe(true)
  expect(await ask({ NO_PROXY: 'elsewhere.example' })).toBe(true)
  expect(await ask({ NO_PROXY: `${address}:1` })).toBe(true)
  expect(await ask({ NO_PROXY: `elsewhere.example, ${address}` })).toBe(false)
  expect(await ask({ no_proxy: `${address}:${front.port}` })).toBe(false)
  expect(await ask({ no_proxy: '*' })).toBe(false)
})

test.each([
  [
    'is down',
    502,
    /the HTTP proxy http:\/\/127\.0\.0\.1:9 failed: the connection was refused/,
    async () => 'http://ada:secret@127.0.0.1:9',
  ],
  [
    'wants a password that it does not get',
    502,
    /the HTTP proxy http:\/\/127\.0\.0\.1:\d+ answered 407: its login is missing/,
    async () => `http://${(await openConnectProxy({}, { login: 'ada:secret' })).address}`,
  ],
  [
    'gets a wrong password',
    502,
    /the HTTP proxy http:\/\/127\.0\.0\.1:\d+ answered 407: its login is wrong/,
    async () => `http://ada:secret@${(await openConnectProxy({}, { login: 'ada:other' })).address}`,
  ],
  [
    'cannot reach the upstream',
    502,
    /the HTTP proxy http:\/\/127\.0\.0\.1:\d+ answered 502 and opened no connection/,
    async () => `http://${(await openConnectProxy({})).address}`,
  ],
  [
    'takes the connection and never answers',
    504,
    /within 0\.3 s/,
    async () => `http://${(await openConnectProxy({}, { isSilent: true })).address}`,
  ],
])(
  'E22 a proxy that %s is a failure in shape, and nobody goes round it',
  { timeout: 20_000 },
  async (_what, status, words, open) => {
    const proxy = await openBehind(await open(), 'copilot: { timeouts: { connect-seconds: 0.3 } }')
    for (const stream of [true, false]) {
      const reply = await proxy.chat({ stream })
      expect(reply.status).toBe(status)
      expect(reply.json()).toEqual(envelopeOf('/v1/chat/completions'))
      expect(reply.text).toMatch(words)
      expect(reply.text).not.toMatch(/ada|secret/)
      await expectUnharmed(proxy, reply.text)
    }
    expect(proxy.demo.count('/chat/completions')).toBe(0)
  },
)

test('E20 a certificate for another host is refused inside a tunnel, too', async () => {
  const { proxy, front, upstream } = await openTunnelled(['elsewhere.example'])
  const reply = await proxy.chat()
  expect(reply.status).toBe(502)
  expect(reply.text).toContain('for another host')
  expect(front.received()).toBe(0)
  expect(upstream.count('/chat/completions')).toBe(0)
})

test('E18 a tunnel that was closed while it was idle costs no request', { timeout: 20_000 }, async () => {
  const { proxy, tunnel, upstream } = await openTunnelled()
  for (let round = 0; round < 20; round += 1) {
    upstream.script('/chat/completions', { outcome: answered })
    expect((await proxy.chat()).status).toBe(200)
    tunnel.drop()
  }
})

test('E19 a tunnel that breaks just as it is picked up is replaced, once', async () => {
  const { proxy, upstream } = await openTunnelled()
  const used = { outcome: answered }
  const dropped = { outcome: { kind: 'drop' } } as const
  upstream.script('/chat/completions', used, dropped, used)
  expect((await proxy.chat()).status).toBe(200)
  expect((await proxy.chat()).status).toBe(200)
  expect(upstream.count('/chat/completions')).toBe(3)
  upstream.script('/chat/completions', used, dropped, dropped, used)
  expect((await proxy.chat()).status).toBe(200)
  expect((await proxy.chat()).status).toBe(502)
  expect(upstream.count('/chat/completions')).toBe(6)
})
