import { expect, test } from 'vitest'
import { createUser } from '../commands/harness.ts'
import { startCli } from './cli.ts'

test.each([
  ['', /^\{"level":"info","time":\d+,"msg":"demo: a simulated Copilot and Codex answer .*"\}$/m],
  ['pretty', /^\d\d:\d\d:\d\d\.\d{3} {2}INFO demo: a simulated Copilot and Codex answer/m],
])('with log.format %j the log that goes into a pipe matches %s', { timeout: 60_000 }, async (format, pattern) => {
  const { home } = await createUser()
  const env = { COPILOT_PROXY_HOME: home, COPILOT_PROXY_LOG_FORMAT: format }
  const cli = startCli(['serve', '--demo', '--port', '0'], env)
  await cli.seen('stderr', pattern)
  cli.child.kill('SIGTERM')
  expect((await cli.ended).code).toBe(0)
})
