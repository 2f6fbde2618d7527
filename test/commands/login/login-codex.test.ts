import { createServer } from 'node:http'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { connectCodexAccount } from '../../../src/commands/login/codex.ts'
import type { CommandContext } from '../../../src/commands/shared/command.ts'
import { loadSettings } from '../../../src/commands/shared/settings.ts'
import { manualClock } from '../../auth/support.ts'
import { exampleJwt, openIssuer, type Answer } from '../../auth/codex/issuer.ts'
import { createUser, githubVariables, inputOf, openGithub, recordOutput, type TestUser } from '../harness.ts'
import { listenForTest } from '../../listen-for-test.ts'

const nowSeconds = Math.floor(Date.now() / 1000)

async function connect(
  context: CommandContext,
  flags: Parameters<typeof connectCodexAccount>[2],
  ports: readonly number[],
): Promise<void> {
  await connectCodexAccount(context, await loadSettings(context, undefined), flags, ports)
}

interface Person {
  readonly account?: string
  readonly email?: string
  readonly plan?: string
}

function tokensOf({ account = 'acc-0001', email = 'sam@example.com', plan = 'plus' }: Person = {}) {
  const auth = { chatgpt_account_id: account, chatgpt_plan_type: plan }
  const claims = { 'https://api.openai.com/auth': auth, email, iat: nowSeconds, exp: nowSeconds + 10 * 86_400 }
  return {
    access_token: exampleJwt({ ...claims, use: 'access' }),
    id_token: exampleJwt({ ...claims, use: 'id' }),
    refresh_token: `example-refresh-${account}`,
    expires_in: 864_000,
  }
}

const startAnswer: Answer = { body: { device_auth_id: 'example-device-auth', user_code: 'ABCD-12345', interval: '5' } }
const granted: Answer = { body: { authorization_code: 'example-code', code_verifier: 'example-verifier' } }
const pending: Answer = { status: 403, body: '' }

interface Play {
  readonly start?: Answer
  readonly polls?: readonly Answer[]
  readonly tokens?: readonly Answer[]
}

/** A user whose ChatGPT login is played by a small issuer. */
async function codexUser({
  start = startAnswer,
  polls = [pending, granted],
  tokens = [{ body: tokensOf() }],
}: Play = {}) {
  const issuer = await openIssuer({
    '/api/accounts/deviceauth/usercode': [start],
    '/api/accounts/deviceauth/token': polls,
    '/oauth/token': tokens,
  })
  const user = await createUser()
  user.env['COPILOT_PROXY_CODEX_ISSUER'] = issuer.url
  return { user, issuer }
}

async function recordsOf({ home }: TestUser): Promise<readonly string[]> {
  const names = await readdir(join(home, 'auth')).catch(() => [])
  return names.filter((name) => name.endsWith('.json'))
}

async function readRecord(user: TestUser) {
  const [name = ''] = await recordsOf(user)
  const path = join(user.home, 'auth', name)
  return { path, record: JSON.parse(await readFile(path, 'utf8')) }
}

