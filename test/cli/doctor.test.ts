import { writeFile } from 'node:fs/promises'
import { connect, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { createUser, openGithub } from '../commands/harness.ts'
import { openConnectProxy } from '../upstreams/connect-proxy.ts'
import { createAuthority, createCertificate } from '../tls-certificate.ts'
import type { Certificate, CertificateOptions } from '../tls-certificate.ts'
import { startCli } from './cli.ts'
import { listenForTest } from '../listen-for-test.ts'
import type { Row } from '../commands/doctor/row.ts'

// Each of these is a process of its own: exit codes, signals, and what Node itself reads when it starts.

interface Secured {
  readonly env: Record<string, string>
  readonly port: number
  /** As a request names it. */
  readonly host: string
}

/** Opens a simulated GitHub and Copilot with TLS, on loopback or at a name, and a user who is logged in to it. */
async function openSecured({ cert, key }: Certificate, name?: string): Promise<Secured> {
  const github = await openGithub()
  const { home } = await createUser()
  const port = await listenForTest(
    createTlsServer({ cert, key }, (socket) => {
      const plain = connect(github.port, '127.0.0.1')
      socket.on('error', () => plain.destroy())
      plain.on('error', () => socket.destroy())
      socket.pipe(plain).pipe(socket)
    }),
  )
  const host = name ?? `127.0.0.1:${port}`
  return {
    host,
    port,
    env: {
      COPILOT_PROXY_HOME: home,
      HOME: home,
      COPILOT_PROXY_SERVER_PORT: '0',
      COPILOT_GITHUB_TOKEN: github.tokens.issueGithub(),
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: `https://${host}`,
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: `https://${host}`,
      COPILOT_PROXY_COPILOT_BASE_URL: `https://${host}`,
    },
  }
}

async function ask(env: Readonly<Record<string, string>>) {
  const { code, stdout, stderr } = await startCli(['doctor', '--json'], env).ended
  expect(`${stdout}${stderr}`).not.toMatch(/example-password|ghu_|tid=| at .*\.ts:\d/)
  const { checks }: { readonly checks: readonly Row[] } = JSON.parse(stdout)
  return {
    code,
    stderr,
    of: (id: string, provider?: string) =>
      checks.filter((row) => row.id === id && (row.provider ?? undefined) === provider),
  }
}

/** Returns an environment that names a file with the certificate to trust. */
async function trusting(env: Readonly<Record<string, string>>, cert: string): Promise<Record<string, string>> {
  const path = join(env['COPILOT_PROXY_HOME'] ?? '', 'authority.pem')
  await writeFile(path, cert)
  return { ...env, NODE_EXTRA_CA_CERTS: path }
}

describe('certificates', () => {
  test('E20 a self-signed one fails and names NODE_EXTRA_CA_CERTS; E21 with that variable, everything passes', async () => {
    const certificate = createCertificate()
    const { env, host } = await openSecured(certificate)
    const refused = await ask(env)
    expect(refused.code).toBe(1)
    expect(refused.of('network', 'copilot')).toMatchObject([{ status: 'ok' }])
    expect(refused.of('tls', 'copilot')).toMatchObject([
      { status: 'failed', detail: expect.stringContaining(host), fix: expect.stringContaining('NODE_EXTRA_CA_CERTS') },
    ])
    expect(refused.of('token', 'copilot')).toMatchObject([{ status: 'skipped' }])

    const trusted = await ask(await trusting(env, certificate.cert))
    expect(trusted).toMatchObject({ code: 0, stderr: '' })
    expect(trusted.of('tls', 'copilot')).toMatchObject([{ status: 'ok', detail: expect.stringContaining(host) }])
    expect(trusted.of('token', 'copilot')).toMatchObject([{ status: 'ok' }])
    expect(trusted.of('models', 'copilot')[0]?.detail).toContain('chat models')
  })

  const dayMs = 86_400_000
  test.each<readonly [string, CertificateOptions, RegExp, RegExp]>([
    [
      'expired',
      { notBefore: new Date(Date.now() - 9 * dayMs), notAfter: new Date(Date.now() - dayMs) },
      /expired/,
      /Set the clock/,
    ],
    ['of another host', { hosts: ['other.example'] }, /for another host/, /answers instead of/],
  ])('E20 one that is %s', async (_what, options, detail, fix) => {
    const authority = createAuthority()
    const { env } = await openSecured(createCertificate({ ...options, authority }))
    const { code, of } = await ask(await trusting(env, authority.cert))
    expect(code).toBe(1)
    expect(of('tls', 'copilot')).toMatchObject([
      { status: 'failed', detail: expect.stringMatching(detail), fix: expect.stringMatching(fix) },
    ])
  })

  test('E20 with NODE_TLS_REJECT_UNAUTHORIZED=0 nothing fails, and that is the warning', async () => {
    const { env } = await openSecured(createCertificate())
    const { code, of } = await ask({ ...env, NODE_TLS_REJECT_UNAUTHORIZED: '0' })
    expect(code).toBe(0)
    expect(of('trust')).toMatchObject([
      { status: 'warning', fix: expect.stringMatching(/, then run: unset NODE_TLS_REJECT_UNAUTHORIZED$/) },
    ])
  })

  test('a missing file in NODE_EXTRA_CA_CERTS', async () => {
    const { env } = await openSecured(createCertificate())
    const { of } = await ask({ ...env, NODE_EXTRA_CA_CERTS: '/nowhere/authority.pem' })
    expect(of('trust')).toMatchObject([
      { status: 'failed', detail: 'NODE_EXTRA_CA_CERTS: /nowhere/authority.pem is not readable' },
    ])
  })
})

describe('E22 a proxy on the way', () => {
  /** Known to the proxy alone. */
  const name = 'copilot.example.invalid'
  const certificate = createCertificate({ hosts: [name] })
  const open = async (): Promise<Secured> => {
    const secured = await openSecured(certificate, name)
    return { ...secured, env: await trusting(secured.env, certificate.cert) }
  }

  test('is used and named, without its password', async () => {
    const { env, host, port } = await open()
    const proxy = await openConnectProxy(port, { login: 'user:example-password' })
    const { code, of } = await ask({ ...env, HTTPS_PROXY: `http://user:example-password@127.0.0.1:${proxy.port}` })
    expect(of('network', 'copilot')).toMatchObject([
      { status: 'ok', detail: `${host} reachable through the proxy http://127.0.0.1:${proxy.port} (HTTPS_PROXY)` },
    ])
    expect(code).toBe(0)
    expect(new Set(proxy.tunnels)).toEqual(new Set([`${host}:443`]))
  })

  test('that wants a password and gets none', async () => {
    const { env, port } = await open()
    const proxy = await openConnectProxy(port, { login: 'example:example' })
    const { code, of } = await ask({ ...env, HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` })
    expect(code).toBe(1)
    expect(of('network', 'copilot')).toMatchObject([
      {
        detail: expect.stringContaining('it answered 407'),
        fix: expect.stringContaining('to HTTPS_PROXY, as USER:PASSWORD@ before the host. To test: curl -vI '),
      },
    ])
    expect(of('tls', 'copilot')).toMatchObject([{ status: 'skipped' }])
  })

  test('that is down', async () => {
    const { env } = await open()
    const { of } = await ask({ ...env, HTTPS_PROXY: 'http://user:example-password@127.0.0.1:1' })
    expect(of('network', 'copilot')).toMatchObject([
      { status: 'failed', fix: 'Set HTTPS_PROXY to a working proxy, or run: unset HTTPS_PROXY' },
    ])
  })

  test('that NO_PROXY goes past', async () => {
    const { env, port } = await open()
    const proxy = await openConnectProxy(port)
    const { of } = await ask({ ...env, HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: name })
    expect(of('network', 'copilot')[0]?.detail).not.toContain('proxy')
    expect(proxy.tunnels).toEqual([])
  })
})

describe('exit codes', () => {
  test('nobody is logged in: 3', async () => {
    const { home } = await createUser()
    const github = await openGithub()
    const cli = startCli(['doctor'], {
      COPILOT_PROXY_HOME: home,
      COPILOT_PROXY_SERVER_PORT: '0',
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: github.url,
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: github.url,
      COPILOT_PROXY_COPILOT_BASE_URL: github.url,
    })
    const { code, stdout } = await cli.ended
    expect(code).toBe(3)
    expect(stdout).toMatch(/^failed +Login, Copilot +Not logged in\n +Run: copilot-proxy login\n/m)
    expect(stdout).toMatch(/\n1 check failed(?:, \d warnings?)?\.\n$/)
  })

  test('configuration that is not valid: 2', async () => {
    const { home } = await createUser()
    await writeFile(join(home, 'config.yaml'), 'server: [')
    const { code, stdout, stderr } = await startCli(['doctor'], { COPILOT_PROXY_HOME: home }).ended
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
    expect(stdout).toMatch(/^failed +Configuration .*config\.yaml:1/m)
  })

  test.runIf(process.platform !== 'win32')('interrupted: 130, with what was known by then', async () => {
    const { home } = await createUser()
    const silent = `http://127.0.0.1:${await listenForTest(createTcpServer(() => {}))}`
    const cli = startCli(['doctor'], {
      COPILOT_PROXY_HOME: home,
      COPILOT_PROXY_SERVER_PORT: '0',
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: silent,
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: silent,
      COPILOT_PROXY_COPILOT_BASE_URL: silent,
    })
    await cli.seen('stdout', /Certificates/)
    cli.child.kill('SIGINT')
    expect(await cli.ended).toMatchObject({ code: 130, stderr: '' })
  })
})
