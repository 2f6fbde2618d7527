import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { CommandContext } from '../../../src/commands/shared/command.ts'
import { copilotRecordOf, copilotUser, logInToCodex } from './logged-in.ts'
import { createUser, openGithub, recordOutput } from '../harness.ts'
import type { TestUser } from '../harness.ts'
import { makeFolder } from '../../tools/session.ts'
import { listenForTest } from '../../listen-for-test.ts'
import type { Row } from './row.ts'

interface Report {
  readonly code: number
  readonly rows: readonly Row[]
  /** The rows of one check. */
  readonly of: (id: string, provider?: string) => readonly Row[]
  /** `id` or `id/provider` of everything that failed, in order. */
  readonly failed: readonly string[]
}

/** Runs `doctor --json`; whatever it says, it says no credential and nothing on stderr, and what fails has a fix. */
async function ask(user: TestUser, change: Partial<CommandContext> = {}): Promise<Report> {
  const { code, stdout, stderr } = await user.run('doctor --json', change)
  expect(stderr).toBe('')
  expect(stdout).not.toMatch(/gh[opsu]_\w|eyJ|rt_demo|sk-demo|tid=|example-password/)
  expect(stdout).not.toContain('\u001B')
  const { ok, checks }: { readonly ok: boolean; readonly checks: readonly Row[] } = JSON.parse(stdout)
  expect(ok).toBe(code === 0)
  for (const { status, fix } of checks) {
    expect(['ok', 'warning', 'failed', 'skipped']).toContain(status)
    expect(fix === null).toBe(status === 'ok' || status === 'skipped')
  }
  return {
    code,
    rows: checks,
    of: (id, provider) => checks.filter((row) => row.id === id && (row.provider ?? undefined) === provider),
    failed: checks
      .filter(({ status }) => status === 'failed')
      .map(({ id, provider }) => (provider === null ? id : `${id}/${provider}`)),
  }
}

