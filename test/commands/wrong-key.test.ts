import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { createUser } from './harness.ts'

/** A user of a daemon with one key. @param key in the user's environment */
async function createUserWith(key: string | undefined) {
  const proxy = await openProxy({ file: 'server: { api-keys: [right-key-of-mine] }' })
  const user = await createUser()
  user.env['COPILOT_PROXY_SERVER_PORT'] = new URL(proxy.url).port
  if (key !== undefined) user.env['COPILOT_PROXY_API_KEY'] = key
  return { ...user, removeKeys: () => proxy.daemon.reconfigure(proxy.configure('')) }
}

test.each(['models', 'usage', 'requests', 'setup claude --yes', 'doctor --cache'])(
  '%s says that the key in COPILOT_PROXY_API_KEY is wrong',
  async (command) => {
    const { run } = await createUserWith('wrong-key-of-mine')
    const { code, stdout, stderr } = await run(command)
    expect(code).toBe(1)
    expect(stderr).toContain('refused the key in COPILOT_PROXY_API_KEY')
    expect(stdout + stderr).not.toMatch(/not logged in|wrong-key-of-mine/i)
  },
)

test.each([
  'models',
  'models gpt-5-mini',
  'usage',
  'requests',
  'setup claude --yes',
  'launch claude',
  'doctor --cache',
])('%s says that a key is missing, even if nobody is logged in', async (command) => {
  const { run } = await createUserWith(undefined)
  const { code, stdout, stderr } = await run(command)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^No key: copilot-proxy at \S+ requires a key, and COPILOT_PROXY_API_KEY is not set\./)
  expect(stderr).toContain('export COPILOT_PROXY_API_KEY=$(copilot-proxy key add)')
})

test.each(['models', 'usage', 'requests', 'setup claude --yes', 'launch claude'])(
  '%s says that a key is missing where the configuration has only hashes of keys',
  async (command) => {
    const { run, env } = await createUserWith(undefined)
    env['COPILOT_PROXY_SERVER_API_KEYS'] =
      `laptop:sha256:${createHash('sha256').update('right-key-of-mine').digest('hex')}`
    const { code, stderr } = await run(command)
    expect(code).toBe(1)
    expect(stderr).toContain('No key: copilot-proxy')
  },
)

test('a key of the configuration that the daemon refuses is wrong too', async () => {
  const { run, env } = await createUserWith(undefined)
  env['COPILOT_PROXY_SERVER_API_KEYS'] = 'an-older-key-of-mine'
  const { code, stderr } = await run('models')
  expect(code).toBe(1)
  expect(stderr).toContain('refused the key in server.api-keys')
  expect((await run('status')).stdout).toContain('wrong key in server.api-keys')
})

test('status and doctor show a wrong key', async () => {
  const { run } = await createUserWith('wrong-key-of-mine')
  expect((await run('doctor')).stdout).toContain('Wrong key in COPILOT_PROXY_API_KEY')
  expect((await run('status')).stdout).toContain('wrong key in COPILOT_PROXY_API_KEY')
  expect(JSON.parse((await run('status --json')).stdout)).toMatchObject({ daemon: { caller_key: 'wrong' } })
})

test('status and doctor show a missing key', async () => {
  const { run } = await createUserWith(undefined)
  expect((await run('doctor')).stdout).toContain('No key: copilot-proxy requires one')
  expect((await run('status')).stdout).toContain('no key: copilot-proxy requires one')
  expect(JSON.parse((await run('status --json')).stdout)).toMatchObject({ daemon: { caller_key: 'missing' } })
})

test('status shows no key where none is required', async () => {
  const proxy = await openProxy()
  const { run, env } = await createUser()
  env['COPILOT_PROXY_SERVER_PORT'] = new URL(proxy.url).port
  expect((await run('status')).stdout).not.toMatch(/key/i)
})

test("a command's own requests are listed under the name copilot-proxy", async () => {
  const { run, env, removeKeys } = await createUserWith('wrong-key-of-mine')
  expect((await run('models')).code).toBe(1)
  env['COPILOT_PROXY_API_KEY'] = 'right-key-of-mine'
  // A key is not shown what was refused without it.
  expect(JSON.parse((await run('requests --json')).stdout)).toEqual({ requests: [] })
  removeKeys()
  expect(JSON.parse((await run('requests --json')).stdout)).toMatchObject({
    requests: [{ client: 'copilot-proxy', path: '/v1/models', status: 401 }],
  })
})
