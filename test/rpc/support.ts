import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { buildApp } from '../../src/app.ts'
import type { App } from '../../src/app.ts'
import type { Config } from '../../src/config/schema.ts'
import type { Deadlines } from '../../src/http/connections.ts'
import { isObject } from '../../src/json/json.ts'
import { createModelRegistry } from '../../src/models/registry.ts'
import type { Session } from '../../src/tools/session.ts'
import type { Workspaces } from '../../src/sessions/workspaces.ts'
import type { Tool, ToolCall, ToolResult } from '../../src/tools/tool.ts'
import { ToolError } from '../../src/workspace/tool-error.ts'
import type { ToolFailure } from '../../src/workspace/tool-error.ts'
import { loaded } from '../config/loading.ts'
import { pipelineParts } from '../pipeline/support.ts'
import { recordingLog } from '../recording-log.ts'
import type { LogLine } from '../recording-log.ts'
import { restOfApp } from '../http/owner.ts'

const notHere = (): never => {
  throw new Error('the fake tools touch no file')
}

function fakeSession(name: string): Session {
  return {
    id: `id-of-${name}`,
    name,
    folder: {
      root: `/w/${name}`,
      relativePath: notHere,
      existingPath: notHere,
      readFile: notHere,
      readStart: notHere,
      reading: notHere,
      refuseOwn: notHere,
      writeFile: notHere,
      removeFile: notHere,
      checkWritable: notHere,
      missingFolders: notHere,
      removeEmptyFolder: notHere,
      sandbox: { state: notHere, start: notHere, distrustsPolicy: notHere },
    },
    policy: {
      readRules: notHere,
      mayWrite: notHere,
      mayRun: notHere,
      describe: notHere,
      unconfirmed: notHere,
      close: () => {},
    },
    signal: new AbortController().signal,
  }
}

/** Records calls. Keeps what the real tools promise: a call ends once, with a ToolError when its signal is aborted. */
export interface FakeWorkspaces {
  readonly workspaces: Workspaces
  readonly calls: ToolCall[]
  /** The calls of `wait` that nobody has ended. */
  readonly waiting: () => number
  /** Ends every call of `wait`. */
  readonly release: () => void
  /** Reports that the tools of a session have changed. */
  readonly listChanged: (sessionId: string) => void
  /** Closes the workspace of this name. */
  readonly remove: (name: string) => void
}

export const failures = {
  invalid_arguments: { kind: 'invalid_arguments', path: 'range.start', detail: 'must be a whole number' },
  denied: { kind: 'denied', detail: 'The policy does not allow it.' },
  conflict: {
    kind: 'conflict',
    detail: 'The patch does not match.',
    conflicts: [{ path: 'a.ts', line: 3, expected: ['x'], found: ['y'] }],
  },
  too_large: { kind: 'too_large', detail: 'The file is too large.' },
  timed_out: { kind: 'timed_out', afterMs: 1000 },
  approval_refused: { kind: 'approval_refused', detail: 'Nobody was asked.' },
  cancelled: { kind: 'cancelled' },
  failed: { kind: 'failed', detail: 'There is no such file.' },
} satisfies { readonly [Kind in ToolFailure['kind']]: Extract<ToolFailure, { readonly kind: Kind }> }

function isFailureKind(value: unknown): value is ToolFailure['kind'] {
  return typeof value === 'string' && Object.hasOwn(failures, value)
}

const toolNames = ['echo', 'wait', 'report', 'fail', 'break', 'big', 'mcp.fs.read', 'mcp.session.list']