describe('in order', () => {
  test('with both providers: every check passes or is a warning, in the order of putting things right', async () => {
    const { user } = await copilotUser()
    await logInToCodex(user)
    const { code, rows, of } = await ask(user)
    expect(code).toBe(0)
    expect(rows.map(({ id, provider }) => (provider === null ? id : `${id}/${provider}`))).toEqual([
      'config',
      'files',
      'trust',
      'proxy',
      'network/copilot',
      'network/codex',
      'tls/copilot',
      'tls/codex',
      'clock',
      'login/copilot',
      'login/codex',
      'token/copilot',
      'token/codex',
      'entitlement/copilot',
      'entitlement/codex',
      'models/copilot',
      'models/codex',
      'port',
      'daemon',
      'callers',
      'policy',
      'clients',
      'runtime',
    ])
    expect(
      rows.filter(({ status, id }) => status !== 'ok' && !['runtime', 'daemon', 'proxy', 'policy'].includes(id)),
    ).toEqual([
      {
        id: 'models',
        provider: 'copilot',
        status: 'warning',
        detail: expect.stringContaining('claude-opus-4.5'),
        fix: expect.stringContaining('https://github.com/settings/copilot/features'),
      },
    ])
    expect(of('login', 'copilot')[0]?.detail).toBe('demo-user, Copilot Pro')
    expect(of('entitlement', 'copilot')[0]?.detail).toMatch(/267 of 300 premium requests left/)
    expect(of('login', 'codex')[0]?.detail).toBe('demo@example.com, ChatGPT plan plus')
  })

  test('as text: a line for each finding, what helps under it, and a last line', async () => {
    const { user } = await copilotUser()
    const { code, stdout, stderr } = await user.run('doctor')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^ok +Login, Copilot +demo-user, Copilot Pro$/m)
    expect(stdout).not.toContain('Token, Codex')
    expect((await user.run('doctor --verbose')).stdout).toMatch(
      /^skipped +Token, Codex +The check "Login, Codex" did not pass$/m,
    )
    expect(stdout).toMatch(
      /^warning +Models, Copilot .*claude-opus-4\.5, gemini-3\.1-pro-preview, grok-4\.5\n {20,}Enable them with: copilot-proxy models/m,
    )
    expect(stdout).toMatch(/\n\d checks skipped \(--verbose shows them\)\.\nNo check failed, \d warnings?\.\n$/)
    expect(stdout).not.toContain('\u001B')
  })

  test('with Codex alone, nobody asks GitHub, and that nobody is logged in there is no failure', async () => {
    const github = await openGithub({ record: 10 })
    const user = await createUser(github)
    await logInToCodex(user)
    const { code, of } = await ask(user)
    expect(code).toBe(0)
    expect(of('login', 'copilot')).toMatchObject([{ status: 'skipped' }])
    expect(of('network', 'copilot')).toMatchObject([{ status: 'skipped', detail: 'Not used' }])
    expect(github.log).toEqual([])
  })

  test('with an API key for Codex, only the host of keys is asked', async () => {
    const user = await createUser()
    const { codex } = await logInToCodex(user)
    Object.assign(user.env, {
      COPILOT_PROXY_CODEX_API_KEY: codex.apiKey,
      COPILOT_PROXY_CODEX_API_BASE_URL: codex.apiBaseUrl,
    })
    const { code, of } = await ask(user)
    expect(code).toBe(0)
    expect(of('token', 'codex')).toMatchObject([{ status: 'ok' }])
    expect(of('entitlement', 'codex')).toMatchObject([{ status: 'ok', detail: expect.stringContaining('API key') }])
    user.env['COPILOT_PROXY_CODEX_API_KEY'] = 'sk-another-example'
    expect((await ask(user)).of('token', 'codex')).toMatchObject([
      { status: 'failed', fix: expect.stringContaining('codex.api-key') },
    ])
  })

  test.skipIf(process.platform !== 'linux')('who may call, by the settings (Linux)', async () => {
    const user = await createUser()
    const callers = async () => (await ask(user)).of('callers')
    expect(await callers()).toMatchObject([
      { status: 'ok', detail: expect.stringContaining('Only programs of your user') },
    ])
    user.env['COPILOT_PROXY_SERVER_CHECK_PEER'] = 'false'
    expect(await callers()).toMatchObject([{ status: 'warning', detail: expect.stringContaining('check-peer') }])
    user.env['COPILOT_PROXY_SERVER_API_KEYS'] = 'example-key'
    expect(await callers()).toMatchObject([{ status: 'ok', detail: 'Every caller needs a key' }])
  })

  test('changes nothing on the disk', async () => {
    const { user } = await copilotUser()
    const { path: codexPath } = await logInToCodex(user)
    const path = await copilotRecordOf(user)
    const before = [await stat(path), await stat(codexPath)].map(({ mtimeMs, ino }) => [mtimeMs, ino])
    await ask(user)
    expect([await stat(path), await stat(codexPath)].map(({ mtimeMs, ino }) => [mtimeMs, ino])).toEqual(before)
    expect(await readdir(user.home)).toEqual(['auth'])
  })
})

test.each([
  [{ ALL_PROXY: 'socks5://ada:example-password@127.0.0.1:9' }, 'warning'],
  [{ all_proxy: 'socks5h://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9' }, 'skipped'],
  [{ ALL_PROXY: 'http://127.0.0.1:9' }, 'skipped'],
])('a SOCKS proxy that nothing replaces is named: %j', async (env, status) => {
  const { user } = await copilotUser()
  Object.assign(user.env, env)
  const rows = (await ask(user)).of('proxy')
  expect(rows).toMatchObject([{ status }])
  if (status === 'skipped') return
  expect(rows).toMatchObject([
    {
      detail: expect.stringMatching(/^ALL_PROXY names a SOCKS proxy/),
      fix: expect.stringContaining('set HTTPS_PROXY to'),
    },
  ])
})

describe('nobody is logged in', () => {
  test('is the only failure, and exits with 3', async () => {
    const github = await openGithub()
    const user = await createUser(github)
    user.env['COPILOT_PROXY_COPILOT_BASE_URL'] = github.url
    const { code, failed, of } = await ask(user)
    expect({ code, failed }).toEqual({ code: 3, failed: ['login/copilot'] })
    expect(of('login', 'copilot')).toMatchObject([{ fix: 'Run: copilot-proxy login' }])
    expect(of('login', 'codex')).toMatchObject([{ status: 'skipped' }])
    expect(of('network', 'copilot')).toMatchObject([{ status: 'ok' }])
    expect(of('token', 'copilot')).toMatchObject([
      { status: 'skipped', detail: 'The check "Login, Copilot" did not pass' },
    ])
  })

  test('and something else failed too: exits with 1', async () => {
    const github = await openGithub()
    const user = await createUser(github)
    user.env['COPILOT_PROXY_COPILOT_BASE_URL'] = github.url
    const { code } = await ask(user, { now: () => Date.now() + 3600_000 })
    expect(code).toBe(1)
  })
})

