import { readFileSync } from 'node:fs'
import { platform } from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { runDaemon } from '../../security/running-daemon.ts'
import { makeFolder } from '../../tools/session.ts'

const script = fileURLToPath(new URL('server.mjs', import.meta.url))

function hasEnded(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return true
  }
}

test.runIf(platform === 'linux')(
  'a server that ignores the end of its input ends with a daemon that is killed',
  async () => {
    const root = await makeFolder()
    const { cli, client, stop } = await runDaemon({
      config: JSON.stringify({
        workspaces: [{ path: root, name: 'app' }],
        'mcp-servers': { it: { command: [process.execPath, script, 'stubborn'] } },
      }),
    })
    // The request starts the servers.
    const { prompts } = z
      .object({ prompts: z.array(z.unknown()) })
      .parse((await client.send('/sessions/app/prompts')).json())
    expect(prompts).toHaveLength(1)
    const [, child] = await cli.seen('stderr', /child (\d+)/)
    expect(hasEnded(Number(child))).toBe(false)
    await stop('SIGKILL')
    await expect.poll(() => hasEnded(Number(child))).toBe(true)
  },
)
