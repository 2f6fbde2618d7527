import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { statusReport } from '../../src/api/status.ts'
import { createUser, inputOf, openGithub, recordOutput } from './harness.ts'
import type { TestUser } from './harness.ts'
import { jsonReply } from '../upstreams/http/outcome.ts'
import type { CopilotOptions, CopilotUpstream } from '../upstreams/copilot.ts'
import { listenForTest } from '../listen-for-test.ts'

async function loggedIn(
  options: CopilotOptions = {},
): Promise<{ readonly github: CopilotUpstream; readonly user: TestUser }> {
  const github = await openGithub(options)
  const user = await createUser(github)
  await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
  return { github, user }
}

const json = async (user: TestUser, commandLine: string) => {
  const { stdout, code } = await user.run(`${commandLine} --json`)
  return { code, document: JSON.parse(stdout) }
}

describe('status', () => {
  test('shows account, plan, token, files and that no daemon runs, without asking GitHub', async () => {
    const { github, user } = await loggedIn({ record: 100 })
    const asked = github.log.length
    const { code, stdout } = await user.run('status')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Copilot +demo-user at 127\.0\.0\.1:\d+, Copilot Pro$/m)
    expect(stdout).toMatch(/^Token +valid for 26 min, then renewed automatically$/m)
    expect(stdout).toMatch(/^Daemon +not running at http:\/\/127\.0\.0\.1:2\. Run: copilot-proxy start$/m)
    expect(stdout).toMatch(/^Config +.*config\.yaml \(does not exist; using the defaults\)$/m)
    expect(github.log.length).toBe(asked)
  })

  test('says when the token has expired', async () => {
    const { user } = await loggedIn()
    const { stdout } = await user.run('status', { now: () => Date.now() + 3600_000 })
    expect(stdout).toMatch(/^Token +expired; the next request renews it$/m)
  })

  test('shows what is wrong with an invalid configuration, and everything else', async () => {
    const { user } = await loggedIn()
    await writeFile(join(user.home, 'config.yaml'), 'server:\n  prot: 1\nlog: { level: loud }\n')
    const { code, stdout } = await user.run('status')
    expect(code).toBe(2)
    expect(stdout).toMatch(/^Copilot +demo-user at/m)
    expect(stdout).toMatch(/^Daemon +not running at \S+$/m)
    expect(stdout).toMatch(/^Config +invalid\. Run: copilot-proxy config edit$/m)
    expect(stdout).toMatch(/^ +\S+config\.yaml:2:3 {2}server\.prot {2}unknown key `prot`, did you mean `port`\?$/m)
    expect(stdout).toMatch(/^ +\S+config\.yaml:3:15 {2}log\.level {2}expected one of/m)
    const asJson = await json(user, 'status')
    expect(asJson).toMatchObject({
      code: 2,
      document: {
        login: { account: 'demo-user' },
        config: { exists: true, valid: false, problems: [{ key: 'server.prot' }, { key: 'log.level' }] },
      },
    })
  })

  test('does not call somebody logged out whose store an invalid configuration hides', async () => {
    const user = await createUser()
    await writeFile(join(user.home, 'config.yaml'), 'auth: { store: keychan }\n')
    expect((await user.run('status')).stdout).toMatch(/^Copilot +unknown, because the configuration is invalid$/m)
  })

  test('is one JSON document', async () => {
    const { user } = await loggedIn()
    const found = await json(user, 'status')
    expect(statusReport.parse(found.document)).toEqual(found.document)
    expect(found).toEqual({
      code: 0,
      document: {
        version: '0.0.0-test',
        login: {
          source: 'record',
          account: 'demo-user',
          host: expect.stringContaining('127.0.0.1'),
          plan: 'Copilot Pro',
          sku: expect.any(String),
          record: expect.stringContaining(user.home),
        },
        problem: null,
        store: 'file',
        token: { state: 'usable', expires_at: expect.stringMatching(/^\d{4}-.*Z$/) },
        codex: {
          enabled: true,
          login: null,
          problem: null,
          advice: 'not logged in. Run: copilot-proxy login codex',
          token: { state: 'none', expires_at: null },
        },
        daemon: {
          url: 'http://127.0.0.1:2',
          running: false,
          version: null,
          copilot: null,
          codex: null,
          demo: null,
          caller_key: null,
          config: null,
        },
        tool_failures: [],
        background: null,
        config: { path: join(user.home, 'config.yaml'), exists: false, valid: true, problems: [] },
      },
    })
  })

  test.each([
    [{ copilot: 'ok' }, 'Copilot ok', 'ok'],
    [{ copilot: 'unavailable' }, 'Copilot unavailable; run: copilot-proxy doctor', 'ok'],
    [
      { copilot: 'ok', config: 'invalid' },
      'Copilot ok; it uses older settings, because its configuration file is empty or invalid',
      'invalid',
    ],
  ])('of a daemon that says %j', async (said, words, config) => {
    const { user } = await loggedIn()
    const daemon = createServer((_request, reply) => reply.end(JSON.stringify({ ok: true, version: '1.0.0', ...said })))
    user.env['COPILOT_PROXY_SERVER_PORT'] = String(await listenForTest(daemon))
    expect((await user.run('status')).stdout).toContain(`, version 1.0.0, ${words}\n`)
    expect((await json(user, 'status')).document.daemon).toMatchObject({ config })
  })

  test('exits with 3 when nobody is logged in', async () => {
    const user = await createUser()
    expect(await json(user, 'status')).toMatchObject({ code: 3, document: { login: null, token: { state: 'none' } } })
    expect(await user.run('status')).toMatchObject({ code: 3, stdout: expect.stringContaining('copilot-proxy login') })
  })

  test('knows the token of the environment', async () => {
    const user = await createUser()
    user.env['COPILOT_GITHUB_TOKEN'] = 'ghu_example'
    const { code, stdout } = await user.run('status')
    expect(code).toBe(0)
    expect(stdout).toContain('token from COPILOT_GITHUB_TOKEN')
    expect(stdout).not.toContain('ghu_example')
  })

  test('tells of a record that cannot be used, and leaves it where it is', async () => {
    const user = await createUser()
    await mkdir(join(user.home, 'auth'), { mode: 0o700 })
    const path = join(user.home, 'auth', 'copilot-broken.json')
    await writeFile(path, '{"id":', { mode: 0o600 })
    const { code, stdout, stderr } = await user.run('status')
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toContain(`${path} is not usable: it is not valid JSON. Log in again: copilot-proxy login`)
    expect(await readFile(path, 'utf8')).toBe('{"id":')
  })
})

