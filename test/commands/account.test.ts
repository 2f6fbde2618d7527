import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { copilotRecordKind } from '../../src/auth/copilot/record.ts'
import { createRecordStore } from '../../src/auth/records/record-store.ts'
import { openProxy, recordOf } from '../http/harness.ts'
import { recordingLog } from '../recording-log.ts'
import { createUser, inputOf, openGithub } from './harness.ts'
import type { TestUser } from './harness.ts'

const storeOf = ({ home }: TestUser) =>
  createRecordStore({ kind: copilotRecordKind, dir: `${home}/auth`, log: recordingLog() })

/** A user with accounts of these names, the last of which is in use. */
async function userWith(...accounts: readonly (readonly [name: string, host?: string])[]): Promise<TestUser> {
  const user = await createUser()
  for (const [at, [name, host]] of accounts.entries()) {
    const id = `copilot-${name.toLowerCase()}${host === undefined ? '' : `@${host}`}`
    const { metadata, ...record } = recordOf(`ghu_demo_${at}`, { id, label: name })
    const github_base_url = `https://${host ?? 'github.com'}`
    await storeOf(user).write({
      ...record,
      metadata: { ...metadata, login: name, logged_in_at: at + 1, github_base_url },
    })
  }
  return user
}

const inUse = async (user: TestUser) => (await storeOf(user).current())?.id

test('the stored accounts are listed, with the one in use and the keys that have one', async () => {
  const user = await userWith(['alice'], ['Bob'], ['bob', 'octo.ghe.com'])
  const file = `${user.home}/own.yaml`
  const keys = `api-keys: ['laptop:sha256:${'a'.repeat(64)}']`
  await writeFile(file, `server: { ${keys}, key-limits: { laptop: { account: bob@octo.ghe.com } } }`)
  const { code, stdout, stderr } = await user.run(`account list --config ${file}`)
  expect([stderr, code]).toEqual(['', 0])
  expect(stdout).toBe(
    [
      'ACCOUNT           HOST          IN USE  KEYS',
      'alice             github.com',
      'Bob               github.com',
      'bob@octo.ghe.com  octo.ghe.com  yes     laptop',
      '',
    ].join('\n'),
  )
  expect(stdout).not.toContain('ghu_')
  const { accounts } = JSON.parse((await user.run(`account list --json --config ${file}`)).stdout)
  expect(accounts).toContainEqual({ name: 'bob@octo.ghe.com', host: 'octo.ghe.com', in_use: true, keys: ['laptop'] })
})

test('an account is chosen by its name in any case; it stays chosen until a later login or choice', async () => {
  const user = await userWith(['alice'], ['bob'])
  expect(await user.run('account use ALICE')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Now using alice\./),
  })
  expect(await inUse(user)).toBe('copilot-alice')
  expect(await user.run('account use alice')).toMatchObject({ code: 0, stdout: 'Already using alice.\n' })
  // A clock that was set back does not undo a choice.
  expect((await user.run('account use bob', { now: () => 0 })).code).toBe(0)
  expect(await inUse(user)).toBe('copilot-bob')
  expect((await user.run('account use alice', { now: () => 0 })).code).toBe(0)
  expect(await inUse(user)).toBe('copilot-alice')
})

test('a login is used at once, also in the second of a choice', async () => {
  const github = await openGithub()
  const user = await createUser(github)
  const { metadata, ...record } = recordOf('ghu_demo_0', { id: 'copilot-alice', label: 'alice' })
  await storeOf(user).write({ ...record, metadata })
  expect((await user.run('account use alice', { now: () => 1_800_000_000_400 })).code).toBe(0)
  const stdin = inputOf(github.tokens.issueGithub())
  expect((await user.run('login --token-stdin', { stdin, now: () => 1_800_000_000_500 })).code).toBe(0)
  expect(await inUse(user)).toBe('copilot-demo-user@127.0.0.1')
})

test('an unknown name and a name of two accounts change nothing, and the message names the accounts', async () => {
  const user = await userWith(['alice'], ['bob', 'octo.ghe.com'], ['bob', 'other.ghe.com'])
  expect(await user.run('account use eve')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('alice, bob@octo.ghe.com, bob@other.ghe.com; none is named "eve"'),
  })
  expect(await user.run('account use bob')).toMatchObject({
    code: 1,
    stderr: 'Several accounts have this name: bob@octo.ghe.com, bob@other.ghe.com. Name one.\n',
  })
  expect(await inUse(user)).toBe('copilot-bob@other.ghe.com')
  expect((await user.run('account use bob@octo.ghe.com')).code).toBe(0)
  expect(await (await createUser()).run('account use alice')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('copilot-proxy login'),
  })
})

test('with a token in the environment, no stored account is in use, and the commands say so', async () => {
  const user = await userWith(['alice'])
  user.env['COPILOT_GITHUB_TOKEN'] = 'ghu_demo_environment'
  const listed = await user.run('account list')
  expect(listed.stdout).not.toContain('yes')
  for (const { stderr } of [listed, await user.run('account use alice')]) {
    expect(stderr).toContain('COPILOT_GITHUB_TOKEN is set and takes precedence')
  }
})

test('the running daemon of this home says which login is in use, and the one of another home does not', async () => {
  const user = await userWith(['alice'])
  const { url, store } = await openProxy({ ownerTokenDir: user.home })
  await store.write(recordOf('ghu_demo_0', { id: 'copilot-eve', label: 'eve' }))
  user.env['COPILOT_PROXY_SERVER_PORT'] = new URL(url).port
  const listed = await user.run('account list')
  expect([listed.code, listed.stdout]).toEqual([0, expect.stringMatching(/^eve +github\.com$/m)])
  expect(listed.stderr).toContain('COPILOT_GITHUB_TOKEN is set and takes precedence')
  expect((await user.run('status')).stdout).toMatch(/^Copilot +token from COPILOT_GITHUB_TOKEN$/m)

  const other = await userWith(['alice'])
  other.env['COPILOT_PROXY_SERVER_PORT'] = new URL(url).port
  expect((await other.run('account list')).stdout).toMatch(/^alice +github\.com +yes$/m)
  expect((await other.run('status')).stdout).toMatch(/^Copilot +alice/m)
})
