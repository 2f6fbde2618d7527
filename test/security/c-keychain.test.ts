import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { copilotRecordKind } from '../../src/auth/copilot/record.ts'
import { createRecordStore } from '../../src/auth/records/record-store.ts'
import { keychainError } from '../../src/auth/records/keychain.ts'
import type { KeychainReason } from '../../src/auth/records/keychain.ts'
import { fakeKeychain } from '../auth/records/fake-keychain.ts'
import type { FakeKeychain } from '../auth/records/fake-keychain.ts'
import { startCli } from '../cli/cli.ts'
import { createUser, githubVariables, inputOf, openGithub, recordOutput } from '../commands/harness.ts'
import type { TestUser } from '../commands/harness.ts'
import { createClient } from '../http/client.ts'
import type { Client } from '../http/client.ts'
import { recordOf } from '../http/harness.ts'
import { recordingLog } from '../recording-log.ts'
import type { CopilotUpstream } from '../upstreams/copilot.ts'

const kept = 'COPILOT_PROXY_AUTH_STORE'

interface KeychainUser extends TestUser {
  readonly github: CopilotUpstream
  readonly keychain: FakeKeychain
  readonly login: () => ReturnType<TestUser['run']>
  readonly files: () => Promise<readonly string[]>
}

async function filesIn(dir: string): Promise<readonly string[]> {
  const names: readonly string[] = await readdir(dir).catch(() => [])
  return names.toSorted()
}

/** A user who wants logins in the keychain. */
async function createKeychainUser(): Promise<KeychainUser> {
  const github = await openGithub()
  const user = await createUser(github)
  user.env[kept] = 'keychain'
  const keychain = fakeKeychain()
  const run: TestUser['run'] = (commandLine, change) => user.run(commandLine, { keychain, ...change })
  return {
    ...user,
    run,
    github,
    keychain,
    login: () => run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) }),
    files: () => filesIn(join(user.home, 'auth')),
  }
}

/** Runs `serve` until `use` is over. */
async function whileServing(user: KeychainUser, use: (client: Client) => Promise<void>) {
  const stop = new AbortController()
  const started = Promise.withResolvers<string>()
  const output = recordOutput()
  const stdout = {
    ...output,
    write: (text: string) => {
      const [, url] = /listening on (\S+)/.exec(text) ?? []
      if (url !== undefined) started.resolve(url)
    },
  }
  const ended = user.run('serve --port 0 --log-level silent', { stdout, signal: stop.signal })
  const url = await Promise.race([started.promise, ended.then(({ stderr }) => Promise.reject(new Error(stderr)))])
  const client = createClient(url)
  await use(client).finally(() => {
    client.close()
    stop.abort('SIGTERM')
  })
  return ended
}

describe('C19 with auth.store: keychain', () => {
  test('login, status, a request and logout use it, say so, and leave no token on the disk', async () => {
    const user = await createKeychainUser()
    const login = await user.login()
    expect({ code: login.code, stderr: login.stderr }).toEqual({ code: 0, stderr: '' })
    expect(login.stdout).toContain('.sealed, encrypted with a key in the system keychain.')
    const [name = ''] = await user.files()
    expect(await user.files()).toEqual([expect.stringMatching(/\.sealed$/)])
    const onDisk = await readFile(join(user.home, 'auth', name), 'utf8')
    expect(onDisk).not.toMatch(/ghu_|tid=/)

    const status = await user.run('status')
    expect(status).toMatchObject({ code: 0, stderr: '' })
    expect(status.stdout).toMatch(/^Stored in +.*, encrypted with a key in the system keychain$/m)
    expect(status.stdout).toMatch(/^Copilot +demo-user/m)
    expect(JSON.parse((await user.run('status --json')).stdout)).toMatchObject({ store: 'keychain' })

    const { code } = await whileServing(user, async (client) => {
      expect((await client.chat()).status).toBe(200)
      user.github.tokens.expireAll()
      expect((await client.chat()).status).toBe(200)
      expect((await client.send('/v1/models')).status).toBe(200)
    })
    expect(code).toBe(0)
    expect(await readFile(join(user.home, 'auth', name), 'utf8')).not.toBe(onDisk)

    const logout = await user.run('logout')
    expect(logout).toMatchObject({ code: 0, stderr: '' })
    expect([await user.files(), user.keychain.entries.size]).toEqual([[], 0])
    expect(await user.run('status')).toMatchObject({ code: 3 })
  })

  test.each(['absent', 'locked', 'silent', 'refused'] satisfies readonly KeychainReason[])(
    'a keychain that is %s fails login before anybody is asked, and nothing is kept in a file instead',
    async (reason) => {
      const user = await createKeychainUser()
      user.keychain.break(reason)
      const { code, stdout, stderr } = await user.login()
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toBe(`${keychainError(reason, 'made up').message}\n`)
      expect(stderr).toMatch(/auth\.store is keychain.*auth\.store to file/)
      expect(await user.files()).toEqual([])
      expect(user.github.exchanges()).toBe(0)
      expect(await user.run('login codex')).toMatchObject({ code: 1, stdout: '', stderr })
    },
  )

  test('serve does not start without one, nor does the program without a command', async () => {
    const user = await createKeychainUser()
    await user.login()
    user.keychain.break('absent')
    expect(await user.run('serve --port 0')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('set auth.store to file'),
    })
    expect(await user.run('')).toMatchObject({ code: 1, stderr: expect.stringContaining('set auth.store to file') })
  })

  test('one that is locked while the daemon starts is reported, and used as soon as it is open', async () => {
    const user = await createKeychainUser()
    await user.login()
    const entries = new Set(user.keychain.entries.keys())
    const get = user.keychain.get
    let isLocked = true
    // As seen with gnome-keyring: what is not there is answered, what is there is not.
    const keychain: FakeKeychain = {
      ...user.keychain,
      get: (entry) =>
        isLocked && entries.has(entry) ? Promise.reject(keychainError('locked', 'made up')) : get(entry),
    }
    const locked = { ...user, run: (line: string, change = {}) => user.run(line, { keychain, ...change }) }
    await whileServing(locked, async (client) => {
      const refused = await client.chat()
      expect([refused.status, refused.json()]).toMatchObject([503, { error: { code: 'copilot_unavailable' } }])
      expect(refused.text).toContain(
        'The keychain that holds the key of the stored login cannot be used. Unlock the keychain',
      )
      expect((await client.send('/v1/models')).status).toBe(200)
      isLocked = false
      await expect.poll(async () => (await client.chat()).status, { timeout: 10_000 }).toBe(200)
    })
    expect(await user.files()).toHaveLength(1)
  })

  test('status tells what is wrong with it and of everything else', async () => {
    const user = await createKeychainUser()
    await user.login()
    user.keychain.break('locked')
    const { code, stdout } = await user.run('status')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Copilot +The keychain cannot be used \(auth\.store is keychain\): it is locked/m)
    expect(stdout).toMatch(/^Daemon /m)
  })
})