/** A user with a link where a record belongs, which is not read. */
async function linked(): Promise<TestUser> {
  const user = await createUser()
  await mkdir(join(user.home, 'auth'), { mode: 0o700 })
  await symlink('/nowhere.json', join(user.home, 'auth', 'copilot-linked.json'))
  return user
}

describe('a record that cannot be read', () => {
  test('status shows everything else, names the problem once and exits with 1', async () => {
    const user = await linked()
    const { code, stdout, stderr } = await user.run('status')
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toMatch(/^Copilot +.*copilot-linked\.json is not a plain file/m)
    expect(stdout.split('copilot-linked.json')).toHaveLength(2)
    expect(stdout).toMatch(/^Daemon +not running/m)
    expect(stdout).toMatch(/^Config /m)
  })

  test('status --json is a document all the same', async () => {
    expect(await json(await linked(), 'status')).toMatchObject({
      code: 1,
      document: {
        login: null,
        problem: expect.stringContaining('copilot-linked.json is not a plain file'),
        token: { state: 'none' },
        daemon: { running: false },
        config: { exists: false },
      },
    })
  })

  test.each(['usage', 'models', ''])('"%s" tells of it once', async (commandLine) => {
    const { code, stdout, stderr } = await (await linked()).run(commandLine)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr.match(/is not a plain file/g)).toHaveLength(1)
  })
})