describe('login codex --device', () => {
  test('shows address, code and a warning, names account and plan, and stores the login for the user alone', async () => {
    const { user, issuer } = await codexUser()
    const { code, stdout, stderr } = await user.run('login codex --device')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`${issuer.url}/codex/device\n`)
    expect(stdout).toContain('\n\n  ABCD-12345\n\n')
    expect(stdout).toContain('Never enter a code that somebody else sent you')
    expect(stdout).toContain('The code expires in 15 minutes')
    expect(stdout).toContain('Logged in to Codex as sam@example.com, with ChatGPT Plus.')
    expect(stdout).toContain('Next: copilot-proxy launch claude')

    const { path, record } = await readRecord(user)
    expect(stdout).toContain(path)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(join(user.home, 'auth'))).mode & 0o777).toBe(0o700)
    expect(record).toMatchObject({
      provider: 'codex',
      label: 'sam@example.com',
      metadata: { ...tokensWithoutLife(), account_id: 'acc-0001', plan: 'plus', issuer: issuer.url },
    })
    for (const secret of [
      ...Object.values(tokensWithoutLife()),
      'example-code',
      'example-verifier',
      'example-device',
    ]) {
      expect(stdout).not.toContain(secret)
    }
  })

  test.each<[string, Play, string]>([
    ['is not offered', { start: { status: 404, body: '' } }, 'or your workspace does not allow a login with a code'],
    ['cannot start', { start: { status: 500, body: 'busy' } }, 'Could not start the login. OpenAI answered 500'],
    [
      'is refused',
      { polls: [{ status: 400, body: { error: 'gone' } }] },
      'The login failed. OpenAI answered 400: gone',
    ],
    ['gets no tokens', { tokens: [{ status: 400, body: { error: 'x' } }] }, 'The login failed. '],
    [
      'gets tokens without an account',
      { tokens: [{ body: { access_token: exampleJwt({}), refresh_token: 'example-refresh' } }] },
      'OpenAI did not report a ChatGPT account',
    ],
  ])('ends with 1 and stores nothing when it %s', async (_what, play, words) => {
    const { user } = await codexUser(play)
    const { code, stdout, stderr } = await user.run('login codex --device')
    expect(code).toBe(1)
    expect(stderr).toContain(words)
    expect(stderr).toMatch(/Nothing was stored\.\n$/)
    expect(stdout + stderr).not.toMatch(/example-(?:code|verifier|device|refresh)|eyJ/)
    expect(await recordsOf(user)).toEqual([])
  })

  test('ends with 1 after 15 minutes, and says how to get a new code', async () => {
    const { user } = await codexUser({ polls: [pending] })
    const clock = manualClock()
    const sleep = (ms: number): Promise<void> => Promise.resolve(clock.advance(ms))
    expect(await user.run('login codex --device', { now: clock.now, sleep })).toMatchObject({
      code: 1,
      stderr: 'The code expired. Get a new one: copilot-proxy login codex --device\nNothing was stored.\n',
    })
  })

  test('ends with 130 and stores nothing when it is interrupted', async () => {
    const { user } = await codexUser()
    const interrupt = new AbortController()
    const { code, stderr } = await user.run('login codex --device', {
      signal: interrupt.signal,
      sleep: () => {
        interrupt.abort('SIGINT')
        return Promise.reject(new Error('aborted'))
      },
    })
    expect({ code, stderr }).toEqual({ code: 130, stderr: 'Interrupted. Nothing was stored.\n' })
    expect(await recordsOf(user)).toEqual([])
  })

  test('keeps what others put into an older record of the account', async () => {
    const { user } = await codexUser()
    await user.run('login codex --device')
    const { path, record } = await readRecord(user)
    const older = {
      ...record,
      attributes: { own: 1 },
      own: 2,
      metadata: { ...record.metadata, own: 3, email: 'old@x' },
    }
    await writeFile(path, JSON.stringify(older))
    await user.run('login codex --device')
    const { record: newer } = await readRecord(user)
    expect(newer).toMatchObject({ attributes: { own: 1 }, own: 2, metadata: { own: 3, email: 'sam@example.com' } })
  })

  test('what the account calls itself cannot steer the terminal', async () => {
    const { user } = await codexUser({ tokens: [{ body: tokensOf({ email: 'a\u001B[2J@x', plan: 'p\nq' }) }] })
    const { code, stdout } = await user.run('login codex --device')
    expect(code).toBe(0)
    expect(stdout).not.toContain('\u001B')
    expect(stdout).not.toMatch(/^q/m)
  })

  test.each([
    ['CODEX_ENABLED', 'false', 'codex.enabled is false, so Codex models are off'],
    ['CODEX_API_KEY', 'sk-example-key', 'codex.api-key is set and takes precedence'],
    ['CODEX_USE_CLI_LOGIN', 'true', 'the login of Codex CLI takes precedence'],
  ])('with %s=%s it says why the login is not used', async (name, value, words) => {
    const { user } = await codexUser()
    user.env[`COPILOT_PROXY_${name}`] = value
    const { code, stdout } = await user.run('login codex --device')
    expect(code).toBe(0)
    expect(stdout).toContain(words)
    expect(stdout).not.toContain('sk-example-key')
  })
})

function tokensWithoutLife() {
  const { expires_in: _, ...tokens } = tokensOf()
  return tokens
}

