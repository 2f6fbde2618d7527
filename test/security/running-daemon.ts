import { readdirSync } from 'node:fs'
import { startCli, startShell } from '../cli/cli.ts'
import type { RunningCli } from '../cli/cli.ts'
import { createUser } from '../commands/harness.ts'
import { createClient } from '../http/client.ts'
import type { Client } from '../http/client.ts'
import { onTestFinished } from 'vitest'

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
}

const demoArgs = ['serve', '--demo', '--port', '0']

/** The program as a process of its own that answers by itself; killed when the test ends. */
export async function runDaemon({ script, args = demoArgs, env = {} }: DaemonAsk = {}): Promise<RunningDaemon> {
  const { home } = await createUser()
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