describe('logins that are of no use any more', () => {
  test('a real exchange detects a revoked GitHub token, although a Copilot token is still stored', async () => {
    const { github, user } = await copilotUser()
    github.tokens.revokeAll()
    const { code, failed, of } = await ask(user)
    expect({ code, failed }).toEqual({ code: 1, failed: ['token/copilot'] })
    expect(of('token', 'copilot')).toMatchObject([{ fix: 'Run: copilot-proxy login' }])
    expect(of('models', 'copilot')).toMatchObject([{ status: 'skipped' }])
  })

  test('one of the environment is named, and not the stored one', async () => {
    const { user } = await copilotUser()
    user.env['COPILOT_GITHUB_TOKEN'] = 'ghu_example0000'
    const { of } = await ask(user)
    expect(of('login', 'copilot')).toMatchObject([{ detail: expect.stringContaining('COPILOT_GITHUB_TOKEN') }])
    expect(of('token', 'copilot')).toMatchObject([{ fix: 'Set COPILOT_GITHUB_TOKEN to a valid token' }])
  })

  test('a missing seat is reported once, as a matter of the plan', async () => {
    const { user } = await copilotUser()
    const seatless = await openGithub({ settings: { entitlementProblem: 'no_copilot_access' } })
    Object.assign(user.env, {
      COPILOT_GITHUB_TOKEN: seatless.tokens.issueGithub(),
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: seatless.url,
    })
    const { code, failed, of } = await ask(user)
    expect({ code, failed }).toEqual({ code: 1, failed: ['entitlement/copilot'] })
    expect(of('entitlement', 'copilot')).toMatchObject([
      {
        detail: expect.stringMatching(/^This GitHub account has no Copilot plan\. \(GitHub request id /),
        fix: expect.stringContaining('Start a plan'),
      },
    ])
    expect(of('token', 'copilot')).toMatchObject([{ status: 'skipped' }])
  })

  test('a revoked ChatGPT login says what to run', async () => {
    const user = await createUser()
    const { codex } = await logInToCodex(user)
    codex.logins.revokeAll()
    const { code, failed, of } = await ask(user)
    expect({ code, failed }).toEqual({ code: 1, failed: ['token/codex'] })
    expect(of('token', 'codex')[0]?.fix).toContain('copilot-proxy login codex')
  })

  test('an expired ChatGPT token is renewed once, as a request would, and what came is stored', async () => {
    const user = await createUser()
    const { codex, path } = await logInToCodex(user, -10)
    const refreshOf = async (): Promise<string> => JSON.parse(await readFile(path, 'utf8')).metadata.refresh_token
    const before = await refreshOf()
    expect((await ask(user)).of('token', 'codex')).toMatchObject([{ status: 'ok' }])
    const after = await refreshOf()
    expect(after).not.toBe(before)
    expect((await ask(user)).of('token', 'codex')).toMatchObject([{ status: 'ok' }])
    expect(await refreshOf()).toBe(after)
    expect(codex.count('/oauth/token')).toBe(1)
  })

  test('a login of Codex CLI that was asked for and is not there', async () => {
    const user = await createUser()
    user.env['COPILOT_PROXY_CODEX_USE_CLI_LOGIN'] = 'true'
    const { failed, of } = await ask(user)
    expect(failed).toContain('login/codex')
    expect(of('login', 'codex')[0]?.detail).toMatch(/^Codex CLI has no login in a file/)
  })

  test('a login of Codex CLI whose folder is unknown says what to set', async () => {
    const user = await createUser()
    user.env['COPILOT_PROXY_CODEX_USE_CLI_LOGIN'] = 'true'
    const { of } = await ask(user, { homeDir: () => '' })
    expect(of('login', 'codex')).toMatchObject([
      { status: 'failed', detail: 'The folder of Codex CLI is unknown', fix: 'Set CODEX_HOME to an absolute path' },
    ])
  })
})

describe('clock', () => {
  test.each([
    [120_000, 'warning', 0],
    [-600_000, 'failed', 1],
  ])('%i ms off', async (offMs, status, expected) => {
    const { user } = await copilotUser()
    const { code, of } = await ask(user, { now: () => Date.now() + offMs })
    expect(of('clock')).toMatchObject([{ status, fix: expect.stringContaining('Set the clock') }])
    expect(code).toBe(expected)
  })
})

describe('port', () => {
  test('held by somebody else', async () => {
    const { user } = await copilotUser()
    user.env['COPILOT_PROXY_SERVER_PORT'] = String(await listenForTest(createServer((socket) => socket.destroy())))
    const { code, failed, of } = await ask(user)
    expect({ code, failed }).toEqual({ code: 1, failed: ['port'] })
    expect(of('port')[0]?.fix).toContain('copilot-proxy serve --port 0')
  })

  test('held by a daemon of ours', async () => {
    const { user } = await copilotUser()
    const stop = new AbortController()
    const { promise, resolve } = Promise.withResolvers<string>()
    const stdout = { ...recordOutput(), write: (text: string) => resolve(text) }
    const served = user.run('serve --port 0 --log-level silent', { stdout, signal: stop.signal })
    user.env['COPILOT_PROXY_SERVER_PORT'] = /:(\d+)\n/.exec(await promise)?.[1]
    expect((await ask(user)).of('port')).toMatchObject([
      { status: 'ok', detail: expect.stringContaining('runs on port') },
    ])
    expect((await ask(user, { version: '9.9.9' })).of('port')).toMatchObject([{ status: 'warning' }])
    stop.abort('SIGTERM')
    await served
  })
})

describe('configuration that is not valid', () => {
  test('exits with 2, names line and key, sends a login nowhere, and looks at the rest', async () => {
    const { github, user } = await copilotUser()
    const asked = github.log.length
    await writeFile(join(user.home, 'config.yaml'), 'server:\n  body-limit-mb: many\n  hots: x\n')
    const { code, of, rows } = await ask(user)
    expect(code).toBe(2)
    expect(of('config')).toMatchObject([
      { status: 'failed', detail: expect.stringMatching(/config\.yaml:2:\d+ {2}server\.body-limit-mb/) },
      { status: 'failed', detail: expect.stringMatching(/config\.yaml:3:\d+ {2}server\.hots/) },
    ])
    expect(of('config')[0]?.fix).toMatch(
      /^Fix server\.body-limit-mb in .*config\.yaml:2:\d+\. To check: copilot-proxy config check$/,
    )
    expect(of('files')).toMatchObject([{ status: 'ok' }])
    expect(of('clients')).toMatchObject([{ status: 'ok' }])
    expect(rows.filter(({ detail }) => detail === 'The check "Configuration" did not pass').length).toBeGreaterThan(10)
    expect(github.log.length).toBe(asked)
  })

  test.each([
    ['HTTPS_PROXY', 'socks5://user:example-password@p.example'],
    ['COPILOT_PROXY_HOME', 'relative'],
  ])('%s=%s', async (name, value) => {
    const user = await createUser()
    user.env[name] = value
    expect(await ask(user)).toMatchObject({ code: 2, failed: ['config'] })
  })
})

describe('files', () => {
  test('open to others are a warning with the command, and stay as they are', async () => {
    const { user } = await copilotUser()
    const path = await copilotRecordOf(user)
    await chmod(path, 0o644)
    await chmod(join(user.home, 'auth'), 0o755)
    const { code, of } = await ask(user)
    expect(code).toBe(0)
    expect(of('files')).toMatchObject([
      { status: 'warning', fix: `Run: chmod 700 ${join(user.home, 'auth')}` },
      { status: 'warning', fix: `Run: chmod 600 ${path}` },
    ])
    expect((await stat(path)).mode & 0o777).toBe(0o644)
    expect((await stat(join(user.home, 'auth'))).mode & 0o777).toBe(0o755)
  })

  test('are failures under auth.strict-permissions', async () => {
    const { user } = await copilotUser()
    await chmod(await copilotRecordOf(user), 0o644)
    user.env['COPILOT_PROXY_AUTH_STRICT_PERMISSIONS'] = 'true'
    expect(await ask(user)).toMatchObject({ code: 1, failed: ['files', 'login/copilot'] })
  })

  test('a configuration that holds a key', async () => {
    const { user } = await copilotUser()
    const path = join(user.home, 'config.yaml')
    await writeFile(path, 'server:\n  api-keys: [example-password-0123456789]\n', { mode: 0o644 })
    expect((await ask(user)).of('files')).toMatchObject([
      { status: 'warning', detail: expect.stringContaining('server.api-keys'), fix: `Run: chmod 600 ${path}` },
    ])
  })

  test('a link where a record belongs', async () => {
    const user = await createUser()
    await mkdir(join(user.home, 'auth'), { mode: 0o700 })
    await symlink('/nowhere.json', join(user.home, 'auth', 'copilot-linked.json'))
    const { failed, of } = await ask(user)
    expect(failed).toEqual(expect.arrayContaining(['files', 'login/copilot']))
    expect(of('login', 'copilot')[0]?.detail).toContain('copilot-linked.json is not a plain file')
  })

  test('a truncated record is reported and left in place', async () => {
    const user = await createUser()
    const path = join(user.home, 'auth', 'copilot-broken.json')
    await mkdir(join(user.home, 'auth'), { mode: 0o700 })
    await writeFile(path, '{"id":', { mode: 0o600 })
    const { of } = await ask(user)
    expect(of('login', 'copilot')).toMatchObject([
      { status: 'failed', detail: `${path} is not usable: it is not valid JSON. Log in again: copilot-proxy login` },
    ])
    expect(of('login', 'copilot')[0]?.fix).toContain('copilot-proxy login')
    expect(await readdir(join(user.home, 'auth'))).toEqual(['copilot-broken.json'])
  })
})

describe('the report as text', () => {
  test('shows the same failure of several hosts and providers once', async () => {
    const { user } = await copilotUser()
    await logInToCodex(user)
    Object.assign(user.env, {
      COPILOT_PROXY_COPILOT_BASE_URL: 'http://127.0.0.1:1',
      COPILOT_PROXY_CODEX_BASE_URL: 'http://127.0.0.1:2/codex',
    })
    const { code, stdout } = await user.run('doctor')
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^failed +Network +Cannot reach 127\.0\.0\.1:1, 127\.0\.0\.1:2: the connection was refused \(ECONNREFUSED\)\n +Check the firewall/m,
    )
    expect(stdout.match(/Cannot reach/g)).toHaveLength(1)
    expect(stdout).toMatch(/\n1 check failed(?:, \d warnings?)?\.\n$/)
  })

  test('ends with the number of failures, and what to fix first', async () => {
    const { user } = await copilotUser()
    user.env['COPILOT_PROXY_COPILOT_BASE_URL'] = 'http://127.0.0.1:1'
    user.env['NODE_EXTRA_CA_CERTS'] = '/nowhere.pem'
    const { stdout } = await user.run('doctor')
    expect(stdout).toMatch(/\n2 checks failed(?:, \d warnings?)?; fix the first one first\.\n$/)
  })
})

