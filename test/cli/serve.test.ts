import { execFile } from 'node:child_process'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { createUser, githubVariables, inputOf, openGithub } from '../commands/harness.ts'
import { startCli } from './cli.ts'
import type { RunningCli } from './cli.ts'

// A process takes its time to start on a busy machine; nothing here waits for a time to pass.
vi.setConfig({ testTimeout: 60_000 })

const listening = /^copilot-proxy listening on (http:\/\/127\.0\.0\.1:\d+)$/m

async function addressOf(cli: RunningCli): Promise<string> {
  return (await cli.seen('stdout', listening))[1] ?? ''
}

async function healthOf(url: string): Promise<unknown> {
  return (await fetch(`${url}/healthz`)).json()
}

test('F07 serve --demo prints one line on stdout and a curl command that works, and ends with 0 after SIGTERM', async () => {
  const { home } = await createUser()
  const cli = startCli(['serve', '--demo', '--port', '0'], { COPILOT_PROXY_HOME: home })
  const url = await addressOf(cli)
  await cli.seen('stderr', /INFO demo: a simulated Copilot and Codex answer all requests$/m)
  const [, command = ''] = await cli.seen('stderr', /^ {2}(curl .*)$/m)
  expect(command).toContain(`${url}/v1/chat/completions`)
  // The shell of whoever pastes it; -s only silences the progress bar.
  const { stdout: answer } = await promisify(execFile)('sh', ['-c', command.replace('curl', 'curl -sS')])
  expect(JSON.parse(answer).choices[0].message.content).toEqual(expect.any(String))

  // Whoever read the address may close the pipe; the log's reader may leave, too.
  cli.child.stdout?.destroy()
  cli.child.stderr?.destroy()
  expect(await healthOf(url)).toMatchObject({ ok: true })
  cli.child.kill('SIGTERM')
  expect(await cli.ended).toMatchObject({ code: 0, stdout: `copilot-proxy listening on ${url}\n` })
})

test('F03 serve answers with the stored login, and a second one names it', async () => {
  const github = await openGithub()
  const user = await createUser(github)
  await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
  const env = { COPILOT_PROXY_HOME: user.home, ...githubVariables(github) }
  const cli = startCli(['serve', '--port', '0', '--log-format', 'json'], env)
  const url = await addressOf(cli)
  await cli.seen('stderr', /Copilot model list loaded/)
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  expect(reply.status).toBe(200)

  const port = new URL(url).port
  const second = await startCli(['serve', '--port', port], env).ended
  expect(second).toMatchObject({ code: 1, stdout: '' })
  expect(second.stderr).toMatch(/^copilot-proxy \S+ is already running at http:\/\/127\.0\.0\.1:\d+\..*\n$/)

  // Asked while it runs, status and models speak of this daemon.
  Object.assign(user.env, { COPILOT_PROXY_SERVER_PORT: port })
  expect((await user.run('status')).stdout).toMatch(/^Daemon +running at http:\S+, version \S+, Copilot ok$/m)
  expect((await user.run('models')).stdout).toMatch(/^gpt-5-mini /m)

  cli.child.kill('SIGINT')
  const { code, stderr } = await cli.ended
  expect(code).toBe(130)
  const lines = stderr.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).msg)).toContain('stopped')
})

test('F04 serve without a login serves, says how to log in, and follows changes of its configuration', async () => {
  const { home } = await createUser(undefined)
  const file = join(home, 'config.yaml')
  await writeFile(file, 'server: { port: 0 }\n')
  const cli = startCli(['serve'], { COPILOT_PROXY_HOME: home, ...(await unreachableGithub()) })
  const url = await addressOf(cli)
  await cli.seen('stderr', /Not logged in\. Run: copilot-proxy login/)
  expect(await healthOf(url)).toMatchObject({ ok: true, copilot: 'unavailable' })

  await writeFile(file, 'server: { port: many }\nlog: { level: loud }\n')
  const refused = 'the changed configuration is invalid; the old settings remain in use: '
  await cli.seen('stderr', new RegExp(`${refused}${file}:1:\\d+ {2}server\\.port .*$`, 'm'))
  await cli.seen('stderr', new RegExp(`${refused}${file}:2:\\d+ {2}log\\.level .*$`, 'm'))
  await rm(file)
  await cli.seen('stderr', /the configuration file was deleted; the old settings remain in use file=\S+config\.yaml$/m)
  await writeFile(file, 'server: { port: 4999 }\nmodels: { hide: [gpt-4] }\n')
  await cli.seen('stderr', /configuration reloaded/)
  await cli.seen('stderr', /these settings need a restart: copilot-proxy restart keys=\["server\.port"\]/)
  const list = await fetch(`${url}/v1/models`)
  expect(await list.text()).not.toContain('"gpt-4"')
  cli.child.kill('SIGTERM')
  const { code, stderr } = await cli.ended
  expect(code).toBe(0)
  expect(stderr).not.toContain('u000a')
})

test('serve goes on without a record it can read, says so once, and takes a login that appears', async () => {
  const github = await openGithub()
  const user = await createUser(github)
  const auth = join(user.home, 'auth')
  await mkdir(auth, { mode: 0o700 })
  await symlink('/nowhere.json', join(auth, 'copilot-linked.json'))
  const cli = startCli(['serve', '--port', '0'], { COPILOT_PROXY_HOME: user.home, ...githubVariables(github) })
  const url = await addressOf(cli)
  const ask = (): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] }),
    })
  const refused = await ask()
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({ error: { code: 'copilot_unavailable' } })
  await cli.seen('stderr', /WARN \S+copilot-linked\.json is not a plain file/)

  await rm(join(auth, 'copilot-linked.json'))
  await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
  expect((await ask()).status).toBe(200)
  await cli.seen('stderr', /INFO logged in account=demo-user$/m)
  await user.run('logout')
  await cli.seen('stderr', /Not logged in\. Run: copilot-proxy login/)
  cli.child.kill('SIGTERM')
  const { code, stderr } = await cli.ended
  expect(code).toBe(0)
  expect(stderr.match(/is not a plain file/g)).toHaveLength(1)
})

/** A GitHub address where nobody listens any more. */
async function unreachableGithub(): Promise<Record<string, string>> {
  const github = await openGithub()
  await github.close()
  return githubVariables(github)
}
