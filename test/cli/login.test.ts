import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exampleJwt, openIssuer } from '../auth/codex/issuer.ts'
import { createUser, githubVariables, openGithub } from '../commands/harness.ts'
import { startCli } from './cli.ts'

// One real device flow: its polls are seconds apart, so every other case runs without waiting, in test/commands.
test('login works without a terminal and stores the login', { timeout: 30_000 }, async () => {
  const github = await openGithub()
  const { home } = await createUser()
  const { code, stdout, stderr } = await startCli(['login'], {
    COPILOT_PROXY_HOME: home,
    ...githubVariables(github),
  }).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('DEMO-0001')
  expect(stdout).toContain('Logged in as demo-user, with Copilot Pro.')
  expect(stdout).not.toContain('\u001B')
  expect(await readdir(join(home, 'auth'))).toEqual([expect.stringMatching(/^copilot-demo-user.*\.json$/)])
})

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s during a login ends it with %d and nothing stored', async (signal, expected) => {
  const github = await openGithub()
  const { home } = await createUser()
  const cli = startCli(['login'], { COPILOT_PROXY_HOME: home, ...githubVariables(github) })
  await cli.seen('stdout', /Waiting for GitHub/)
  cli.child.kill(signal)
  expect(await cli.ended).toMatchObject({ code: expected, stderr: 'Interrupted. Nothing was stored.\n' })
  expect(await readdir(home)).toEqual([])
})

test('a token arrives over a pipe, the login is used and forgotten', async () => {
  const github = await openGithub()
  const { home } = await createUser()
  const env = { COPILOT_PROXY_HOME: home, COPILOT_PROXY_SERVER_PORT: '2', ...githubVariables(github) }
  const login = startCli(['login', '--token-stdin'], env)
  login.child.stdin?.end(github.tokens.issueGithub())
  expect(await login.ended).toMatchObject({ code: 0, stderr: '' })
  const models = await startCli(['models', '--json'], env).ended
  expect(models).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(models.stdout).data.length).toBeGreaterThan(5)
  expect(await startCli(['logout'], env).ended).toMatchObject({ code: 0, stderr: '' })
})

/** A user whose ChatGPT login is played by a small issuer, which agrees at the first poll. */
async function codexUser() {
  const claims = {
    email: 'sam@example.com',
    exp: Math.floor(Date.now() / 1000) + 864_000,
    'https://api.openai.com/auth': { chatgpt_account_id: 'acc-0001', chatgpt_plan_type: 'plus' },
  }
  const issuer = await openIssuer({
    '/api/accounts/deviceauth/usercode': [
      { body: { device_auth_id: 'example-device-auth', user_code: 'ABCD-12345', interval: '1' } },
    ],
    '/api/accounts/deviceauth/token': [
      { body: { authorization_code: 'example-code', code_verifier: 'example-verifier' } },
    ],
    '/oauth/token': [{ body: { access_token: exampleJwt(claims), refresh_token: 'example-refresh' } }],
  })
  const { home } = await createUser()
  const env = { COPILOT_PROXY_HOME: home, COPILOT_PROXY_SERVER_PORT: '2', COPILOT_PROXY_CODEX_ISSUER: issuer.url }
  return { home, env, issuer }
}

/** Everything that a Codex login keeps to itself. */
const secrets = /eyJ|example-(?:code|device|refresh|verifier)/

test('login codex with a code is stored, shown by status and forgotten', { timeout: 30_000 }, async () => {
  const { home, env } = await codexUser()
  const login = await startCli(['login', 'codex', '--device'], env).ended
  expect(login).toMatchObject({ code: 0, stderr: '' })
  expect(login.stdout).toContain('ABCD-12345')
  expect(login.stdout).toContain('Logged in to Codex as sam@example.com, with ChatGPT Plus.')
  expect(await readdir(join(home, 'auth'))).toEqual([expect.stringMatching(/^codex-.*\.json$/)])
  const status = await startCli(['status'], env).ended
  expect(status).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('sam@example.com') })
  const logout = await startCli(['logout', 'codex'], env).ended
  expect(logout).toMatchObject({ code: 0, stderr: '' })
  expect(login.stdout + status.stdout + logout.stdout).not.toMatch(secrets)
  expect(await readdir(join(home, 'auth'))).toEqual([])
  expect(await startCli(['status'], env).ended).toMatchObject({ code: 3, stderr: '' })
})

test('login codex in a browser comes back to one of the two documented ports', { timeout: 30_000 }, async () => {
  const { env, issuer } = await codexUser()
  const cli = startCli(['login', 'codex', '--no-browser'], env)
  const [address] = await cli.seen('stdout', /http:\S+\/oauth\/authorize\S+(?=\n)/)
  await cli.seen('stdout', /Waiting for OpenAI/)
  const asked = new URL(address).searchParams
  const back = new URL(asked.get('redirect_uri') ?? '')
  expect(back.href).toMatch(/^http:\/\/localhost:145[57]\/auth\/callback$/)
  back.search = new URLSearchParams({ code: 'example-code', state: asked.get('state') ?? '' }).toString()
  expect((await fetch(back)).status).toBe(200)
  const { code, stdout, stderr } = await cli.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('Logged in to Codex as sam@example.com')
  expect(stdout).not.toMatch(secrets)
  expect(issuer.asked.map(({ path }) => path)).toEqual(['/oauth/token'])
})

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s during a login to Codex ends it with %d and nothing stored', async (signal, expected) => {
  const { home, env } = await codexUser()
  const cli = startCli(['login', 'codex', '--no-browser'], env)
  await cli.seen('stdout', /Waiting for OpenAI/)
  cli.child.kill(signal)
  expect(await cli.ended).toMatchObject({ code: expected, stderr: 'Interrupted. Nothing was stored.\n' })
  expect(await readdir(home)).toEqual([])
})
