import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '../rpc/support.ts'
import { runDaemon, type RunningDaemon } from '../security/running-daemon.ts'

interface Watched<Value> {
  readonly value: Value
  readonly elapsedMs: number
  /**
   * The most processor time that the daemon took while another caller waited for `/healthz`. On a machine that has nothing else to
   * do, it is the longest wait. Elapsed time would depend on other processes.
   */
  readonly worstWaitMs: number
  /** The largest resident memory of the daemon, and of a child of it. MB. */
  readonly daemonMb: number
  readonly childMb: number
}

export interface AttackedDaemon extends RunningDaemon {
  readonly pid: number
  /** Calls a tool on a connection of its own. Returns the answer as JSON-RPC. */
  readonly ask: (method: string, params: object) => Promise<unknown>
  /** Runs an attack while another caller asks `/healthz` every 30 ms. */
  readonly watch: <Value>(attack: () => Promise<Value>) => Promise<Watched<Value>>
}

/** Starts the program as a process of its own with these folders as workspaces. It is killed after the test. */
export async function attackDaemon(...roots: readonly string[]): Promise<AttackedDaemon> {
  const workspaces = roots.flatMap((root) => ['--workspace', root])
  const daemon = await runDaemon({ args: ['serve', '--demo', '--port', '0', ...workspaces] })
  const { pid } = daemon.cli.child
  if (pid === undefined) throw new Error('The daemon has no process.')
  const health = async (): Promise<number> => {
    const before = processorMs(pid)
    await (await fetch(`${daemon.client.url}/healthz`)).text()
    return processorMs(pid) - before
  }
  return {
    ...daemon,
    pid,
    async ask(method, params) {
      const client = await connect(`${daemon.client.url.replace('http:', 'ws:')}/rpc`)
      return client.ask(method, params)
    },
    async watch(attack) {
      const over = new AbortController()
      let worstWaitMs = 0
      let daemonMb = 0
      let childMb = 0
      const watching = (async () => {
        while (!over.signal.aborted) {
          worstWaitMs = Math.max(worstWaitMs, await health())
          daemonMb = Math.max(daemonMb, residentMb(pid))
          for (const child of childrenOf(pid)) childMb = Math.max(childMb, residentMb(child))
          await delay(30)
        }
      })()
      const startedMs = performance.now()
      try {
        const value = await attack()
        return { value, elapsedMs: performance.now() - startedMs, worstWaitMs, daemonMb, childMb }
      } finally {
        over.abort()
        await watching
      }
    },
  }
}

/** Returns the processes whose parent is `pid` (Linux). */
export function childrenOf(pid: number): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((each) => fieldOf(each, 'PPid') === pid)
}

/** Returns whether the process exists and is not only waiting for its parent to take note of its end. */
export function isRunning(pid: number): boolean {
  return fieldOf(pid, 'VmRSS') > 0
}

/** Returns the processor time of a process (Linux), which the system counts in steps of 10 ms. */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function residentMb(pid: number): number {
  return fieldOf(pid, 'VmRSS') / 1024
}

/** Returns a number of `/proc/PID/status`, 0 for a process that has ended. */
function fieldOf(pid: number, name: string): number {
  try {
    return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