describe('usage', () => {
  test('draws a bar for each quota and names the day it starts over', async () => {
    const { user } = await loggedIn()
    const { code, stdout } = await user.run('usage')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Copilot Pro of demo-user$/m)
    expect(stdout).toMatch(/^premium requests +\[#+-*\] \d+ % {2}[\d.]+ of \d+ left$/m)
    expect(stdout).toMatch(/^chat +unlimited$/m)
    expect(stdout).toMatch(/^Resets on \d{4}-\d\d-\d\d/m)
  })

  test('counts credits where the account is billed so', async () => {
    const { user } = await loggedIn({ settings: { tokenBasedBilling: true } })
    expect((await user.run('usage')).stdout).toMatch(/^AI credits/m)
  })

  test('shows a pool that is used up as nothing left, and doctor as spent', async () => {
    const { github, user } = await loggedIn()
    const pooled = { unlimited: true, has_quota: false, entitlement: -1, remaining: -1, overage_permitted: true }
    const outcome = jsonReply(200, { copilot_plan: 'business', quota_snapshots: { premium_interactions: pooled } })
    github.script('/copilot_internal/user', { outcome, times: 3 })
    expect((await user.run('usage')).stdout).toMatch(/^premium requests +\[-+\] +0 % {2}0 left$/m)
    expect(await json(user, 'usage')).toMatchObject({
      document: { quotas: [{ id: 'premium_interactions', unlimited: false, remaining: 0, percent_remaining: 0 }] },
    })
    expect((await user.run('doctor')).stdout).toContain('Copilot Business: the premium requests are used up')
  })

  test('shows the free plan', async () => {
    const { user } = await loggedIn({ settings: { plan: 'free' } })
    const { stdout } = await user.run('usage')
    expect(stdout).toMatch(/^Copilot Free/m)
    expect(stdout).toMatch(/^chat +\[/m)
  })

  test('is one JSON document', async () => {
    const { user } = await loggedIn()
    const { code, document } = await json(user, 'usage')
    expect(code).toBe(0)
    expect(document).toMatchObject({ login: 'demo-user', plan: 'individual', totals: { today: [] }, budgets: [] })
    expect(document.quotas).toContainEqual(expect.objectContaining({ id: 'chat', unlimited: true }))
  })

  test('exits with 3 when nobody is logged in, with 1 when the login was revoked', async () => {
    const { github, user } = await loggedIn()
    github.tokens.revokeAll()
    expect(await user.run('usage')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Run: copilot-proxy login'),
    })
    await user.run('logout')
    expect(await user.run('usage')).toMatchObject({ code: 3, stdout: '' })
  })
})

describe('models', () => {
  test('lists the models of the account with what they can do, without a daemon', async () => {
    const { user } = await loggedIn()
    const { code, stdout } = await user.run('models')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^MODEL +VENDOR +CONTEXT +OUTPUT +CREDITS +CAN +THINKING +CHAT +RESP +MSGS +STATE$/m)
    expect(stdout).toMatch(/^gpt-5-mini +OpenAI +264k +64k +25\/200 +tools vision +low-high +yes +yes +resp$/m)
    expect(stdout).toMatch(/^text-embedding-3-small .* {2}embeddings +- +- +-$/m)
  })

  test('shows which routes of a model are translated, and no endpoint of another transport', async () => {
    const { user } = await loggedIn()
    const { stdout } = await user.run('models')
    expect(stdout).toMatch(/^gpt-5\.4 .* {2}resp +yes +resp$/m)
    expect(stdout).not.toContain('ws:')
  })

  test('fits a narrow terminal', async () => {
    const { user } = await loggedIn()
    const output = recordOutput(40)
    await user.run('models', { stdout: output })
    expect(output.text()).toMatch(/^MODEL +CONTEXT +CREDITS\n/)
    expect(output.text()).toMatch(/^gpt-5-mini +264k +25\/200$/m)
  })

  test('is one JSON document of the shape of /v1/models', async () => {
    const { user } = await loggedIn()
    const { code, document } = await json(user, 'models')
    expect(code).toBe(0)
    expect(document.object).toBe('list')
    expect(document.data).toContainEqual(
      expect.objectContaining({ id: 'gpt-5-mini', copilot_proxy: expect.objectContaining({ provider: 'copilot' }) }),
    )
  })

  test('exits with 3 when nobody is logged in, with 1 when Copilot refuses', async () => {
    const { github, user } = await loggedIn()
    github.configure({ entitlementProblem: 'subscription_ended' })
    const later = { now: () => Date.now() + 3600_000 }
    expect(await user.run('models', later)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('plan of this account has ended'),
    })
    await user.run('logout')
    expect(await user.run('models')).toMatchObject({ code: 3 })
  })
})
