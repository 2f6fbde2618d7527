import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { findProcessStart } from '../../../src/auth/records/process-start.ts'
import { stopDaemon } from '../../../src/commands/background/stop.ts'
import { createUser } from '../harness.ts'

afterEach(() => void vi.restoreAllMocks())

test.runIf(process.platform === 'linux')('a daemon that does not end on request is killed', async () => {
  const script = `process.on('SIGTERM', () => {}); setInterval(() => {}, 60_000); console.log('ready')`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  const pid = child.pid ?? 0
  const user = await createUser()
  const context = user.context({ sleep: (_ms, signal) => delay(5, undefined, { signal }) })
  const record = {
    pid,
    process_start: (await findProcessStart(pid, context)) ?? '',
    url: 'http://127.0.0.1:4141',
    version: '0.0.0-test',
    started_at: '2026-11-22T00:00:00.000Z',
    starter: 'detach',
    flags: {},
  } as const
  // The time that it is given has passed at the first look.
  vi.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValue(1_000_000)
  expect(await stopDaemon(context, 30, record)).toEqual({ killed: true })
  expect(await ended).toEqual([null, 'SIGKILL'])
  expect(await stopDaemon(context, 30, record)).toEqual({ killed: false })
})
