import { spawn, type ChildProcess } from 'node:child_process'
import { kill, platform } from 'node:process'
import { serializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'

import type { Mount } from '../../workspace/sandbox/bubblewrap-arguments.ts'
import { endWithDaemon } from '../../workspace/sandbox/end-with-daemon.ts'
import { displacedReason, readReport } from '../../workspace/sandbox/report.ts'
import { readMessages } from './read-message.ts'

export interface StdioProgram {
  /** The program and its arguments. */
  readonly command: readonly string[]
  readonly cwd: string
  /** The complete environment of the program. */
  readonly env: Readonly<Record<string, string>>
  /** The mounts of a program in bubblewrap. Absent: it has no sandbox. */
  readonly mounts?: readonly Mount[] | undefined
  /** Receives the stderr output of the program. */
  readonly onStderr: (chunk: Buffer) => void
  /** Receives the reason why the program has ended by itself, before `onclose`. */
  readonly onEnd: (reason: string) => void
}

/** Maximum size of one message. Bytes. */
const maxMessageBytes = 10 * 1024 * 1024

/** Maximum number of messages that wait to be read by the program. A server may ask any number of questions. */
const maxUnread = 1000

/** Time between SIGTERM and SIGKILL. Ms. */
const graceMs = 2000

/** Time to read the last output of an ended program while another process keeps its pipes open. Ms. */
const drainMs = 500

/**
 * Creates a transport to a program. The SDK's own transport starts no process group, so a server that `npx` or `uvx` has started
 * would outlive it. It also adds variables of the daemon to the environment.
 */
export function createStdioTransport({ command, cwd, env, mounts, onStderr, onEnd }: StdioProgram): Transport {
  const [program = '', ...args] = command
  let parts: Buffer[] = []
  let partBytes = 0
  const gone = Promise.withResolvers<void>()
  let child: ChildProcess | undefined
  let reason: string | undefined
  /** Whether the program is told to end. Then, its end is no reason of a failure, unless it had closed its stdin before. */
  let isClosing = false
  let isBroken = false
  let unread = 0
  /** Whether the program is ended for what it has done. */
  let isStopped = false

  /** Keeps the chunks of a line until its end, because joining them for each chunk would take quadratic time. */
  function read(chunk: Buffer): void {
    if (isStopped) return
    let from = 0
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', from)) {
      const line = Buffer.concat([...parts, chunk.subarray(from, end)]).toString('utf8')
      parts = []
      partBytes = 0
      from = end + 1
      if (line.trim() !== '') receive(line)
      if (isStopped) return
    }
    if (reason !== undefined) return
    parts.push(chunk.subarray(from))
    partBytes += chunk.length - from
    // Otherwise, Node reads up to 2 MB in one turn of the event loop, which may be a flood of small messages.
    const stdout = child?.stdout
    stdout?.pause()
    setImmediate(() => stdout?.resume())
    if (partBytes > maxMessageBytes) stop(`it sent a message of more than ${maxMessageBytes / 1024 / 1024} MB`)
  }

  function receive(line: string): void {
    try {
      const messages = readMessages(line)
      for (const message of messages) transport.onmessage?.(message)
      // Some servers also log to stdout.
      if (messages.length === 0) transport.onerror?.(new Error('The program wrote a line that is no message.'))
    } catch (error) {
      // An exception would leave the listener of the stream, and end the daemon.
      stop(error instanceof Error ? error.message : String(error))
    }
  }

  function stop(why: string): void {
    isStopped = true
    reason = why
    parts = []
    void transport.close()
  }

  const transport: Transport = {
    start() {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const started = spawn(program, args, {
        cwd,
        env,
        stdio: ['pipe', 'pipe', 'pipe', ...(mounts === undefined ? [] : (['pipe', 'pipe'] as const))],
        // Starts a process group. On Windows, this would open a window.
        detached: platform !== 'win32',
        windowsHide: true,
      })
      child = started
      const report = mounts === undefined ? undefined : readReport(started, mounts)
      const endGuard = mounts === undefined ? endWithDaemon(started) : undefined
      started.once('spawn', resolve)
      started.once('error', (error) => {
        reject(error)
        if (started.pid === undefined) gone.resolve()
      })
      started.stdin?.on('error', (error) => transport.onerror?.(error))
      started.stdout?.on('data', read)
      started.stderr?.on('data', onStderr)
      started.once('exit', (code, signal) => {
        endGuard?.()
        // End the processes that the program has started too.
        signalGroup(started, 'SIGKILL')
        if (report?.isDisplaced() === true) reason ??= `it was not started: ${displacedReason}`
        if (code === null && !isClosing) reason ??= `it was ended by ${signal}`
        else if (code !== null && (!isClosing || isBroken)) reason ??= `it ended with exit code ${code}`
        setTimeout(() => {
          started.stdout?.destroy()
          started.stderr?.destroy()
        }, drainMs).unref()
      })
      started.once('close', () => {
        gone.resolve()
        if (started.pid === undefined) return
        if (reason !== undefined) onEnd(reason)
        transport.onclose?.()
      })
      return promise
    },
    // Asynchronous, because the SDK does not expect an exception: it sends from listeners.
    async send(message: JSONRPCMessage) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const stdin = child?.stdin
      if (stdin?.writable !== true) throw new Error('The program has ended.')
      unread += 1
      if (unread > maxUnread) stop('it does not read what it is sent')
      stdin.write(serializeMessage(message), (error) => {
        unread -= 1
        if (!error) return resolve()
        isBroken ||= !isClosing
        reject(error)
      })
      await promise
    },
    async close() {
      if (child === undefined) return
      isClosing = true
      child.stdin?.end()
      signalGroup(child, 'SIGTERM')
      const running = child
      const timer = setTimeout(() => signalGroup(running, 'SIGKILL'), graceMs)
      await gone.promise
      clearTimeout(timer)
    },
  }
  return transport
}

/** Signals the process group, which may outlive its first process. */
function signalGroup(child: ChildProcess, name: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return
  try {
    if (platform === 'win32') child.kill(name)
    else kill(-child.pid, name)
  } catch {
    // ESRCH: the group has ended.
  }
}
