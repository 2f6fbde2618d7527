import { some } from '../thorough.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { codexRecordKind } from '../../src/auth/codex/record.ts'
import { copilotRecordKind } from '../../src/auth/copilot/record.ts'
import { createCopilotTokenSource } from '../../src/auth/copilot/token-source.ts'
import { createMemoryRecordStore } from '../../src/auth/records/memory-record-store.ts'
import { createRecordStore } from '../../src/auth/records/record-store.ts'
import { createCopilotExecutor } from '../../src/executors/copilot.ts'
import { createPool } from '../../src/executors/connection-pool.ts'
import { codexRecord } from '../auth/codex/support.ts'
import { exampleRecord, listen, recordingLog } from '../auth/support.ts'
import { startCli } from '../cli/cli.ts'
import { createUser, inputOf } from '../commands/harness.ts'
import type { TestUser } from '../commands/harness.ts'
import { bodyOfPrompt } from '../http/callers.ts'
import { canaries, leaksIn } from './canaries.ts'
import { placesOf, startUpstreams } from './upstreams.ts'
import type { Upstreams } from './upstreams.ts'
import { asIs } from '../as-is.ts'
import { listenForTest } from '../listen-for-test.ts'

const never = new AbortController().signal

/** A listener that must get nothing. */
async function startThief(): Promise<{ readonly url: string; readonly port: string; readonly hits: string[] }> {
  const hits: string[] = []
  const { url, close } = await listen((request, response) => {
    hits.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    response.end('{}')
  })
  onTestFinished(close)
  return { url, port: new URL(url).port, hits }
}

/** The test replaces PORT with the port of a listener that must get no request. */
const attempts = [
  ['a look-alike', 'https://githubcopilot.com.evil.example'],
  ['a host that ends alike', 'https://evilgithubcopilot.com'],
  ['an address', 'https://203.0.113.7:PORT'],
  ['this machine', 'http://127.0.0.1:PORT'],
  ['this machine by name', 'http://localhost:PORT'],
  ['this machine in other digits', 'http://2130706433:PORT'],
  ['user information', 'http://api.githubcopilot.com@127.0.0.1:PORT'],
  ['a backslash', 'http://127.0.0.1:PORT\\.githubcopilot.com'],
  ['no TLS', 'http://api.githubcopilot.com'],
  ['a port', 'https://api.githubcopilot.com:PORT'],
]

describe('C14 a token reply that names another API host', () => {
  test.each(attempts)('by %s is not followed, and reported', async (_what, template) => {
    const thief = await startThief()
    const named = template.replace('PORT', thief.port)
    const log = recordingLog()
    const value = `tid=made-up;proxy-ep=${named.replace(/^https?:\/\//, '')}:00ab`
    const reply = { token: value, expires_at: 4_102_444_800, refresh_in: 1500, endpoints: { api: named } }
    const tokens = createCopilotTokenSource(
      {
        store: createMemoryRecordStore(copilotRecordKind, [exampleRecord()]),
        fetch: () => Promise.resolve(Response.json(reply)),
        now: Date.now,
        monotonicMs: () => performance.now(),
        random: () => 0,
        log,
      },
      {
        githubBaseUrl: 'https://github.com',
        githubApiBaseUrl: 'https://api.github.com',
        baseUrl: '',
        headers: {},
        refreshSafetyMarginSeconds: 60,
      },
    )
    onTestFinished(tokens.close)
    expect((await tokens.get(never)).candidates).toEqual(['https://api.githubcopilot.com'])
    expect(log.lines.filter((line) => line.startsWith('warn'))).not.toEqual([])

    // Whatever the executor is asked, it leaves by a proxy here, which sees where to.
    const targets: string[] = []
    const proxy = createServer((socket) => {
      socket.once('data', (head) => {
        targets.push(head.toString('latin1').split('\r\n', 1)[0] ?? '')
        socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
      })
    })
    const port = await listenForTest(proxy)
    const executor = createCopilotExecutor(
      {
        tokens,
        pool: createPool({ connectMs: 5000, env: { HTTPS_PROXY: `http://127.0.0.1:${port}` } }),
        log,
        redact: asIs,
      },
      { refreshOnUnauthorized: true, headers: {}, connectMs: 5000, headersMs: 5000, idleMs: 5000 },
    )
    await expect(executor.listModels({ signal: never })).rejects.toThrow()
    await executor.close()
    expect(targets).not.toEqual([])
    expect(targets.filter((target) => target !== 'CONNECT api.githubcopilot.com:443 HTTP/1.1')).toEqual([])
    expect(thief.hits).toEqual([])
  })
})

