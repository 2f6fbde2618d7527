import { createServer } from 'node:http'
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codexRecordId } from '../../../src/auth/codex/record.ts'
import { exampleJwt } from '../../auth/codex/issuer.ts'
import { createUser, githubVariables, inputOf, openGithub, type TestUser } from '../harness.ts'
import { listenForTest } from '../../listen-for-test.ts'

const hourMs = 3600_000
const dayMs = 24 * hourMs

function tokenFor(email: string, lifeMs: number): string {
  const seconds = Math.floor(Date.now() / 1000)
  return exampleJwt({
    email,
    iat: seconds,
    exp: seconds + lifeMs / 1000,
    'https://api.openai.com/auth': { chatgpt_account_id: 'acc-0001', chatgpt_plan_type: 'plus' },
  })
}

/** A user who has logged in to Codex. */
async function codexUser(
  lifeMs = 10 * dayMs,
  email = 'sam@example.com',
): Promise<TestUser & { readonly path: string }> {
  const user = await createUser()
  const id = codexRecordId('acc-0001')
  const path = join(user.home, 'auth', `${id}.json`)
  const accessToken = tokenFor(email, lifeMs)
  const nowSeconds = Math.floor(Date.now() / 1000)
  const metadata = {
    access_token: accessToken,
    refresh_token: 'example-refresh',
    account_id: 'acc-0001',
    email,
    plan: 'plus',
    expires_at: nowSeconds + lifeMs / 1000,
    last_refresh: nowSeconds,
    logged_in_at: nowSeconds,
  }
  await mkdir(join(user.home, 'auth'), { mode: 0o700 })
  await writeFile(path, JSON.stringify({ id, provider: 'codex', label: email, attributes: {}, metadata }), {
    mode: 0o600,
  })
  return { ...user, path }
}

/** A user whose Codex CLI has this file, and who asks for it to be used. */
async function cliUser(content: string | undefined): Promise<TestUser & { readonly path: string }> {
  const user = await createUser()
  const path = join(user.home, '.codex', 'auth.json')
  await mkdir(join(user.home, '.codex'))
  if (content !== undefined) await writeFile(path, content, { mode: 0o600 })
  user.env['COPILOT_PROXY_CODEX_USE_CLI_LOGIN'] = 'true'
  return { ...user, path }
}

function cliFile(lifeMs: number): string {
  const token = tokenFor('kim@example.com', lifeMs)
  const tokens = { id_token: token, access_token: token, refresh_token: 'example-refresh', account_id: 'acc-0002' }
  return JSON.stringify({ auth_mode: 'chatgpt', OPENAI_API_KEY: null, tokens, last_refresh: '2026-11-20T10:00:00Z' })
}

const json = async (user: TestUser) => {
  const { stdout, code } = await user.run('status --json')
  return { code, document: JSON.parse(stdout) }
}

describe('a login of its own', () => {
  test('is shown with account, plan, life and file, and is enough to exit with 0', async () => {
    const user = await codexUser()
    const { code, stdout, stderr } = await user.run('status')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Copilot +not logged in\. Run: copilot-proxy login$/m)
    expect(stdout).toMatch(/^Codex +sam@example\.com, ChatGPT plan plus$/m)
    expect(stdout).toMatch(/^Codex token +valid for (?:9 d 23 h|10 d), then renewed automatically$/m)
    expect(stdout).toContain(user.path)
    expect(stdout).not.toMatch(/eyJ|example-refresh/)
  })

  test.each([
    [30 * 60_000, /valid for 30 min,/],
    [5 * hourMs, /valid for (?:4 h 59 min|5 h),/],
    [-1000, /^Codex token +expired; the next request renews it$/m],
  ])('with %i ms left', async (lifeMs, words) => {
    const user = await codexUser(lifeMs)
    expect((await user.run('status')).stdout).toMatch(words)
  })

  test('is an object of its own in JSON, beside the login of Copilot', async () => {
    const user = await codexUser()
    const github = await openGithub()
    Object.assign(user.env, githubVariables(github))
    await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
    const { code, document } = await json(user)
    expect(code).toBe(0)
    expect(document).toMatchObject({
      login: { source: 'record', account: 'demo-user' },
      token: { state: 'usable' },
      problem: null,
      codex: {
        enabled: true,
        login: { source: 'record', account: 'sam@example.com', plan: 'plus', record: user.path },
        problem: null,
        token: { state: 'usable', expires_at: expect.stringMatching(/^\d{4}-.*Z$/) },
      },
    })
  })

  test('that cannot be read is reported, and exits with 1', async () => {
    const user = await createUser()
    await mkdir(join(user.home, 'auth'), { mode: 0o700 })
    await symlink('/nowhere.json', join(user.home, 'auth', 'codex-linked.json'))
    const { code, stdout, stderr } = await user.run('status')
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toMatch(/^Codex +.*codex-linked\.json is not a plain file/m)
    expect(await json(user)).toMatchObject({
      code: 1,
      document: { problem: null, codex: { login: null, problem: expect.stringContaining('codex-linked.json') } },
    })
  })

  test('cannot steer the terminal by what it calls itself', async () => {
    const user = await codexUser(dayMs, 'a\u001B[2J@example.com')
    expect((await user.run('status')).stdout).not.toContain('\u001B')
  })
})

