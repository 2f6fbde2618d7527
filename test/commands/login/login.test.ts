import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { jsonReply, textReply } from '../../upstreams/http/outcome.ts'
import { createUser, inputOf, openGithub, recordOutput } from '../harness.ts'
import type { CopilotUpstream } from '../../upstreams/copilot.ts'

async function recordsOf(home: string): Promise<readonly string[]> {
  const names = await readdir(join(home, 'auth')).catch(() => [])
  return names.filter((name) => name.endsWith('.json'))
}

describe('login with a code', () => {
  test('shows address and code, names account and plan, and stores the login for the user alone', async () => {
    const github = await openGithub({ polls: ['pending', 'slow_down', 'unavailable', 'html', 'drop'] })
    const user = await createUser(github)
    const { code, stdout, stderr } = await user.run('login --no-browser')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`${github.url}/login/device`)
    expect(stdout).toContain('\n\n  DEMO-0001\n\n')
    expect(stdout).toContain('The code expires in 15 minutes')
    expect(stdout).toContain('Logged in as demo-user, with Copilot Pro.')
    expect(stdout).toContain('Next: copilot-proxy launch claude')

    const [name = ''] = await recordsOf(user.home)
    const path = join(user.home, 'auth', name)
    expect(stdout).toContain(path)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(join(user.home, 'auth'))).mode & 0o777).toBe(0o700)
    const record = JSON.parse(await readFile(path, 'utf8'))
    expect(record).toMatchObject({
      provider: 'copilot',
      label: 'demo-user',
      attributes: {},
      metadata: { login: 'demo-user', base_url: github.url, refresh_in: 1500, github_base_url: github.url },
    })
    expect(stdout).not.toContain(record.metadata.github_access_token)
    expect(stdout).not.toContain(record.metadata.access_token)
  })

  test('of acp for editors, which start it on a terminal, is the same', async () => {
    const github = await openGithub({ polls: ['pending'] })
    const user = await createUser(github)
    const { code, stdout } = await user.run('acp --login copilot')
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('Logged in as demo-user') })
    expect(await recordsOf(user.home)).toHaveLength(1)
  })

  test.each([
    ['denied', 'The login was cancelled at GitHub.'],
    ['expired', 'The code expired. Get a new one: copilot-proxy login'],
  ] as const)('ends with 1 and stores nothing when the answer is %s', async (answer, sentence) => {
    const user = await createUser(await openGithub({ polls: ['pending', answer] }))
    const { code, stderr } = await user.run('login')
    expect(code).toBe(1)
    expect(stderr).toContain(sentence)
    expect(stderr).toContain('Nothing was stored.')
    expect(await recordsOf(user.home)).toEqual([])
  })

  test.each([[''], ['codex --device']])('asks nobody if it could not be stored: login %s', async (words) => {
    const github = await openGithub()
    const user = await createUser(github)
    await writeFile(join(user.home, 'auth'), 'no folder')
    const { code, stdout, stderr } = await user.run(`login ${words}`)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`${join(user.home, 'auth')} cannot store a login: `)
    expect(github.log).toEqual([])
  })

  test('on a terminal the code is large, and the time left is gone from the screen at the end', async () => {
    const user = await createUser(await openGithub({ polls: ['pending'] }))
    const stdout = { ...recordOutput(80), isTerminal: true }
    expect(await user.run('login', { stdout })).toMatchObject({ code: 0, stderr: '' })
    const text = stdout.text()
    expect(text).toMatch(/\| +DEMO-0001 +\|/)
    expect(text).toMatch(
      /\rWaiting for GitHub\. The code expires in 1[45]:\d\d\. Press Ctrl-C to cancel\.\r +\r\nLogged in/,
    )
    expect(text).not.toContain('\u001B')
  })

  test('a plan that is not known keeps GitHub’s own word', async () => {
    const github = await openGithub()
    const user = await createUser(github)
    github.script('/copilot_internal/user', { outcome: jsonReply(200, { copilot_plan: 'individual_ultra' }) })
    expect((await user.run('login')).stdout).toContain('Logged in as demo-user, with "individual_ultra".')
  })

  test.each([
    'server: { body-limit-mb: many }',
    'workspaces: 5\nagent: { max-step: 3 }',
    'models: { aliases: { best: 5 } }\nlog: { level: 3 }',
  ])('works with a configuration whose faults no login meets: %s', async (file) => {
    const user = await createUser(await openGithub())
    await writeFile(join(user.home, 'config.yaml'), file)
    const { code, stderr } = await user.run('login')
    expect(code).toBe(0)
    expect(stderr).toMatch(
      /^Note: the configuration is invalid, in settings that a login does not use:\n.*config\.yaml:1/,
    )
    expect(await recordsOf(user.home)).toHaveLength(1)
  })

  test.each([
    'auth: { store: keychian }',
    'copilot-oath: { github-base-url: "https://ghe.example" }',
    'copilot: { base-url: ghe }\nserver: { body-limit-mb: many }',
    'copilot: { auth: dirct }',
    'codex: { issuer: x }',
    'server: [',
    '- a',
  ])('does not begin with a configuration that could lead it elsewhere: %s', async (file) => {
    const user = await createUser(await openGithub())
    await writeFile(join(user.home, 'config.yaml'), file)
    const { code, stderr } = await user.run('login')
    expect(code).toBe(2)
    expect(stderr).toContain('The configuration is invalid:')
    expect(await recordsOf(user.home)).toEqual([])
  })

  test('says so when GitHub tells no plan', async () => {
    const github = await openGithub()
    const user = await createUser(github)
    github.script('/copilot_internal/user', { outcome: jsonReply(404, { message: 'Not Found' }) })
    github.script('/copilot_internal/v2/token', {
      outcome: jsonReply(200, { token: 'tid=example', expires_at: 4_000_000_000, refresh_in: 1500 }),
    })
    expect((await user.run('login')).stdout).toContain('Logged in as demo-user. GitHub did not report the plan.\n')
  })

  test.each([
    ['400 for its version', jsonReply(400, { message: 'Bad Request: The version you specified is not supported' })],
    ['404', jsonReply(404, { message: 'Not Found' })],
    ['503', jsonReply(503, { message: 'Service unavailable' })],
    ['no name', jsonReply(200, {})],
    ['a lost connection', { kind: 'drop' }],
  ] as const)('does not depend on /user: %s', async (_what, outcome) => {
    const github = await openGithub()
    const user = await createUser(github)
    github.script('/user', { outcome })
    const { code, stdout, stderr } = await user.run('login')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('Logged in as demo-user, with Copilot Pro.\n')
    expect(await recordsOf(user.home)).toEqual([expect.stringMatching(/^copilot-demo-user@/)])
  })

  test('works for an account whose name GitHub does not tell at all', async () => {
    const github = await openGithub()
    const user = await createUser(github)
    const outcome = jsonReply(503, { message: 'Service unavailable' })
    github.script('/user', { outcome })
    github.script('/copilot_internal/user', { outcome })
    const { code, stdout, stderr } = await user.run('login')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('Logged in, with Copilot Pro. GitHub did not report the name.\n')
    expect(await recordsOf(user.home)).toEqual([expect.stringMatching(/^copilot-account@/)])
    expect((await user.run('status')).stdout).toContain('account at 127.0.0.1')
  })

  test('asks GitHub with no version of the model host, whatever is configured for that', async () => {
    const github = await openGithub({ record: 20 })
    const user = await createUser(github)
    await writeFile(join(user.home, 'config.yaml'), `copilot: { headers: { X-GitHub-Api-Version: '2026-08-01' } }\n`)
    expect(await user.run('login')).toMatchObject({ code: 0, stderr: '' })
    const versions = github.log.flatMap(({ route, headers }) => {
      const version = headers['x-github-api-version']
      return version === undefined ? [] : [`${route} ${String(version)}`]
    })
    expect(versions.toSorted()).toEqual(['/copilot_internal/user 2025-04-01', '/copilot_internal/v2/token 2025-04-01'])
  })

  test('ends with 130 and stores nothing when it is interrupted', async () => {
    const user = await createUser(await openGithub({ polls: ['pending'] }))
    const interrupt = new AbortController()
    const { code, stderr } = await user.run('login', {
      signal: interrupt.signal,
      sleep: () => {
        interrupt.abort('SIGINT')
        return Promise.reject(new Error('aborted'))
      },
    })
    expect({ code, stderr }).toEqual({ code: 130, stderr: 'Interrupted. Nothing was stored.\n' })
    expect(await recordsOf(user.home)).toEqual([])
  })

  test('says so when GitHub cannot be reached', async () => {
    const github = await openGithub()
    const user = await createUser(github)
    await github.close()
    const { code, stderr } = await user.run('login')
    expect(code).toBe(1)
    expect(stderr).toMatch(/Could not start the login\. .*ECONNREFUSED/)
  })

  test('keeps what the user configured in an older record of the account', async () => {
    const user = await createUser(await openGithub())
    await user.run('login')
    const [name = ''] = await recordsOf(user.home)
    const path = join(user.home, 'auth', name)
    const record = JSON.parse(await readFile(path, 'utf8'))
    await writeFile(
      path,
      JSON.stringify({ ...record, attributes: { base_url: 'https://api.githubcopilot.com' }, own: 1 }),
    )
    await user.run('login')
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      attributes: { base_url: 'https://api.githubcopilot.com' },
      own: 1,
    })
  })
})