describe('C15 an address that a credential may not be sent to', () => {
  const refused = {
    COPILOT_PROXY_COPILOT_BASE_URL: [
      'http://api.githubcopilot.com',
      'http://10.0.0.1:8080',
      'https://githubcopilot.com.evil.example',
      'https://evil.example',
    ],
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: ['http://github.com', 'https://auth.openai.com'],
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: ['http://api.github.com', 'https://api.openai.com'],
    COPILOT_PROXY_COPILOT_OAUTH_TOKEN_URL: ['http://github.com/login/oauth/access_token'],
    COPILOT_PROXY_CODEX_BASE_URL: ['http://chatgpt.com/backend-api/codex', 'https://evil.example'],
    COPILOT_PROXY_CODEX_API_BASE_URL: ['http://api.openai.com/v1', 'https://api.githubcopilot.com'],
    COPILOT_PROXY_CODEX_ISSUER: ['http://auth.openai.com', 'https://auth.openai.com.evil.example'],
  }

  test.each(Object.entries(refused).flatMap(([name, urls]) => urls.map((url) => [name, url] as const)))(
    '%s=%s is refused when the configuration is read',
    async (name, url) => {
      const user = await createUser()
      Object.assign(user.env, { [name]: url })
      const { code, stdout, stderr } = await user.run('serve --port 0')
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain(name)
    },
  )
})

/** A user who is logged in to both, by these upstreams. */
async function createLoggedIn(upstreams: Upstreams): Promise<TestUser> {
  const user = await createUser()
  const dir = join(user.home, 'auth')
  const log = recordingLog()
  const copilot = exampleRecord({ github_access_token: canaries.githubToken }, { id: 'copilot-somebody' })
  await createRecordStore({ kind: copilotRecordKind, dir, log }).write(copilot)
  // An hour and a half old: its first use renews it.
  const codex = codexRecord(Date.now(), 5400, { refresh_token: canaries.refreshToken })
  await createRecordStore({ kind: codexRecordKind, dir, log }).write(codex)
  Object.assign(user.env, upstreams.env)
  return user
}

async function ask(url: string, model: string): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: bodyOfPrompt('chat', model, 'Hello'),
  })
  return { status: answer.status, text: await answer.text() }
}

describe('C17 a redirect to another host', { timeout: 30_000 }, () => {
  test.each(some([301, 302, 303, 307, 308], 5, 3))('by %i is followed nowhere, and is an error', async (status) => {
    const thief = await startThief()
    const upstreams = await startUpstreams()
    const user = await createLoggedIn(upstreams)
    const cli = startCli(['serve', '--port', '0'], user.env)
    const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
    await cli.seen('stderr', /Copilot model list loaded/)
    await cli.seen('stderr', /Codex model list loaded/)
    // Inference of both with tokens that are good, then everything that gives out tokens.
    upstreams.redirect(status, thief.url)
    for (const model of ['gpt-5-mini', 'codex/gpt-5.5']) {
      const { status: answered, text } = await ask(url, model)
      expect([model, answered, text]).toEqual([model, 502, expect.stringContaining(String(status))])
    }
    cli.child.kill('SIGTERM')
    expect(await cli.ended).toMatchObject({ code: 0 })

    const fresh = await createLoggedIn(upstreams)
    const again = startCli(['serve', '--port', '0'], fresh.env)
    const [, second = ''] = await again.seen('stdout', /listening on (\S+)/)
    for (const model of ['gpt-5-mini', 'codex/gpt-5.5']) {
      const { status: answered, text } = await ask(second, model)
      // A model of Codex’s is not known where its list cannot be asked for.
      expect([model, answered]).toEqual([model, model.startsWith('codex/') ? 404 : 503])
      if (answered === 503) expect(text).toContain('answered with a redirect')
      expect(leaksIn(text, canaries)).toEqual([])
    }
    expect((await fetch(`${second}/usage`)).status).toBeGreaterThanOrEqual(500)
    again.child.kill('SIGTERM')
    expect(await again.ended).toMatchObject({ code: 0 })

    for (const commandLine of [
      'login --no-browser',
      'login --token-stdin',
      'login codex --device',
      'usage',
      'models',
    ]) {
      const ran = await fresh.run(commandLine, { stdin: inputOf(`${canaries.otherGithubToken}\n`) })
      expect([commandLine, ran.code]).toEqual([commandLine, 1])
      expect(ran.stderr).toMatch(/redirect|status 30\d/)
    }
    expect(thief.hits).toEqual([])
    for (const place of ['githubPages', 'githubApi', 'copilot', 'issuer'] as const) {
      expect([place, upstreams[place].received.length]).not.toEqual([place, 0])
    }
  })
})

