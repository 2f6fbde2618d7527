import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createUser, githubVariables, openGithub } from '../commands/harness.ts'
import { startCli } from './cli.ts'
import type { RunningCli } from './cli.ts'

const question = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] }

async function askFor(cli: RunningCli, times: number): Promise<string> {
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  for (let each = 0; each < times; each += 1) {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(question) })
    expect(reply.status).toBe(200)
    await reply.text()
  }
  return url
}

async function requestsToday(url: string): Promise<number> {
  const reply = await fetch(`${url}/usage?partial=true`)
  const { totals } = (await reply.json()) as { totals: { today: readonly { requests: number }[] } }
  return totals.today.reduce((sum, { requests }) => sum + requests, 0)
}

test('totals outlive the daemon, also one that is killed after it has written them', { timeout: 60_000 }, async () => {
  const github = await openGithub()
  const { home } = await createUser()
  const env = {
    PATH: process.env['PATH'],
    COPILOT_PROXY_HOME: home,
    COPILOT_GITHUB_TOKEN: github.tokens.issueGithub(),
    ...githubVariables(github),
  }
  const serve = () => startCli(['serve', '--port', '0'], env)

  const first = serve()
  await askFor(first, 2)
  first.child.kill('SIGTERM')
  expect((await first.ended).code).toBe(0)

  const second = serve()
  expect(await requestsToday(await askFor(second, 1))).toBe(3)
  const stored = async (): Promise<string> => (await startCli(['usage', '--line'], env).ended).stdout
  await expect.poll(stored, { timeout: 30_000, interval: 500 }).toMatch(/^today 3 req /)
  second.child.kill('SIGKILL')
  await second.ended

  const third = serve()
  expect(await requestsToday(await askFor(third, 0))).toBe(3)
  expect((await startCli(['usage', '--json'], env).ended).stdout).toContain('"requests": 3')
})

test('a daemon that only simulates writes no totals', async () => {
  const { home } = await createUser()
  const cli = startCli(['serve', '--demo', '--port', '0'], { PATH: process.env['PATH'], COPILOT_PROXY_HOME: home })
  expect(await requestsToday(await askFor(cli, 1))).toBe(1)
  cli.child.kill('SIGTERM')
  expect((await cli.ended).code).toBe(0)
  expect(existsSync(join(home, 'usage.sqlite'))).toBe(false)
})