describe('login with a token from standard input', () => {
  test('stores the login', async () => {
    const github = await openGithub({ settings: { plan: 'business' } })
    const user = await createUser(github)
    const { code, stdout } = await user.run('login --token-stdin', {
      stdin: inputOf(`${github.tokens.issueGithub()}\nignored\n`),
    })
    expect(code).toBe(0)
    expect(stdout).toContain('Logged in as demo-user, with Copilot Business.')
    expect(await recordsOf(user.home)).toHaveLength(1)
  })

  test('passes over empty lines ahead of the token', async () => {
    const github = await openGithub()
    const user = await createUser(github)
    const token = github.tokens.issueGithub()
    expect(await user.run('login --token-stdin', { stdin: inputOf(`\n \r\n${token}\n`) })).toMatchObject({ code: 0 })
  })

  test.each([
    ['nothing', '', 2, 'No token on standard input'],
    ['empty lines', '\n\n', 2, 'No token on standard input'],
    ['a classic personal token', 'ghp_example\n', 2, 'GitHub does not accept classic personal access tokens'],
    ['a fine-grained personal token GitHub does not know', 'github_pat_example\n', 1, 'Bad credentials'],
    ['an OAuth token GitHub does not know', 'gho_example\n', 1, 'Bad credentials'],
    ['text that is no token', 'my token\n', 2, 'not a token'],
    ['endless text', 'x'.repeat(100_000), 2, 'not a token'],
    ['a token GitHub does not know', 'ghu_example\n', 1, 'Bad credentials'],
  ])('refuses %s', async (_what, input, expected, words) => {
    const user = await createUser(await openGithub())
    const { code, stdout, stderr } = await user.run('login --token-stdin', { stdin: inputOf(input) })
    expect(code).toBe(expected)
    expect(stderr).toContain(words)
    expect(stdout + stderr).not.toContain('_example')
    expect(await recordsOf(user.home)).toEqual([])
  })

  test.each(['gho_', 'github_pat_'] as const)(
    '%s: is sent to Copilot itself, and says what differs',
    async (prefix) => {
      const github = await openGithub({ record: 50 })
      const user = await createUser(github)
      user.env['COPILOT_PROXY_COPILOT_BASE_URL'] = github.url
      const token = github.tokens.issueGithub(prefix)
      const { code, stdout, stderr } = await user.run('login --token-stdin', { stdin: inputOf(token) })
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain('Logged in as demo-user. GitHub did not report the plan.\n')
      expect(stdout).toContain(
        'GitHub does not exchange this kind of token for a Copilot token, so copilot-proxy sends the token directly to Copilot.',
      )
      expect(stdout).toContain('  Plan and quota are unknown.\n')
      expect(stdout).not.toContain(token)
      expect(github.log.find(({ route }) => route === '/models')?.headers).toMatchObject({
        authorization: `Bearer ${token}`,
        'copilot-integration-id': 'copilot-developer-cli',
      })

      expect((await user.run('status')).stdout).toMatch(/Token +same as the login, valid until you revoke it/)
      expect(JSON.parse((await user.run('status --json')).stdout)).toMatchObject({
        token: { state: 'direct', expires_at: null },
      })
      expect(JSON.parse((await user.run('models --json')).stdout).data.length).toBeGreaterThan(5)
      expect(await user.run('usage')).toEqual({
        code: 0,
        stdout: 'No requests through copilot-proxy in the last 30 days.\n',
        stderr: expect.stringMatching(
          /^Note: GitHub does not show plan and quota to this kind of token\. To see them, log in with a code/,
        ),
      })
    },
  )

  test('is sent to Copilot itself where copilot.auth says so', async () => {
    const github = await openGithub()
    const user = await createUser(github)
    user.env['COPILOT_PROXY_COPILOT_AUTH'] = 'direct'
    const { code, stdout, stderr } = await user.run('login')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(
      'Logged in as demo-user, with Copilot Pro.\ncopilot.auth is direct, so copilot-proxy sends the token directly',
    )
    expect(stdout).not.toContain('Plan and quota')
    expect(github.exchanges()).toBe(0)
    expect(await user.run('models')).toMatchObject({ code: 0, stderr: '' })
    expect(github.exchanges()).toBe(0)
    user.env['COPILOT_PROXY_COPILOT_AUTH'] = 'exchange'
    expect(await user.run('models')).toMatchObject({ code: 0, stderr: '' })
    expect(github.exchanges()).toBe(1)
  })

  test.each([
    [401, 'unauthorized: token expired', 'Copilot refused this login. unauthorized: token expired'],
    [403, 'access to this endpoint is forbidden', 'Copilot refused this login. access to this endpoint'],
    [429, 'slow down', 'Could not check this login with Copilot. slow down'],
    [503, 'busy', 'Could not check this login with Copilot. busy'],
  ])('is not stored where Copilot answers it with %i', async (status, said, words) => {
    const github = await openGithub()
    const user = await createUser(github)
    user.env['COPILOT_PROXY_COPILOT_BASE_URL'] = github.url
    github.script('/models', { outcome: textReply(status, said) })
    const stdin = inputOf(github.tokens.issueGithub('gho_'))
    const { code, stderr } = await user.run('login --token-stdin', { stdin })
    expect(code).toBe(1)
    expect(stderr).toContain(words)
    expect(stderr).toContain('Nothing was stored.')
    expect(await recordsOf(user.home)).toEqual([])
  })

  test('a gho_ token under copilot.auth direct is not said to be of a kind that GitHub refuses', async () => {
    const github = await openGithub()
    const user = await createUser(github)
    user.env['COPILOT_PROXY_COPILOT_BASE_URL'] = github.url
    user.env['COPILOT_PROXY_COPILOT_AUTH'] = 'direct'
    const stdin = inputOf(github.tokens.issueGithub('gho_'))
    const { code, stdout } = await user.run('login --token-stdin', { stdin })
    expect(code).toBe(0)
    expect(stdout).toContain('copilot.auth is direct, so copilot-proxy sends the token directly')
    expect(stdout).not.toContain('GitHub does not exchange')
  })

  test('can be interrupted while it waits for the token', async () => {
    const user = await createUser()
    const interrupt = new AbortController()
    const running = user.run('login --token-stdin', {
      signal: interrupt.signal,
      stdin: (async function* () {
        interrupt.abort('SIGINT')
        yield await new Promise<string>(() => {})
      })(),
    })
    expect(await running).toMatchObject({ code: 130 })
  })
})

