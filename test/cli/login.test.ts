import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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
  const env = { COPILOT_PROXY_HOME: home, COPILOT_PROXY_SERVER_PORT: '1', ...githubVariables(github) }
  const login = startCli(['login', '--token-stdin'], env)
  login.child.stdin?.end(github.tokens.issueGithub())
  expect(await login.ended).toMatchObject({ code: 0, stderr: '' })
  const models = await startCli(['models', '--json'], env).ended
  expect(models).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(models.stdout).data.length).toBeGreaterThan(5)
  expect(await startCli(['logout'], env).ended).toMatchObject({ code: 0, stderr: '' })
})
