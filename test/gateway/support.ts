import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { Config } from '../../src/config/schema.ts'
import { openGateway, type GatewayDeps, type LifecycleListener } from '../../src/gateway/open-gateway.ts'
import type { ProviderPush } from '../../src/gateway/provider-connection.ts'
import { createProviderTools } from '../../src/gateway/provider-tools.ts'
import { openWorkspaces } from '../../src/sessions/open-workspaces.ts'
import type { ToolCall, ToolResult } from '../../src/tools/tool.ts'
import { loaded } from '../config/loading.ts'
import { recordingLog } from '../recording-log.ts'
import { makeFolder } from '../tools/session.ts'

export interface GatewayOptions {
  /** Names of the workspaces; one by default. */
  readonly names?: readonly string[]
  readonly settings?: Readonly<Record<string, unknown>>
  readonly pingMs?: number
  readonly deps?: Partial<GatewayDeps>
}

/** Opens a gateway with real workspaces on a free port. The test collects pushes and starts and ends runs. */
export async function openTestGateway({
  names = ['foo'],
  settings = {},
  pingMs = 30_000,
  deps = {},
}: GatewayOptions = {}) {
  const folders = await Promise.all(names.map(async (name) => ({ name, path: await makeFolder({ 'a.txt': 'one\n' }) })))
  const configOf = (workspaces: readonly object[], changed: object = {}): Config =>
    loaded({ file: JSON.stringify({ workspaces, gateway: { enabled: true, port: 0 }, ...settings, ...changed }) })
      .config
  let config = configOf(folders)
  const log = recordingLog()
  const dataDir = await makeFolder()
  const copilotHome = await makeFolder()
  const discoveryDir = join(copilotHome, 'extensions', 'tap')
  const providers = createProviderTools(setTimer)
  const workspaces = await openWorkspaces({
    config: () => config,
    dataDir: join(dataDir, 'workspaces'),
    redact: (text) => text,
    ownPaths: { folders: [], files: [] },
    homeDir: () => '/nowhere',
    sources: [providers],
    log,
  })
  onTestFinished(workspaces.close)
  const pushes: ProviderPush[] = []
  const listeners = new Set<LifecycleListener>()
  const secrets: string[] = []
  const gateway = await openGateway({
    config: () => config,
    workspaces,
    providers,
    push: (push) => pushes.push(push),
    lifecycle(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    dataDir: join(dataDir, 'gateway'),
    discoveryDir,
    pid: process.pid,
    processStart: async (pid) => (pid === process.pid ? 'own start' : undefined),
    portHolder: async () => 'another program',
    holdSecrets: (...values) => secrets.push(...values),
    log,
    now: () => performance.now(),
    setTimer,
    randomHex: (bytes) => randomBytes(bytes).toString('hex'),
    pingMs,
    ...deps,
  })
  onTestFinished(() => gateway.close(0))
  const [first] = workspaces.sessions()
  if (first === undefined) throw new Error('no session')
  return {
    gateway,
    url: gateway.url() ?? '',
    token: gateway.token,
    workspaces,
    providers,
    session: first,
    log,
    pushes,
    secrets,
    dataDir: join(dataDir, 'gateway'),
    discoveryDir,
    discoveryFile: join(discoveryDir, '.provider-token'),
    /** Simulates the start or the end of a run. */
    lifecycle: (state: 'started' | 'idle', sessionId = first.id) => {
      for (const listener of listeners) listener(sessionId, state)
    },
    removeWorkspaces: () => {
      config = configOf([])
      return workspaces.reconfigure()
    },
    call: (name: string, args: unknown = {}, more: Partial<ToolCall> = {}): Promise<ToolResult> =>
      workspaces.tools.call({
        session: first,
        name,
        args,
        caller: 'test',
        signal: new AbortController().signal,
        // The caller has a person who allows everything.
        approve: async () => true,
        ...more,
      }),
    toolNames: () =>
      workspaces.tools
        .list(first)
        .filter((tool) => tool.provider !== undefined)
        .map((tool) => tool.name),
  }
}
export type TestGateway = Awaited<ReturnType<typeof openTestGateway>>

export function setTimer(run: () => void, delayMs: number): () => void {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}

type Message = Readonly<Record<string, unknown>>

/** A provider that sends and receives raw messages. */
export interface RawProvider {
  readonly socket: WebSocket
  readonly send: (message: Message) => void
  readonly sendText: (text: string) => void
  /** Resolves with the next message. */
  readonly next: () => Promise<Message>
  /** Returns the messages that `next` has not returned yet. */
  readonly waiting: () => readonly Message[]
  /** Resolves with the close code. */
  readonly closed: Promise<number>
}

/** Parses a text message, which ws passes as one buffer. */
export function readMessage(data: unknown): Message {
  return JSON.parse(data instanceof Buffer ? data.toString() : '') as Message
}

export async function connectRaw(url: string): Promise<RawProvider> {
  const socket = new WebSocket(url)
  onTestFinished(() => socket.terminate())
  const arrived: Message[] = []
  const wanted: ((message: Message) => void)[] = []
  socket.on('message', (data) => {
    const message = readMessage(data)
    const take = wanted.shift()
    if (take === undefined) arrived.push(message)
    else take(message)
  })
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await once(socket, 'open')
  return {
    socket,
    closed,
    send: (message) => socket.send(JSON.stringify(message)),
    sendText: (text) => socket.send(text),
    next() {
      const first = arrived.shift()
      if (first !== undefined) return Promise.resolve(first)
      return new Promise((resolve, reject) => {
        wanted.push(resolve)
        void closed.then((code) => reject(new Error(`closed with ${code} before the next message`)))
      })
    },
    waiting: () => arrived,
  }
}

export const greet = {
  name: 'greet',
  description: 'Say hello',
  parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
} as const

/** Returns a minimal tool with this name. */
export function toolOf(name: string, more: object = {}) {
  return { name, description: name, parameters: { type: 'object' }, ...more }
}

export interface BindOptions {
  readonly name?: string
  readonly tools?: readonly unknown[]
  readonly session?: string
}

/** Connects and authenticates a provider. */
export async function authenticate(of: TestGateway): Promise<RawProvider> {
  const provider = await connectRaw(of.url)
  provider.send({ type: 'auth', token: of.token() })
  await provider.next()
  return provider
}

/** Connects and binds a provider, and reads `hello.ack` and `started`. */
export async function bind(
  of: TestGateway,
  { name = 'my-provider', tools = [greet], session = of.session.id }: BindOptions = {},
): Promise<RawProvider & { readonly id: string }> {
  const provider = await authenticate(of)
  provider.send({ type: 'hello', name, protocolVersion: 2, session, tools })
  const ack = await provider.next()
  if (ack['type'] !== 'hello.ack') throw new Error(`no hello.ack: ${JSON.stringify(ack)}`)
  await provider.next()
  return { ...provider, id: String(ack['providerId']) }
}