/** Finishes the login as the browser would: follows the address to GitHub and comes straight back with `answer`. */
function browser(answer: Record<string, string>) {
  const output = recordOutput()
  return {
    ...output,
    write: (text: string) => {
      output.write(text)
      const address = /https:\S+/.exec(text)?.[0]
      if (address === undefined) return
      const asked = new URL(address).searchParams
      const back = new URL(asked.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({ ...answer, state: asked.get('state') ?? '' }).toString()
      void fetch(back)
    },
  }
}

async function webUser() {
  const github = await openGithub()
  const user = await createUser(github)
  Object.assign(user.env, {
    COPILOT_PROXY_COPILOT_OAUTH_CLIENT_ID: 'example-client',
    COPILOT_PROXY_COPILOT_OAUTH_REDIRECT_PORT: '0',
  })
  // The simulated GitHub has no OAuth app of ours; its token endpoint is played here.
  const fetchToken: typeof fetch = (...args) =>
    args[0] === 'https://github.com/login/oauth/access_token'
      ? Promise.resolve(Response.json({ access_token: github.tokens.issueGithub() }))
      : fetch(...args)
  return { user, fetchToken }
}

describe('login in the browser', () => {
  test('stores the login', async () => {
    const { user, fetchToken } = await webUser()
    const { code, stderr } = await user.run('login --web', { stdout: browser({ code: 'example' }), fetch: fetchToken })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await recordsOf(user.home)).toHaveLength(1)
  })

  test('ends with 1 when it is cancelled there', async () => {
    const { user } = await webUser()
    const { code, stderr } = await user.run('login --web', { stdout: browser({ error: 'access_denied' }) })
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'The login was cancelled at GitHub. Nothing was stored.\n' })
  })
})

