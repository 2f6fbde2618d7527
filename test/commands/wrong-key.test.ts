import { expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { createUser } from './harness.ts'

async function userWithWrongKey() {
  const proxy = await openProxy({ file: 'server: { api-keys: [right-key-of-mine] }' })
  const user = await createUser()
  user.env['COPILOT_PROXY_SERVER_PORT'] = new URL(proxy.url).port
  user.env['COPILOT_PROXY_API_KEY'] = 'wrong-key-of-mine'
  return user
}

test.each(['models', 'usage', 'setup claude --yes', 'doctor --cache'])(
  '%s says that the key in COPILOT_PROXY_API_KEY is wrong',
  async (command) => {
    const { run } = await userWithWrongKey()
    const { code, stdout, stderr } = await run(command)
    expect(code).toBe(1)
    expect(stderr).toContain('The key in COPILOT_PROXY_API_KEY is wrong')
    expect(stdout + stderr).not.toMatch(/[Nn]obody is logged in|wrong-key-of-mine/)
  },
)

test('status and doctor show a wrong key', async () => {
  const { run } = await userWithWrongKey()
  expect((await run('doctor')).stdout).toContain('The key in COPILOT_PROXY_API_KEY is wrong')
  expect((await run('status')).stdout).toContain('the key in COPILOT_PROXY_API_KEY is wrong')
  expect(JSON.parse((await run('status --json')).stdout)).toMatchObject({ daemon: { caller_key: 'wrong' } })
})