describe('C21 a login', () => {
  test('is started by no route, whoever asks', async () => {
    const upstreams = await startUpstreams()
    const user = await createUser()
    Object.assign(user.env, upstreams.env)
    const cli = startCli(['serve', '--port', '0', '--log-level', 'trace'], user.env)
    const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
    const paths = [
      '/login',
      '/login/device',
      '/login/device/code',
      '/v1/login',
      '/auth',
      '/auth/device',
      '/oauth',
      '/token',
    ]
    const statuses = new Set<number>()
    for (const path of paths) {
      for (const method of ['GET', 'POST']) {
        for (const origin of ['https://evil.example', undefined]) {
          const reply = await fetch(url + path, {
            method,
            headers: { 'content-type': 'application/json', ...(origin !== undefined && { origin }) },
            ...(method === 'POST' && { body: '{}' }),
          })
          statuses.add(reply.status)
        }
      }
    }
    expect([...statuses].toSorted((a, b) => a - b)).toEqual([403, 404])
    cli.child.kill('SIGTERM')
    await cli.ended
    for (const place of placesOf) expect([place, upstreams[place].received]).toEqual([place, []])
  })

  test('shows its code on standard output alone, once', async () => {
    const user = await createUser()
    const github = await listen((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        request.url === '/login/device/code'
          ? JSON.stringify({
              device_code: canaries.otherGithubToken,
              user_code: 'MADE-UP42',
              verification_uri: `http://${request.headers.host}/login/device`,
              interval: 5,
            })
          : JSON.stringify({ error: 'access_denied', error_description: `${canaries.otherGithubToken} MADE-UP42` }),
      )
    })
    onTestFinished(github.close)
    Object.assign(user.env, { COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: github.url })
    const { code, stdout, stderr } = await user.run('login --no-browser')
    expect(code).toBe(1)
    expect(stdout.match(/MADE-UP42/g)).toHaveLength(1)
    expect(stderr).not.toContain('MADE-UP42')
    expect(leaksIn(stdout + stderr, canaries)).toEqual([])
  })
})

test('C22 a GitHub token that was revoked is tried a few times at most, and every caller gets a message that says what to do', async () => {
  const upstreams = await startUpstreams()
  upstreams.refuseTokens(true)
  const user = await createLoggedIn(upstreams)
  const cli = startCli(['serve', '--port', '0'], user.env)
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  const answers = []
  for (let i = 0; i < 30; i += 1) answers.push(await ask(url, 'gpt-5-mini'))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
  for (const { text } of answers) expect(text).toContain('copilot-proxy login')
  const health = await fetch(`${url}/healthz`)
  expect(await health.json()).toMatchObject({ ok: true, copilot: 'unavailable' })
  const exchanges = upstreams.githubApi.received.filter(({ path }) => path === '/copilot_internal/v2/token')
  expect(exchanges.length).toBeGreaterThan(0)
  expect(exchanges.length).toBeLessThan(3)
  cli.child.kill('SIGTERM')
  expect(leaksIn((await cli.ended).stderr, canaries)).toEqual([])
})

/** Each has tests of what it gives the process: `keychain`, `background`, `run-client`, `desktop`, `service`. */
const starters = [
  'auth/records/keychain.ts',
  'auth/records/process-start.ts',
  'commands/background/start-daemon.ts',
  'commands/clients/codex-program.ts',
  'commands/launch/launch.ts',
  'commands/login/desktop.ts',
  'commands/service/service.ts',
  'commands/setup/try-mcp.ts',
  'daemon/watchdog.ts',
  'mcp/servers/stdio-transport.ts',
  // Threads of the process that reads files of a workspace.
  'workspace/code-watchdog.ts',
  'workspace/code-worker.ts',
  'workspace/ripgrep.ts',
  'workspace/run-code-task.ts',
  'workspace/run-command.ts',
  'workspace/sandbox/end-with-daemon.ts',
  'workspace/sandbox/probe.ts',
]

/** An import of more than types. */
const startsWork = /^(?!import type ).*(?:from |import\()'node:(child_process|worker_threads|cluster)'/m

test('C11 no module starts another process but those that are known to', () => {
  const src = fileURLToPath(new URL('../../src', import.meta.url))
  const found = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .filter((path) => startsWork.test(readFileSync(join(src, path), 'utf8')))
  expect(found.toSorted()).toEqual(starters.map((path) => join(...path.split('/'))))
})