const homeDir = (): never => {
  throw new Error('ENOENT')
}

describe('the login of Codex CLI', () => {
  test('is shown as such, read-only, and its file stays as it is', async () => {
    const content = cliFile(10 * dayMs)
    const user = await cliUser(content)
    const { mtimeMs } = await stat(user.path)
    const { code, stdout } = await user.run('status')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Codex +kim@example\.com, ChatGPT plan plus \(login of Codex CLI, read-only\)$/m)
    expect(stdout).toMatch(/^Codex token +valid .*, then renewed by Codex CLI$/m)
    expect(stdout).toContain(`Read from    ${user.path}`)
    expect(stdout).not.toMatch(/eyJ|example-refresh/)
    expect((await stat(user.path)).mtimeMs).toBe(mtimeMs)
    expect(await readFile(user.path, 'utf8')).toBe(content)
  })

  test('is found where CODEX_HOME says', async () => {
    const user = await createUser()
    await mkdir(join(user.home, 'elsewhere'))
    await writeFile(join(user.home, 'elsewhere', 'auth.json'), cliFile(dayMs))
    Object.assign(user.env, { COPILOT_PROXY_CODEX_USE_CLI_LOGIN: 'true', CODEX_HOME: 'elsewhere' })
    expect((await json(user)).document.codex).toMatchObject({
      login: { source: 'codex-cli', account: 'kim@example.com', record: join(user.home, 'elsewhere', 'auth.json') },
      token: { state: 'usable' },
    })
  })

  test('that has run out names who renews it', async () => {
    const { stdout } = await (await cliUser(cliFile(-hourMs))).run('status')
    expect(stdout).toMatch(/^Codex token +expired. Start codex once to renew it/m)
  })

  test('is missing: nobody is logged in, and the output says why', async () => {
    const user = await cliUser(undefined)
    const { code, stdout } = await user.run('status')
    expect(code).toBe(3)
    expect(stdout).toMatch(/^Codex +Codex CLI has no login in a file: .*copilot-proxy login codex/m)
  })

  test('that is cut short is a problem: exit 1, and nothing of it is repeated', async () => {
    const user = await cliUser('{"tokens":{"access_token":"example-secret')
    const { code, stdout } = await user.run('status')
    expect(code).toBe(1)
    expect(stdout).toContain(user.path)
    expect(stdout).not.toContain('example-secret')
  })

  test('without a home folder is a problem that says what to set', async () => {
    const user = await cliUser(undefined)
    for (const change of [{ homeDir }, { homeDir: () => '' }]) {
      const { code, stdout } = await user.run('status', change)
      expect(code).toBe(1)
      expect(stdout).toMatch(/^Codex +The folder of Codex CLI is unknown\. Set CODEX_HOME/m)
    }
  })
})

test('an API key is named and never shown', async () => {
  const user = await createUser()
  user.env['COPILOT_PROXY_CODEX_API_KEY'] = 'sk-example-key'
  const { code, stdout } = await user.run('status')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Codex +API key from codex\.api-key$/m)
  expect(stdout).not.toContain('sk-example-key')
  expect((await json(user)).document.codex.login).toMatchObject({ source: 'api-key' })
})

test('reports Codex as switched off, and ignores its login', async () => {
  const user = await codexUser()
  user.env['COPILOT_PROXY_CODEX_ENABLED'] = 'false'
  const { code, stdout } = await user.run('status')
  expect(code).toBe(3)
  expect(stdout).toMatch(/^Codex +off \(codex\.enabled: false\)$/m)
  expect((await json(user)).document.codex).toMatchObject({ enabled: false, login: null })
})

test('without any login it says how to get either, and exits with 3', async () => {
  const user = await createUser()
  const { code, stdout } = await user.run('status')
  expect(code).toBe(3)
  expect(stdout).toMatch(/^Copilot +not logged in\. Run: copilot-proxy login$/m)
  expect(stdout).toMatch(/^Codex +not logged in\. Run: copilot-proxy login codex$/m)
})

/** Something that answers like a daemon, on a port of its own until the test ends. */
async function answerHealth(health: object): Promise<number> {
  const daemon = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(health))
  })
  return listenForTest(daemon)
}

test('without a command, a Codex login is enough to serve: nobody is asked to log in to Copilot', async () => {
  const user = await codexUser()
  const port = await answerHealth({ ok: true, copilot: 'unavailable', version: '1.0.0' })
  user.env['COPILOT_PROXY_SERVER_PORT'] = String(port)
  expect(await user.run('')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('is already running'),
  })
})

test.each([
  [{ codex: 'ok' }, 'Copilot unavailable, Codex ok'],
  [{}, 'Copilot unavailable'],
  [{ codex: 'a\u001B[2J' }, 'Copilot unavailable, Codex a\\u001b[2J'],
  [{ codex: 1 }, 'Copilot unavailable'],
])('a daemon that says %j of Codex', async (said, words) => {
  const port = await answerHealth({ ok: true, copilot: 'unavailable', version: '1.0.0', ...said })
  const user = await createUser()
  user.env['COPILOT_PROXY_SERVER_PORT'] = String(port)
  const { stdout } = await user.run('status')
  expect(stdout.split('\n').find((line) => line.startsWith('Daemon'))).toMatch(/, version 1\.0\.0, /)
  expect(stdout).toContain(`${words}\n`)
})