test.each([
  ['no_copilot_access', 'This GitHub account has no Copilot plan.'],
  ['spammy_user', 'GitHub has flagged this account.'],
  ['something_new', 'GitHub refused Copilot for this account'],
])('an account without Copilot (%s) is not stored, and the message states why', async (problem, words) => {
  const github = await openGithub({ settings: { entitlementProblem: problem } })
  const user = await createUser(github)
  const { code, stderr } = await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
  expect(code).toBe(1)
  expect(stderr).toContain(words)
  expect(stderr).toMatch(/ \(GitHub request id DEMO:\d+\)/)
  expect(stderr).toContain('Nothing was stored.')
  expect(await recordsOf(user.home)).toEqual([])
})

test.each([
  ['models', '/models', 'access denied by Copilot policy. Ask the administrator'],
  ['usage', '/copilot_internal/user', 'GitHub refused Copilot for this account'],
] as const)('%s says how GitHub calls a request that it refuses', async (command, route, words) => {
  const github = await openGithub()
  const user = await createUser(github)
  await user.run('login')
  github.script(route, { outcome: jsonReply(403, { message: 'access denied by Copilot policy' }) })
  const { code, stderr } = await user.run(command)
  expect(code).toBe(1)
  expect(stderr).toContain(words)
  expect(stderr).toMatch(/ \(GitHub request id DEMO:\d+\)/)
})

