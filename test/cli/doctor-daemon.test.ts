import { isThorough, some } from '../thorough.ts'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createUser, openGithub } from '../commands/harness.ts'
import { createAuthority, createCertificate } from '../tls-certificate.ts'
import { openConnectProxy } from '../upstreams/connect-proxy.ts'
import { openTlsFront } from '../upstreams/tls-front.ts'
import { startCli } from './cli.ts'
import type { Row } from '../commands/doctor/row.ts'

// The daemon and `doctor` are processes with an environment of their own each, as a service and a shell are.

type Variables = Readonly<Record<string, string>>

/** Known to the proxy alone: a label of 64 letters is none, and the resolver says so without asking anybody. */
const tenant = `${'a'.repeat(64)}.ghe.com`
const password = 'example-p4ss-word'

interface Company {
  /** The settings that both processes have. */
  readonly shared: Variables
  /** What the network needs: the proxy with its login, and the authority of the company. */
  readonly network: { readonly HTTPS_PROXY: string; readonly NODE_EXTRA_CA_CERTS: string }
}

/** A user whose Copilot, and GitHub unless `isGithubNear`, is reached through a proxy with a login only. */
async function openCompany({ isGithubNear = false } = {}): Promise<Company> {
  const github = await openGithub()
  const authority = createAuthority()
  const front = await openTlsFront(github.port, createCertificate({ authority, hosts: [tenant] }))
  const { address } = await openConnectProxy(front.port, { login: `ada:${password}` })
  const { home } = await createUser()
  const file = join(home, 'company.pem')
  await writeFile(file, authority.cert)
  const githubUrl = isGithubNear ? github.url : `https://${tenant}`
  return {
    shared: {
      COPILOT_PROXY_HOME: home,
      HOME: home,
      COPILOT_GITHUB_TOKEN: github.tokens.issueGithub(),
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: githubUrl,
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: githubUrl,
      COPILOT_PROXY_COPILOT_BASE_URL: `https://${tenant}`,
    },
    network: { HTTPS_PROXY: `http://ada:${password}@${address}`, NODE_EXTRA_CA_CERTS: file },
  }
}

/** Starts a daemon with one environment, and runs `doctor` with the other. */
async function ask({ shared }: Company, ofDaemon: Variables, ofShell: Variables) {
  const daemon = startCli(['serve', '--port', '0'], { ...shared, ...ofDaemon })
  const [, url = ''] = await daemon.seen('stdout', /listening on (\S+)/)
  const port = { COPILOT_PROXY_SERVER_PORT: new URL(url).port }
  const { code, stdout, stderr } = await startCli(['doctor', '--json'], { ...shared, ...ofShell, ...port }).ended
  const { checks }: { readonly checks: readonly Row[] } = JSON.parse(stdout)
  daemon.child.kill('SIGTERM')
  const ended = await daemon.ended
  expect(stdout + stderr + ended.stdout + ended.stderr).not.toMatch(/p4ss|ghu_|tid=| at .*\.ts:\d/)
  return {
    code,
    failed: checks.filter(({ status }) => status === 'failed').map(({ id }) => id),
    daemon: checks.filter(({ id }) => id === 'daemon'),
  }
}

describe('doctor asks the running daemon', () => {
  test('which has the same environment: nothing fails', { timeout: 60_000 }, async () => {
    const company = await openCompany()
    expect(await ask(company, company.network, company.network)).toMatchObject({
      code: 0,
      daemon: [{ status: 'ok', detail: expect.stringMatching(/reaches Copilot$/), fix: null }],
    })
  })

  test.each(some([false, true], 2))(
    'which lacks the proxy (its token is fresh: %s)',
    { timeout: 60_000 },
    async (isNear) => {
      const company = await openCompany({ isGithubNear: isNear })
      const { HTTPS_PROXY: _, ...withoutProxy } = company.network
      const { code, failed, daemon } = await ask(company, withoutProxy, company.network)
      expect({ code, failed }).toEqual({ code: 1, failed: ['daemon'] })
      expect(daemon).toMatchObject([
        {
          detail: expect.stringMatching(
            /cannot use Copilot: .*(?:not found|could not be resolved).*\. Its environment differs from this shell: it lacks HTTPS_PROXY$/,
          ),
          fix: expect.stringMatching(/then start it from this shell: copilot-proxy serve$/),
        },
      ])
    },
  )

  test.runIf(isThorough)('which has another password for the proxy', { timeout: 60_000 }, async () => {
    const company = await openCompany()
    const stale = company.network.HTTPS_PROXY.replace(password, 'example-old-p4ss')
    const { failed, daemon } = await ask(company, { ...company.network, HTTPS_PROXY: stale }, company.network)
    expect(failed).toEqual(['daemon'])
    expect(daemon[0]?.detail).toMatch(/answered 407: its login is wrong.*: it has another value of HTTPS_PROXY$/)
  })

  test('which has a variable too much, and lacks the certificate', { timeout: 60_000 }, async () => {
    const company = await openCompany()
    const { HTTPS_PROXY } = company.network
    const { failed, daemon } = await ask(
      company,
      { https_proxy: HTTPS_PROXY, no_proxy: 'other.example' },
      company.network,
    )
    expect(failed).toEqual(['daemon'])
    // The spelling makes no difference.
    expect(daemon[0]?.detail).toMatch(
      /certificate is not trusted.*: it lacks NODE_EXTRA_CA_CERTS; only it has no_proxy$/,
    )
  })

  test('which works, from a shell that does not', { timeout: 60_000 }, async () => {
    const company = await openCompany()
    const { code, failed, daemon } = await ask(company, company.network, {})
    expect({ code, failed }).toEqual({ code: 1, failed: ['network'] })
    expect(daemon).toMatchObject([
      {
        status: 'ok',
        detail: expect.stringMatching(/reaches Copilot\. Its .*only it has HTTPS_PROXY, NODE_EXTRA_CA_CERTS$/),
      },
    ])
  })

  test.runIf(isThorough)('of a background daemon, and its advice helps', { timeout: 120_000 }, async () => {
    const { shared, network } = await openCompany()
    const run = async (ofShell: Variables, ...args: readonly string[]) => {
      const { code, stdout } = await startCli(args, { ...shared, ...ofShell, COPILOT_PROXY_SERVER_PORT: '0' }).ended
      return { code, stdout }
    }
    try {
      expect(await run({}, 'start')).toMatchObject({ code: 0 })
      const { code, stdout } = await run(network, 'doctor')
      expect(code).toBe(1)
      expect(stdout).toMatch(
        /it lacks HTTPS_PROXY, NODE_EXTRA_CA_CERTS\s+Restart it from this shell: copilot-proxy restart\n/,
      )
      expect(await run(network, 'restart')).toMatchObject({ code: 0 })
      expect(await run(network, 'doctor')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/reaches Copilot\n/),
      })
    } finally {
      await run({}, 'stop')
    }
  })
})