describe('network', () => {
  test('an unreachable host is reported once, and checks that need it are skipped', async () => {
    const { user } = await copilotUser()
    user.env['COPILOT_PROXY_COPILOT_BASE_URL'] = 'http://127.0.0.1:1'
    const { code, failed, of } = await ask(user)
    expect({ code, failed }).toEqual({ code: 1, failed: ['network/copilot'] })
    expect(of('network', 'copilot')).toMatchObject([
      { detail: expect.stringMatching(/^Cannot reach 127\.0\.0\.1:1: /) },
    ])
    expect(of('token', 'copilot')).toMatchObject([{ status: 'ok' }])
    expect(of('models', 'copilot')).toMatchObject([
      { status: 'skipped', detail: 'The check "Network, Copilot" did not pass' },
    ])
  })

  test('an interrupt ends it at once, whoever is waited for', async () => {
    const { user } = await copilotUser()
    const { promise: connected, resolve } = Promise.withResolvers<void>()
    const silent = await listenForTest(createServer(() => resolve()))
    user.env['COPILOT_PROXY_COPILOT_BASE_URL'] = `http://127.0.0.1:${silent}`
    const stop = new AbortController()
    const ran = user.run('doctor --json', { signal: stop.signal })
    await connected
    stop.abort('SIGINT')
    expect(await ran).toEqual({ code: 130, stdout: '', stderr: '' })
  })
})

