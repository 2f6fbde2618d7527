import { expect, test } from 'vitest'
import { startCli } from '../cli/cli.ts'
import { createUser, githubVariables, openGithub } from '../commands/harness.ts'
import { bodyOfPrompt } from '../http/callers.ts'

/** As on a machine that slept for an hour: the wall clock has gone on, the monotonic one has stood still. */
const sleeper = `
  let sleptMs = 0
  const now = Date.now
  Date.now = () => now() + sleptMs
  process.on('SIGCONT', () => { sleptMs = 3_600_000; process.stderr.write('awake\\n') })`

// Windows has no signal that stops a process.
test.runIf(process.platform !== 'win32')(
  'E17 after an hour of sleep the first call gets a new token and a new connection',
  { timeout: 30_000 },
  async () => {
    const github = await openGithub({ record: 10 })
    const { home } = await createUser()
    const cli = startCli(['serve', '--port', '0'], {
      COPILOT_PROXY_HOME: home,
      ...githubVariables(github),
      COPILOT_GITHUB_TOKEN: github.tokens.issueGithub(),
      NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(sleeper).replaceAll("'", '%27')}"`,
    })
    const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
    const ask = async (stream: boolean): Promise<string> => {
      const body = bodyOfPrompt('chat', 'gpt-4.1', 'Hello', { stream })
      const headers = { 'content-type': 'application/json' }
      const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
      expect(reply.status).toBe(200)
      return reply.text()
    }
    await ask(false)

    cli.child.kill('SIGSTOP')
    github.tokens.expireAll()
    github.dropSockets()
    cli.child.kill('SIGCONT')
    await cli.seen('stderr', /awake/)
    expect(await ask(true)).toContain('[DONE]')
    expect(github.exchanges()).toBe(2)
    // It knew by itself that its token was over.
    expect(github.count('/chat/completions')).toBe(2)
    await ask(false)
    expect(github.exchanges()).toBe(2)
    cli.child.kill('SIGTERM')
    expect((await cli.ended).code).toBe(0)
  },
)