/** Finishes the login as the browser would: comes straight back from the address that is shown, with `answer`. */
function browser(answer: Record<string, string>) {
  const output = recordOutput()
  return {
    ...output,
    write: (text: string) => {
      output.write(text)
      const address = /http:\/\/\S+\/oauth\/authorize\S+/.exec(text)?.[0]
      if (address === undefined) return
      const asked = new URL(address).searchParams
      const back = new URL(asked.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({ ...answer, state: asked.get('state') ?? '' }).toString()
      void fetch(back)
    },
  }
}

describe('login codex in the browser', () => {
  test('sends the person to the issuer, comes back by localhost, and stores the login', async () => {
    const { user, issuer } = await codexUser()
    const stdout = browser({ code: 'example-code' })
    await connect(user.context({ stdout }), { browser: true }, [0])
    expect(stdout.text()).toContain(`${issuer.url}/oauth/authorize?`)
    expect(stdout.text()).toContain('Logged in to Codex as sam@example.com, with ChatGPT Plus.')
    expect(stdout.text()).toContain((await readRecord(user)).path)
    expect(stdout.text()).not.toMatch(/eyJ|example-(?:code|refresh)/)
  })

  test.each([
    ['Linux without a screen', {}, true],
    ['SSH', { DISPLAY: ':0', SSH_CONNECTION: 'x' }, true],
    ['a desktop', { DISPLAY: ':0' }, false],
  ])('on %s it suggests a code only where there is no browser', async (_what, env, suggests) => {
    const { user } = await codexUser()
    Object.assign(user.env, env)
    const stdout = browser({ code: 'example-code' })
    await connect(user.context({ stdout }), { browser: false }, [0])
    expect(stdout.text().includes('copilot-proxy login codex --device')).toBe(suggests)
    expect(stdout.text()).toContain('Open this address in a browser on this machine')
  })

  test.each([
    [{ error: 'access_denied' }, 'The login was cancelled at OpenAI. Nothing was stored.'],
    [
      { error: 'access_denied', error_description: 'Codex is off for this workspace' },
      'OpenAI refused the login: Codex is off for this workspace. Nothing was stored.',
    ],
    [{ error: 'server_error' }, 'The login failed. OpenAI said: server_error. Nothing was stored.'],
  ])('%j ends it in words', async (answer, message) => {
    const { user } = await codexUser()
    const running = connect(user.context({ stdout: browser(answer) }), { browser: true }, [0])
    await expect(running).rejects.toMatchObject({ exitCode: 1, message })
    expect(await recordsOf(user)).toEqual([])
  })

  test('with both ports taken it names the login with a code', async () => {
    const { user } = await codexUser()
    const ports = [await listenForTest(createServer()), await listenForTest(createServer())]
    await expect(connect(user.context(), { browser: true }, ports)).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(
        new RegExp(`^Ports ${ports.join(' and ')} .* are in use.*: copilot-proxy login codex --device\nNothing was`),
      ),
    })
  })

  test('ends with 130 and stores nothing when it is interrupted', async () => {
    const { user } = await codexUser()
    const interrupt = new AbortController()
    const output = recordOutput()
    const stdout = {
      ...output,
      write: (text: string) => {
        output.write(text)
        if (text.includes('Waiting for OpenAI')) interrupt.abort('SIGINT')
      },
    }
    const running = connect(user.context({ stdout, signal: interrupt.signal }), { browser: true }, [0])
    await expect(running).rejects.toMatchObject({ exitCode: 130, message: 'Interrupted. Nothing was stored.' })
    expect(await recordsOf(user)).toEqual([])
  })
})

describe('an option of the other login is refused with 2', () => {
  test.each([
    ['login --device', '--device is only for copilot-proxy login codex. A Copilot login always uses a code.'],
    ['login copilot --device', '--device is only for copilot-proxy login codex'],
    ['login codex --host octocorp.ghe.com', '--host is only for copilot-proxy login copilot'],
    ['login codex --web', '--web is only for copilot-proxy login copilot. A Codex login always uses the browser.'],
    [
      'login codex --token-stdin',
      '--token-stdin is only for copilot-proxy login copilot. To use an OpenAI API key, set codex.api-key',
    ],
    ['login codex --device --host x', '--host is only for copilot-proxy login copilot'],
  ])('%s', async (commandLine, words) => {
    const user = await createUser()
    const { code, stdout, stderr } = await user.run(commandLine)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(words)
  })
})

/** Logged in to Codex as each of these persons, the last one last, and to Copilot if it is given. */
async function bothLogins(persons: readonly Person[], copilot = true): Promise<TestUser> {
  const { user } = await codexUser({ polls: [granted], tokens: persons.map((person) => ({ body: tokensOf(person) })) })
  for (const [at] of persons.entries()) {
    await user.run('login codex --device', { now: () => Date.now() - 3600_000 + at * 60_000 })
  }
  if (copilot) {
    const github = await openGithub()
    Object.assign(user.env, githubVariables(github))
    await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
  }
  return user
}

const sam = { account: 'acc-0001', email: 'sam@example.com' }
const kim = { account: 'acc-0002', email: 'kim@example.com' }

