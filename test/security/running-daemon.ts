import { fork } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startCli, startShell } from '../cli/cli.ts'
import type { RunningCli } from '../cli/cli.ts'
import { createUser } from '../commands/harness.ts'
import { createClient } from '../http/client.ts'
import type { Client } from '../http/client.ts'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { confirmPolicies } from '../workspace/policy/confirm.ts'

export interface RunningDaemon {
  readonly cli: RunningCli
  readonly client: Client
  readonly home: string
  readonly stop: (signal: NodeJS.Signals) => Promise<{ readonly code: number | undefined; readonly stderr: string }>
}

export interface DaemonAsk {
  /** A shell script in which "$@" is the program. */
  readonly script?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The configuration file. */
  readonly config?: string
  /** A workspace whose policy a person has confirmed. */
  readonly confirmed?: string
}

const demoArgs = ['serve', '--demo', '--port', '0']

/** The program as a process of its own that answers by itself; killed when the test ends. */
export async function runDaemon(ask: DaemonAsk = {}): Promise<RunningDaemon> {
  const { script, args = demoArgs, env = {}, config, confirmed } = ask
  const { home } = await createUser()
  if (config !== undefined) await writeFile(join(home, 'config.yaml'), config)
  if (confirmed !== undefined) await confirmPolicies(join(home, 'workspaces'), confirmed)
  const all = { COPILOT_PROXY_HOME: home, ...env }
  const cli = script === undefined ? startCli(args, all) : startShell(script, args, all)
  const [, url = ''] = await cli.seen('stdout', /^copilot-proxy listening on (\S+)$/m)
  const client = createClient(url)
  onTestFinished(client.close)
  return {
    cli,
    client,
    home,
    stop: (signal) => {
      cli.child.kill(signal)
      return cli.ended
    },
  }
}

/** How many files and sockets a process has open (Linux). */
export function openFiles({ child }: RunningCli): number {
  return readdirSync(`/proc/${child.pid}/fd`).length
}

export interface Watch {
  /** The daemon's memory at the beginning. */
  readonly startBytes: number
  /**
   * Ends the watch. Returns the longest time that the daemon worked before it answered, in ms, and the most memory that it
   * had.
   */
  readonly end: () => Promise<{ readonly worstMs: number; readonly mostBytes: number }>
}

/**
 * Asks /healthz every 30 ms, as another caller would, and reads the daemon's memory. It is a process of its
 * own, because the test itself may be busy.
 */
export async function watchDaemon({ cli, client }: RunningDaemon): Promise<Watch> {
  const watching = fork(
    fileURLToPath(new URL('children/watch-daemon.ts', import.meta.url)),
    [client.url, String(cli.child.pid)],
    { execArgv: [] },
  )
  onTestFinished(() => {
    watching.kill('SIGKILL')
  })
  const [first] = await once(watching, 'message')
  const { mostBytes: startBytes } = watchReport.parse(first)
  return {
    startBytes,
    async end() {
      watching.send('end')
      const [report] = await once(watching, 'message')
      return watchReport.parse(report)
    },
  }
}

const watchReport = z.object({ worstMs: z.number().default(0), mostBytes: z.number() })
