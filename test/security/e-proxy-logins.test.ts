import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startCli } from '../cli/cli.ts'
import { createUser, openGithub } from '../commands/harness.ts'
import { bodyOfPrompt } from '../http/callers.ts'
import { some } from '../thorough.ts'
import { createAuthority, createCertificate } from '../tls-certificate.ts'
import { openConnectProxy } from '../upstreams/connect-proxy.ts'
import { openTlsFront } from '../upstreams/tls-front.ts'

// The program as it ships: a bundler can take the check of a login for superfluous.

/** Known to the proxy alone: a label of 64 letters is none, and the resolver says so without asking anybody. */
const tenant = `${'a'.repeat(64)}.ghe.com`
const authority = createAuthority()

/** A user whose GitHub and Copilot are behind a proxy that asks for this login. */
async function openBehind(login: string) {
  const github = await openGithub()
  const front = await openTlsFront(github.port, createCertificate({ authority, hosts: [tenant] }))
  const tunnel = await openConnectProxy(front.port, { login })
  const { home } = await createUser()
  const file = join(home, 'company.pem')
  await writeFile(file, authority.cert)
  const env = {
    COPILOT_PROXY_HOME: home,
    HOME: home,
    COPILOT_PROXY_LOG_LEVEL: 'trace',
    COPILOT_GITHUB_TOKEN: github.tokens.issueGithub(),
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: `https://${tenant}`,
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: `https://${tenant}`,
    COPILOT_PROXY_COPILOT_BASE_URL: `https://${tenant}`,
    NODE_EXTRA_CA_CERTS: file,
  }
  return { tunnel, env }
}

/** All output of `serve`, one request and `doctor`. */
async function useAll(env: Readonly<Record<string, string>>) {
  const daemon = startCli(['serve', '--port', '0'], env)
  const [, url = ''] = await daemon.seen('stdout', /listening on (\S+)/)
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: bodyOfPrompt('chat', 'gpt-4.1', 'Hello'),
  })
  const answer = await reply.text()
  const port = { COPILOT_PROXY_SERVER_PORT: new URL(url).port }
  const doctor = await startCli(['doctor', '--verbose'], { ...env, ...port }).ended
  daemon.child.kill('SIGTERM')
  const { code, stdout, stderr } = await daemon.ended
  expect(code).toBe(0)
  return { status: reply.status, doctor, all: [answer, stdout, stderr, doctor.stdout, doctor.stderr].join('\n') }
}

/** The login as it is written in the variable, what the proxy must get, and parts that nobody may see. */
const logins: readonly (readonly [written: string, login: string, hidden: RegExp])[] = [
  ['CORP\\alice:secret', 'CORP\\alice:secret', /CORP|alice|secret/],
  ['alice:2024#Winter', 'alice:2024#Winter', /alice|2024#|Winter/],
  ['alice:p#w', 'alice:p#w', /alice|p#w|p%23w/],
  ['alice:a/b?c\\d', 'alice:a/b?c\\d', /alice|a\/b\?|c\\d|a%2Fb/],
  ['alice:p@ss@w0rd', 'alice:p@ss@w0rd', /alice|ss@w0rd|w0rd/],
  ['alice:[x]{y}|z^`', 'alice:[x]{y}|z^`', /alice|\[x\]\{y|x%5D/],
  ['alice:a b\'c"d<e>', 'alice:a b\'c"d<e>', /alice|a b'c|c"d<e/],
  ['alice:$HOME;&=+,!*()', 'alice:$HOME;&=+,!*()', /alice|\$HOME;&/],
  ['älice:pässwörd€🔑', 'älice:pässwörd€🔑', /älice|pässw|rd€|p%C3%A4ss/],
  // Encoded already.
  ['CORP%5Calice:50%25off%23', 'CORP\\alice:50%off#', /CORP|alice|50%|off#|off%23/],
]

describe('a login of any characters reaches the proxy, and nothing shows it', () => {
  test.each(some(logins, 8, 1))('%s', { timeout: 60_000 }, async (written, login, hidden) => {
    const { tunnel, env } = await openBehind(login)
    const HTTPS_PROXY = `http://${written}@${tunnel.address}`
    const { status, doctor, all } = await useAll({ ...env, HTTPS_PROXY })
    expect(new Set(tunnel.logins)).toEqual(new Set([login]))
    expect({ status, code: doctor.code }).toEqual({ status: 200, code: 0 })
    expect(doctor.stdout).toContain(`reachable through the proxy http://${tunnel.address} (HTTPS_PROXY)`)
    expect(all).not.toMatch(hidden)
    expect(all).not.toMatch(/^ +at .*:\d+/m)
  })

  test('also where the proxy refuses it', { timeout: 60_000 }, async () => {
    const { tunnel, env } = await openBehind('alice:another')
    const HTTPS_PROXY = `http://alice:2024#Winter@${tunnel.address}`
    const { status, doctor, all } = await useAll({ ...env, HTTPS_PROXY })
    expect({ status, code: doctor.code }).toEqual({ status: 503, code: 1 })
    expect(all).toContain(`http://${tunnel.address} answered 407: its login is wrong`)
    expect(all).not.toMatch(/alice|2024#|Winter|^ +at .*:\d+/m)
  })
})

describe('a login that can mean two things ends every command with a sentence', () => {
  const proxies = [
    'http://alice:50%off@127.0.0.1:9',
    'http://al%ice:secret@127.0.0.1:9',
    'alice:50%@127.0.0.1:9',
  ] as const
  const commands = [
    ['serve', '--port', '0'],
    ['doctor'],
    ['models'],
    ['login', '--token-stdin'],
    ['config', 'check'],
  ] as const

  test.each(some(proxies, 3))('%s', { timeout: 60_000 }, async (proxy) => {
    const { home } = await createUser()
    for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'ALL_PROXY']) {
      for (const args of name === 'HTTPS_PROXY' ? commands : commands.slice(0, 1)) {
        const cli = startCli(args, { COPILOT_PROXY_HOME: home, HOME: home, [name]: proxy })
        cli.child.stdin?.end('ghu_example')
        const { code, stdout, stderr } = await cli.ended
        const all = stdout + stderr
        expect(code, `${args.join(' ')}: ${all}`).toBe(2)
        expect(all).toMatch(new RegExp(`${name}.*write % as %25 in the user name and password`))
        expect(all).not.toMatch(/alice|al%ice|50%|secret|^ +at .*:\d+/m)
      }
    }
    const version = await startCli(['--version'], { COPILOT_PROXY_HOME: home, HOME: home, HTTPS_PROXY: proxy }).ended
    expect(version).toMatchObject({ code: 0, stderr: '' })
  })
})