test('what is set for the clients is judged by the address in force', async () => {
  const { user } = await copilotUser()
  Object.assign(user.env, { COPILOT_PROXY_SERVER_PORT: '2', ANTHROPIC_BASE_URL: 'http://127.0.0.1:2/v1' })
  await mkdir(join(user.home, '.codex'))
  await writeFile(
    join(user.home, '.codex', 'config.toml'),
    'model_provider="o"\n[model_providers.o]\nbase_url="https://o.example"',
  )
  expect((await ask(user)).of('clients')).toMatchObject([
    { status: 'warning', fix: 'Set ANTHROPIC_BASE_URL=http://127.0.0.1:2' },
    { status: 'warning', detail: expect.stringContaining('sends Codex CLI to o.example') },
    { status: 'warning', detail: expect.stringContaining('is not running') },
  ])
})

test('clients that are set up for a daemon that is not running are named, and others are not', async () => {
  const { user } = await copilotUser()
  Object.assign(user.env, { COPILOT_PROXY_SERVER_PORT: '2' })
  expect((await ask(user)).of('clients')).toMatchObject([{ status: 'ok' }])
  await mkdir(join(user.home, '.claude'))
  const claude = { env: { ANTHROPIC_BASE_URL: 'http://localhost:2' } }
  await writeFile(join(user.home, '.claude', 'settings.json'), JSON.stringify(claude))
  await mkdir(join(user.home, '.config', 'opencode'), { recursive: true })
  const opencode = { provider: { foreign: { options: { baseURL: 'https://o.example/v1' } } } }
  await writeFile(join(user.home, '.config', 'opencode', 'opencode.json'), JSON.stringify(opencode))
  expect((await ask(user)).of('clients')).toEqual([
    expect.objectContaining({
      status: 'warning',
      detail: 'copilot-proxy is not running, and these clients are set up to use it: Claude Code',
      fix: expect.stringMatching(/^Run: copilot-proxy start /),
    }),
  ])
})

