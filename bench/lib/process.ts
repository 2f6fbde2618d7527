import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'

export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  /** The first line it wrote to stdout. */
  readonly firstLine: string
}

/** Starts `node <args>` and waits for its first line on stdout. Discards its stderr. */
export async function startNode(args: readonly string[], env: Record<string, string> = {}): Promise<Running> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    env: { ...process.env, ...env },
  })
  const { pid, stdout } = child
  if (pid === undefined || stdout === null) throw new Error(`could not start ${args.join(' ')}`)
  const firstLine = await new Promise<string>((resolve, reject) => {
    createInterface({ input: stdout }).once('line', resolve)
    child.once('exit', (code) => reject(new Error(`${args.join(' ')} exited with ${code}`)))
  })
  return { child, pid, firstLine }
}

export async function stop({ child }: Running, signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await exited
}

/** Sends a command to the probe in the process (`probe.ts`) and returns its answer. */
export async function askProbe({ child }: Running, command: 'stall' | 'collect'): Promise<number> {
  const answer = new Promise<number>((resolve) => child.once('message', (value) => resolve(Number(value))))
  child.send(command)
  return answer
}

/** CPU time of all threads of a process so far, from the kernel's own accounting (Linux). Microseconds. */
export function cpuMicros(pid: number): number {
  let nanos = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    nanos += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0])
  }
  return nanos / 1000
}

/** Resident memory. Bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) * 1024
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}