describe('C12 from one store to the other', () => {
  test('a login in the store that is not in use is named, not used, and moved by the next login', async () => {
    const user = await createKeychainUser()
    user.env[kept] = 'file'
    await user.login()
    const [plain = ''] = await user.files()
    user.env[kept] = 'keychain'
    const status = await user.run('status')
    expect(status.code).toBe(3)
    expect(status.stderr).toContain(`${plain} is not used, because auth.store is keychain`)
    expect(status.stderr.match(/is not used/g)).toHaveLength(1)

    const login = await user.login()
    expect(login.stdout).toMatch(/Removed the earlier login: .*\.json/)
    expect(await user.files()).toEqual([plain.replace('.json', '.sealed')])
    expect(await user.run('status')).toMatchObject({ code: 0, stderr: '' })

    user.env[kept] = 'file'
    expect((await user.login()).stdout).toMatch(/Removed the earlier login: .*\.sealed/)
    expect([await user.files(), user.keychain.entries.size]).toEqual([[plain], 0])
  })

  test.each(['logout', 'logout --all'])('%s removes the login from both, and its key', async (commandLine) => {
    const user = await createKeychainUser()
    await user.login()
    const [sealed = ''] = await user.files()
    // As after a restored backup.
    const dir = join(user.home, 'auth')
    const plain = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog() })
    await plain.write(recordOf('ghu_example', { id: sealed.replace('.sealed', '') }))
    const { code, stdout } = await user.run(commandLine)
    expect(code).toBe(0)
    expect(stdout).toContain(sealed)
    expect(stdout).toContain(sealed.replace('.sealed', '.json'))
    expect([await user.files(), user.keychain.entries.size]).toEqual([[], 0])
  })

  test('a key that cannot be removed is reported, and the login is removed all the same', async () => {
    const user = await createKeychainUser()
    await user.login()
    user.keychain.break('locked')
    const { code, stderr } = await user.run('logout --all')
    expect(code).toBe(1)
    expect(stderr).toContain('was removed, but its key is still in the keychain')
    expect(await user.files()).toEqual([])
  })
})

test('C19 the real program says what is missing on a machine without a session, and exits with 1', async () => {
  const github = await openGithub()
  const { home } = await createUser()
  const env = { COPILOT_PROXY_HOME: home, HOME: home, [kept]: 'keychain', ...githubVariables(github) }
  const cli = startCli(['login', '--token-stdin'], env)
  cli.child.stdin?.end(github.tokens.issueGithub())
  const { code, stdout, stderr } = await cli.ended
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/auth\.store is keychain.*auth\.store to file/)
  expect(stderr).not.toMatch(/ghu_demo|\n\s+at /)
  expect(await readdir(home)).toEqual([])
}, 60_000)