/** A user in a folder, which has none of the program's own files, and the rows about its policies. */
async function userIn(folder: string) {
  const user = await createUser()
  const inFolder = { workingDir: () => folder }
  return {
    user,
    policies: async () => (await ask(user, inFolder)).of('policy'),
    confirm: () => user.run('policy trust --yes', inFolder),
  }
}

describe('policies of the workspace of the current folder', () => {
  const allowing = 'shell:\n  allow: [npm test]\n'

  test('are none in an ordinary folder, and nobody looks for them in its subfolders', async () => {
    const folder = await makeFolder({ 'inner/.agent-policy.yaml': allowing })
    const { policies } = await userIn(folder)
    expect(await policies()).toMatchObject([{ status: 'skipped', detail: 'This folder is no workspace with a policy' }])
  })

  test('that came with the folder allow nothing until somebody has confirmed them', async () => {
    const folder = await makeFolder({ '.agent-policy.yaml': allowing })
    const { policies, confirm } = await userIn(folder)
    expect(await policies()).toEqual([
      {
        id: 'policy',
        provider: null,
        status: 'warning',
        detail: `Not confirmed, so it allows nothing: .agent-policy.yaml in ${folder}`,
        fix: 'Read and confirm it: copilot-proxy policy trust',
      },
    ])
    await confirm()
    expect(await policies()).toMatchObject([{ status: 'ok', detail: `The policy of ${folder} is confirmed` }])
    await writeFile(join(folder, '.agent-policy.yaml'), `${allowing}# changed\n`)
    expect(await policies()).toMatchObject([{ status: 'warning' }])
  })

  test('of subfolders count, if the folder belongs to a configured workspace', async () => {
    const folder = await makeFolder({ 'inner/.agent-policy.yaml': allowing, 'other/a.txt': '' })
    const { user, policies, confirm } = await userIn(join(folder, 'other'))
    await writeFile(join(user.home, 'config.yaml'), `workspaces: [{ path: ${JSON.stringify(folder)} }]\n`)
    expect(await policies()).toMatchObject([
      { status: 'warning', detail: `Not confirmed, so it allows nothing: inner/.agent-policy.yaml in ${folder}` },
    ])
    await confirm()
    expect(await policies()).toMatchObject([{ status: 'ok' }])
  })

  test('that only deny need no confirmation, and invalid ones say where to look', async () => {
    const folder = await makeFolder({ '.agent-policy.yaml': 'writes:\n  deny: [gen]\n' })
    const { policies } = await userIn(folder)
    expect(await policies()).toMatchObject([{ status: 'ok' }])
    await writeFile(join(folder, '.agent-policy.yaml'), 'shell: [')
    expect(await policies()).toMatchObject([
      {
        status: 'warning',
        detail: expect.stringContaining('.agent-policy.yaml'),
        fix: expect.stringContaining('policy check'),
      },
    ])
  })
})

test('what others wrote cannot steer the terminal', async () => {
  const user = await createUser()
  user.env['NODE_EXTRA_CA_CERTS'] = '/nowhere/\u001B[2J.pem'
  const { stdout } = await user.run('doctor')
  expect(stdout).toContain('\\u001b[2J.pem')
  expect(stdout).not.toContain('\u001B')
})