export function fakeWorkspaces(names: readonly string[] = ['foo']): FakeWorkspaces {
  let sessions = names.map(fakeSession)
  const calls: ToolCall[] = []
  const listeners = new Set<(sessionId: string) => void>()
  const changeListeners = new Set<() => void>()
  const ends = new Set<() => void>()
  const list: readonly Tool[] = toolNames.map((name) => ({
    name,
    description: name,
    parameters: { type: 'object' },
    effect: 'read',
    run: notHere,
  }))

  async function call(asked: ToolCall): Promise<ToolResult> {
    calls.push(asked)
    const args = isObject(asked.args) ? asked.args : {}
    switch (asked.name) {
      case 'wait': {
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        const cancel = () => reject(new ToolError({ kind: 'cancelled' }))
        ends.add(resolve)
        if (asked.signal.aborted) cancel()
        asked.signal.addEventListener('abort', cancel, { once: true })
        try {
          await promise
        } finally {
          ends.delete(resolve)
        }
        return { waited: true }
      }
      case 'report':
        asked.progress?.({ text: 'one', stream: 'stdout' })
        asked.progress?.({ text: 'two' })
        // A tool that goes on after its end.
        setImmediate(() => asked.progress?.({ text: 'late' }))
        return {}
      case 'fail':
        throw new ToolError(failures[isFailureKind(args['kind']) ? args['kind'] : 'failed'])
      case 'break':
        throw new Error('a defect at /home/user/secret')
      case 'big':
        return { content: 'x'.repeat(Number(args['bytes'])) }
      default:
        return { session: asked.session.name, args: asked.args }
    }
  }

  return {
    workspaces: {
      sessions: () => sessions,
      find: (wanted) =>
        wanted === undefined
          ? sessions.length === 1
            ? sessions[0]
            : undefined
          : sessions.find(({ id, name }) => id === wanted || name === wanted),
      tools: {
        list: () => list,
        call,
        onListChanged(listener) {
          listeners.add(listener)
          return () => listeners.delete(listener)
        },
      },
      onChange(listener) {
        changeListeners.add(listener)
        return () => changeListeners.delete(listener)
      },
    },
    calls,
    waiting: () => ends.size,
    release: () => {
      for (const end of ends) end()
    },
    listChanged: (sessionId) => {
      for (const listener of listeners) listener(sessionId)
    },
    remove: (name) => {
      sessions = sessions.filter((session) => session.name !== name)
      for (const listener of changeListeners) listener()
    },
  }
}

export interface RpcApp {
  readonly app: App
  /** E.g. `ws://127.0.0.1:5/rpc`. */
  readonly url: string
  readonly log: readonly LogLine[]
  readonly configure: (file: string) => void
}

/** The real app on loopback, with these workspaces. */
export async function openRpcApp({
  workspaces,
  file = '',
  deadlines = {},
  maxConnections,
}: {
  readonly workspaces: () => Workspaces | undefined
  readonly file?: string
  readonly deadlines?: Partial<Deadlines>
  readonly maxConnections?: number
}): Promise<RpcApp> {
  let config: Config = loaded({ file }).config
  const log = recordingLog()
  const registry = createModelRegistry(config.models)
  const app = buildApp({
    ...pipelineParts({ config, registry, log, executorOf: notHere }),
    config: () => config,
    ...restOfApp(),
    workspaces,
    deadlines,
    maxConnections,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => app.close(0))
  return {
    app,
    url: `ws://127.0.0.1:${app.address().port}/rpc`,
    log: log.lines,
    configure(text) {
      config = loaded({ file: text }).config
      app.reconfigured()
    },
  }
}

export interface RpcClient {
  readonly socket: WebSocket
  readonly sendText: (text: string) => void
  /** The next message, as JSON. */
  readonly next: () => Promise<unknown>
  /** Sends a request with an id of its own and returns the next message. */
  readonly ask: (method: string, params?: unknown) => Promise<unknown>
  /** The close code. */
  readonly closed: Promise<number>
}

export async function connect(
  url: string,
  { protocols = [], headers = {} }: { protocols?: string[]; headers?: Record<string, string> } = {},
): Promise<RpcClient> {
  const socket = new WebSocket(url, protocols, { headers, perMessageDeflate: true })
  onTestFinished(() => socket.terminate())
  const arrived: unknown[] = []
  const wanted: ((message: unknown) => void)[] = []
  socket.on('message', (data) => {
    const message: unknown = JSON.parse(data instanceof Buffer ? data.toString() : '')
    const take = wanted.shift()
    if (take === undefined) arrived.push(message)
    else take(message)
  })
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await once(socket, 'open')
  let id = 0
  const next = () =>
    arrived.length > 0 ? Promise.resolve(arrived.shift()) : new Promise<unknown>((resolve) => wanted.push(resolve))
  return {
    socket,
    closed,
    next,
    sendText: (text) => socket.send(text),
    ask(method, params) {
      id += 1
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) }))
      return next()
    },
  }
}

/** The status and body of a handshake that is refused. */
export async function refusedHandshake(
  url: string,
  { protocols = [], headers = {} }: { protocols?: string[]; headers?: Record<string, string> } = {},
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const socket = new WebSocket(url, protocols, { headers })
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; body: string }>()
  socket.on('open', () => reject(new Error('the handshake was accepted')))
  socket.on('error', reject)
  socket.on('unexpected-response', (_request, response) => {
    let body = ''
    response.setEncoding('utf8')
    response.on('data', (text: string) => {
      body += text
    })
    response.once('end', () => resolve({ status: response.statusCode, body }))
  })
  return await promise
}
