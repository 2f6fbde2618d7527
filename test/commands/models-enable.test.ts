import { expect, test } from 'vitest'
import { openProxy, recordOf } from '../http/harness.ts'
import { createUser, inputOf, openGithub } from './harness.ts'

async function loggedIn() {
  const github = await openGithub({ record: 100 })
  const user = await createUser(github)
  expect((await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })).code).toBe(0)
  const posts = () => github.log.filter(({ route }) => route === '/models/{id}/policy')
  return { user, github, posts }
}

test('a disabled model is enabled after its terms were shown, and is listed then', async () => {
  const { user, posts } = await loggedIn()
  const listed = async () => (await user.run('models')).stdout
  expect(await listed()).toContain('copilot-proxy models enable MODEL')
  expect(await user.run('models enable claude-opus-4.5')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/terms of claude-opus-4\.5:\nEnable access to [\s\S]*add --yes/),
  })
  expect(posts()).toEqual([])
  const enabled = await user.run('models enable copilot/Claude-Opus-4.5 --yes')
  expect(enabled).toMatchObject({ code: 0, stdout: 'The model claude-opus-4.5 is enabled now.\n' })
  expect(posts()).toMatchObject([
    {
      method: 'POST',
      path: '/models/claude-opus-4.5/policy',
      body: '{"status":"enabled"}',
      headers: { 'x-initiator': 'user' },
    },
  ])
  expect(await listed()).toMatch(/^claude-opus-4\.5 /m)
  expect(await user.run('models enable claude-opus-4.5 --json')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"changed": false'),
  })
  expect(posts()).toHaveLength(1)
})

test('a model that only an administrator can enable, and an unknown one, are explained', async () => {
  const { user } = await loggedIn()
  expect(await user.run('models enable gemini-3.1-pro-preview --yes')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/GitHub did not enable gemini-3\.1-pro-preview: .* its administrator enables models/),
  })
  expect(await user.run('models enable claude-opus-9 --yes')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Disabled models: claude-opus-4.5'),
  })
  expect(await (await createUser()).run('models enable claude-opus-4.5 --yes')).toMatchObject({ code: 3 })
  // `models NAME` still shows one model.
  expect((await user.run('models gpt-5-mini')).stdout).toContain('gpt-5-mini')
})

test('a running daemon refuses a closed model with this command, and serves it at once after it', async () => {
  const user = await createUser()
  const proxy = await openProxy({ login: 'none', ownerTokenDir: user.home })
  const githubToken = proxy.demo.tokens.issueGithub()
  const { url } = proxy.demo
  Object.assign(user.env, {
    COPILOT_PROXY_SERVER_PORT: new URL(proxy.daemon.url).port,
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: url,
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: url,
  })
  await proxy.store.write(recordOf(githubToken))
  expect((await user.run('login --token-stdin', { stdin: inputOf(githubToken) })).code).toBe(0)
  const ask = () => proxy.chat({ model: 'claude-opus-4.5' })
  const refused = await ask()
  expect(refused.status).toBe(404)
  expect(JSON.parse(refused.text).error.message).toContain('copilot-proxy models enable claude-opus-4.5')
  expect((await user.run('models enable claude-opus-4.5 --yes')).code).toBe(0)
  // The simulated upstream keeps the model closed; this is its refusal.
  const asked = await ask()
  expect([asked.status, JSON.parse(asked.text).error.code]).toEqual([400, 'model_not_supported'])
  expect(JSON.parse(asked.text).error.message).toContain('copilot-proxy models enable')
  expect((await proxy.send('/models/refresh', { method: 'POST' })).status).toBe(403)
})