/** Logged in as demo-user; the next login is of second-user. */
async function loggedInUser() {
  const github = await openGithub()
  const user = await createUser(github)
  await user.run('login')
  github.configure({ login: 'second-user' })
  return user
}

describe('a login while somebody is logged in', () => {
  test.each(['no\n', '\n'])('asks in a terminal, and changes nothing after %j', async (answer) => {
    const user = await loggedInUser()
    const result = await user.run('login', { interactive: true, stdin: inputOf(answer) })
    expect(result).toEqual({
      code: 0,
      stdout: '',
      stderr:
        'Copilot: already logged in as demo-user.\nLog in again, or with another account? [y/N] Nothing changed.\n',
    })
    expect(await recordsOf(user.home)).toHaveLength(1)
  })

  test('adds another account after yes', async () => {
    const user = await loggedInUser()
    const result = await user.run('login', { interactive: true, stdin: inputOf('y\n') })
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('Logged in as second-user') })
    expect(await recordsOf(user.home)).toHaveLength(2)
  })

  test.each([
    ['with --yes', 'login --yes', true],
    ['without a terminal', 'login', false],
  ])('does not ask %s', async (_how, commandLine, interactive) => {
    const user = await loggedInUser()
    const { code, stderr } = await user.run(commandLine, { interactive })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await recordsOf(user.home)).toHaveLength(2)
  })

  test('does not ask for a token on standard input, or about another provider', async () => {
    const user = await loggedInUser()
    const stdin = inputOf('not a token')
    expect((await user.run('login --token-stdin', { interactive: true, stdin })).stderr).not.toContain('[y/N]')
    const signal = AbortSignal.abort('SIGINT')
    expect((await user.run('login codex', { interactive: true, signal })).stderr).not.toContain('[y/N]')
  })
})