describe('logout', () => {
  test('codex removes the Codex login in use, says where OpenAI ends it, and leaves Copilot alone', async () => {
    const user = await bothLogins([sam, kim])
    const { code, stdout, stderr } = await user.run('logout codex')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('Logged out kim@example.com and deleted ')
    expect(stdout).toContain('Now using the Codex account sam@example.com.')
    expect(stdout).toContain('https://chatgpt.com/#settings/Security')
    expect(stdout).not.toContain('GitHub')
    expect(await recordsOf(user)).toEqual(['codex-acc-0001.json', expect.stringMatching(/^copilot-/)])
  })

  test('codex --all removes every Codex login and no other', async () => {
    const user = await bothLogins([sam, kim])
    const { code, stdout } = await user.run('logout codex --all')
    expect(code).toBe(0)
    expect(stdout.match(/Logged out/g)).toHaveLength(2)
    expect(stdout.match(/chatgpt\.com/g)).toHaveLength(1)
    expect(await recordsOf(user)).toEqual([expect.stringMatching(/^copilot-/)])
  })

  test('without a provider means Copilot, and says that the Codex login stays', async () => {
    const user = await bothLogins([sam])
    const { code, stdout } = await user.run('logout')
    expect(code).toBe(0)
    expect(stdout).toContain('Logged out demo-user')
    expect(stdout).toContain('Still logged in to Codex as sam@example.com. To log out: copilot-proxy logout codex')
    expect(await recordsOf(user)).toEqual(['codex-acc-0001.json'])
    expect((await user.run('logout')).stdout).toBe(
      'Not logged in to Copilot.\n' +
        'Still logged in to Codex as sam@example.com. To log out: copilot-proxy logout codex\n',
    )
  })

  test('copilot says nothing of Codex', async () => {
    const user = await bothLogins([sam])
    expect((await user.run('logout copilot')).stdout).not.toContain('sam@example.com')
  })

  test('--all removes the accounts of both', async () => {
    const user = await bothLogins([sam, kim])
    const { code, stdout } = await user.run('logout --all')
    expect(code).toBe(0)
    for (const words of ['demo-user', 'sam@example.com', 'kim@example.com', 'github.com/settings', 'chatgpt.com']) {
      expect(stdout).toContain(words)
    }
    expect(await recordsOf(user)).toEqual([])
  })

  test('copilot --all leaves the Codex login', async () => {
    const user = await bothLogins([sam])
    await user.run('logout copilot --all')
    expect(await recordsOf(user)).toEqual(['codex-acc-0001.json'])
  })

  test('codex is content when nobody is logged in', async () => {
    const user = await createUser()
    expect(await user.run('logout codex')).toEqual({
      code: 0,
      stdout: 'Not logged in to Codex.\n',
      stderr: '',
    })
  })

  test('codex never touches the login of Codex CLI, and says so where that is used', async () => {
    const user = await bothLogins([sam], false)
    const file = join(user.home, 'codex', 'auth.json')
    await mkdir(join(user.home, 'codex'))
    await writeFile(file, '{"tokens":{}}')
    Object.assign(user.env, { COPILOT_PROXY_CODEX_USE_CLI_LOGIN: 'true', CODEX_HOME: join(user.home, 'codex') })
    for (const commandLine of ['logout codex', 'logout --all']) {
      const { code, stdout } = await user.run(commandLine)
      expect(code).toBe(0)
      expect(stdout).toContain('codex.use-cli-login is on, so copilot-proxy still uses the login of Codex CLI')
    }
    expect(await readFile(file, 'utf8')).toBe('{"tokens":{}}')
  })

  test('codex names the API key that is still used, without showing it', async () => {
    const user = await createUser()
    user.env['COPILOT_PROXY_CODEX_API_KEY'] = 'sk-example-key'
    const { stdout } = await user.run('logout codex')
    expect(stdout).toContain('codex.api-key is set, so copilot-proxy still uses it.')
    expect(stdout).not.toContain('sk-example-key')
  })

  test('codex of a record that cannot be read removes nothing and says what does', async () => {
    const user = await createUser()
    await mkdir(join(user.home, 'auth'), { mode: 0o700 })
    await symlink('/nowhere.json', join(user.home, 'auth', 'codex-linked.json'))
    const { code, stderr } = await user.run('logout codex')
    expect(code).toBe(1)
    expect(stderr).toContain('copilot-proxy logout codex --all')
    expect(await user.run('logout codex --all')).toMatchObject({ code: 0 })
    expect(await recordsOf(user)).toEqual([])
  })
})
