import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'
import { runDaemon } from './running-daemon.ts'
import { isThorough } from '../thorough.ts'

/** After SIGUSR2, the program does nothing else until the file exists. */
const holdingUntil = (file: string) => ({
  NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(
    `import { existsSync } from 'node:fs'; process.on('SIGUSR2', () => { while (!existsSync(${JSON.stringify(file)})); })`,
  ).replaceAll("'", '%27')}"`,
})

async function openDaemon(hasWorkspace: boolean) {
  const folder = await makeFolder()
  const file = join(folder, 'go-on')
  const config = hasWorkspace ? `workspaces: ['${folder}']\n` : ''
  const daemon = await runDaemon({ config, env: { ...holdingUntil(file), COPILOT_PROXY_LOG_FORMAT: 'json' } })
  await daemon.client.send('/healthz')
  return { daemon, release: () => writeFile(file, '') }
}

test(
  'what holds the event loop is reported while it does, and how long it took afterwards',
  { timeout: 60_000 },
  async () => {
    const { daemon, release } = await openDaemon(true)
    const { cli, client, stop } = daemon
    // The first request itself may be what holds the loop.
    cli.child.kill('SIGUSR2')
    await cli.seen('stderr', /held all requests for \d seconds; the newest is GET \/healthz\n/)
    await release()
    await cli.seen('stderr', /"held_for_ms":\d{4,},"work":"GET \/healthz","msg":"one piece of work held all requests"/)
    expect((await client.send('/healthz')).status).toBe(200)
    expect((await stop('SIGTERM')).code).toBe(0)
  },
)

test.runIf(isThorough)('without a workspace, it is reported afterwards', { timeout: 60_000 }, async () => {
  const { daemon, release } = await openDaemon(false)
  daemon.cli.child.kill('SIGUSR2')
  await setTimeout(12_000)
  await release()
  await daemon.cli.seen('stderr', /one piece of work held all requests/)
  const { code, stderr } = await daemon.stop('SIGTERM')
  expect(code).toBe(0)
  expect(stderr).not.toContain('the newest is')
})

test.runIf(isThorough)('a daemon that was stopped and continued reports nothing', { timeout: 60_000 }, async () => {
  const { daemon } = await openDaemon(true)
  await setTimeout(3000)
  daemon.cli.child.kill('SIGSTOP')
  await setTimeout(8000)
  daemon.cli.child.kill('SIGCONT')
  expect((await daemon.client.send('/healthz')).status).toBe(200)
  await setTimeout(2000)
  const { code, stderr } = await daemon.stop('SIGTERM')
  expect(code).toBe(0)
  expect(stderr).not.toContain('held all requests')
})