describe('login refuses', () => {
  test.each([
    ['login --host github.com.evil.example', '--host: "github.com.evil.example" is not a GitHub host'],
    ['login --web', 'Set copilot-oauth.client-id'],
    ['login --web --token-stdin', 'cannot be used with'],
  ])('%s', async (commandLine, words) => {
    const user = await createUser()
    const { code, stderr } = await user.run(commandLine)
    expect(code).toBe(2)
    expect(stderr).toContain(words)
  })
})

/** A user with a link where a record belongs. */
async function withLink(github?: CopilotUpstream) {
  const user = await createUser(github)
  const link = join(user.home, 'auth', 'copilot-linked.json')
  const target = join(user.home, 'elsewhere.json')
  await mkdir(join(user.home, 'auth'), { mode: 0o700 })
  await writeFile(target, '{}')
  await symlink(target, link)
  return { user, link, target }
}

describe('logout', () => {
  test('removes the login in use and says what', async () => {
    const user = await createUser(await openGithub())
    await user.run('login')
    const { code, stdout } = await user.run('logout')
    expect(code).toBe(0)
    expect(stdout).toContain('Logged out demo-user and deleted ')
    expect(await recordsOf(user.home)).toEqual([])
  })

  test('says which account is in use next, and removes every one with --all', async () => {
    const github = await openGithub()
    const user = await createUser(github)
    await user.run('login', { now: () => Date.now() - 60_000 })
    github.configure({ login: 'second-user' })
    await user.run('login')
    expect((await user.run('logout')).stdout).toContain('Now using the Copilot account demo-user.')
    await user.run('login')
    const { stdout } = await user.run('logout --all')
    expect(stdout).toContain('Logged out demo-user')
    expect(stdout).toContain('Logged out second-user')
    expect(await recordsOf(user.home)).toEqual([])
  })

  test('is content when nobody is logged in', async () => {
    const user = await createUser()
    expect(await user.run('logout')).toEqual({
      code: 0,
      stdout: 'Not logged in.\n',
      stderr: '',
    })
  })

  test('names files that were set aside, since they may hold a token', async () => {
    const user = await createUser()
    await mkdir(join(user.home, 'auth'), { mode: 0o700 })
    const path = join(user.home, 'auth', 'copilot-broken.json')
    await writeFile(path, '{"id":', { mode: 0o600 })
    const { code, stdout } = await user.run('logout')
    expect(code).toBe(0)
    expect(stdout).toContain(`These unreadable logins may contain tokens. Delete them:\n  ${path}.corrupt-1\n`)
    expect(await readdir(join(user.home, 'auth'))).toEqual(['copilot-broken.json.corrupt-1'])
  })

  test('of a record that cannot be read removes nothing and says what does', async () => {
    const { user, link } = await withLink()
    const { code, stdout, stderr } = await user.run('logout')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`${link} is not a plain file`)
    expect(stderr).toContain('The stored login cannot be read.')
    expect(stderr).toContain('copilot-proxy logout copilot --all')
  })

  test('--all gets past a record that cannot be read, and touches nothing a link leads to', async () => {
    const { user, link, target } = await withLink(await openGithub())
    await user.run('login')
    const { code, stdout, stderr } = await user.run('logout --all')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('Logged out demo-user')
    expect(stdout).toContain(
      `Deleted ${link} (a link; the file it points to was kept and may contain a token: ${target})`,
    )
    expect(await recordsOf(user.home)).toEqual([])
    expect(await readFile(target, 'utf8')).toBe('{}')
  })

  test('--all says what it could not remove, and exits with 1', async () => {
    const user = await createUser()
    const folder = join(user.home, 'auth', 'copilot-folder.json')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const { code, stdout, stderr } = await user.run('logout --all')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`${folder} was not removed`)
  })

  test('one account is logged out although another cannot be read', async () => {
    const { user } = await withLink(await openGithub())
    await user.run('login')
    const { code, stdout } = await user.run('logout')
    expect(code).toBe(0)
    expect(stdout).toContain('Logged out demo-user')
  })

  test('works with an invalid configuration, and mentions the token of the environment', async () => {
    const user = await createUser()
    Object.assign(user.env, { COPILOT_PROXY_SERVER_PORT: 'x', COPILOT_GITHUB_TOKEN: 'ghu_example' })
    const { code, stdout } = await user.run('logout')
    expect(code).toBe(0)
    expect(stdout).toContain('COPILOT_GITHUB_TOKEN is set')
  })
})
