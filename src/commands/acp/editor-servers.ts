import { hash } from 'node:crypto'
import type { McpServer } from '@agentclientprotocol/sdk'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { WebSocket } from 'ws'
import { relayOutput } from '../../api/server-relay.ts'
import type { RelayInput, RelayOutput } from '../../api/server-relay.ts'
import { legalHeaderValue } from '../../config/header-table.ts'
import { secretsOfServer } from '../../config/secrets.ts'
import { endpointUrl } from '../../config/setting-types.ts'
import { isTooComplex, parseJson, tooComplex } from '../../json/json.ts'
import { createLastLines } from '../../mcp/servers/log-lines.ts'
import { createKnownSecrets, redactStrings } from '../../redaction/known-secrets.ts'
import type { CommandContext } from '../shared/command.ts'
import type { Feed } from './open-feeds.ts'

export interface EditorServersOptions {
  /** The id of the conversation. */
  readonly id: string
  /** As the editor has named them. */
  readonly servers: readonly McpServer[]
  /** Takes sentences for the person. */
  readonly tell: (sentence: string) => void
}

/**
 * The MCP servers that an editor names for a session. This process starts them and holds the connections, and the daemon is their
 * client: for the daemon, no caller can start a program, and the values of their variables and headers stay here.
 */
export interface EditorServers {
  /** Gives the servers to the conversation, unless it has them. Resolves when it has, or has failed, within `attachMs`. Never rejects. */
  readonly attach: (feed: Feed) => Promise<void>
  /** Ends the servers. Resolves when their programs have ended. */
  readonly close: () => Promise<void>
}

/** What is needed to connect to a server. */
type Settings =
  | { readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> }

/** For the daemon to answer. Ms. */
const attachMs = 10_000

/** What the daemon has not read may have this size. Bytes. */
const maxQueuedBytes = 64 * 1024 * 1024

/** The daemon takes 16 MB. Servers send 10 MB at most, and what takes the place of a secret may be longer. Bytes. */
const maxMessageBytes = 15 * 1024 * 1024

const maxServers = 50

export function createEditorServers(
  context: CommandContext,
  { id, servers: given, tell }: EditorServersOptions,
): EditorServers {
  const { settings, problems } = readServers(given)
  const secrets = createKnownSecrets()
  secrets.hold('servers', ...[...settings.values()].flatMap(secretsOf))
  let link: Link | undefined
  let isClosed = false
  /** Why the daemon did not take the servers, if it did not the last time. */
  let refusal: string | undefined

  function onAttached(problem: string | undefined): void {
    // Each prompt tries again.
    if (problem !== undefined && problem !== refusal) {
      tell(`The MCP servers of the editor cannot be used: ${problem}. The session works without them.`)
    }
    refusal = problem
  }

  return {
    async attach(feed) {
      for (const problem of problems.splice(0)) tell(problem)
      if (isClosed || settings.size === 0) return
      if (link?.feed !== feed || !link.isOpen()) {
        void link?.close()
        link = openLink(context, { id, feed, settings, redact: secrets.redact, tell, onAttached })
      }
      await link.attached
    },
    async close() {
      isClosed = true
      await link?.close()
    },
  }
}

/** One connection to a daemon. */
interface Link {
  readonly feed: Feed
  readonly isOpen: () => boolean
  readonly attached: Promise<void>
  readonly close: () => Promise<void>
}

interface LinkOptions extends Pick<EditorServersOptions, 'id' | 'tell'> {
  readonly feed: Feed
  readonly settings: ReadonlyMap<string, Settings>
  readonly redact: (text: string) => string
  /** @param problem why the daemon has not taken the servers, in a clause */
  readonly onAttached: (problem: string | undefined) => void
}

interface Channel {
  readonly transport: Promise<Transport>
  /** Ends it, and says why. Undefined: the daemon has asked for it. */
  readonly end: (reason: string | undefined) => Promise<void>
}

function openLink(context: CommandContext, { id, feed, settings, redact, tell, onAttached }: LinkOptions): Link {
  const { place } = feed
  const channels = new Map<number, Channel>()
  const attached = Promise.withResolvers<void>()
  let isAttached = false
  let isOpen = true
  let socket: WebSocket | undefined

  function send(input: RelayInput): void {
    if (isOpen) socket?.send(JSON.stringify(input))
  }

  function open(channel: number, server: Settings): Channel {
    const lines = createLastLines(redact)
    let endReason: string | undefined
    let isEnded = false
    let isGone = false
    const transport = connectTo()

    async function end(reason: string | undefined): Promise<void> {
      if (isEnded) return
      isEnded = true
      channels.delete(channel)
      // A program that has closed its pipes ends soon, and its exit code says more.
      if (!isGone) await (await transport.catch(() => undefined))?.close().catch(() => {})
      if (reason === undefined) return
      const written = lines.text()
      const clause = redact(endReason ?? reason) + (written === '' ? '' : ` (it wrote: ${written})`)
      send({ type: 'closed', channel, reason: clause })
    }

    async function connectTo(): Promise<Transport> {
      const made = await toTransport(server, {
        onStderr: (chunk) => lines.add(chunk),
        onEnd: (reason) => (endReason = reason),
      })
      Object.assign(made, {
        onmessage: forward,
        onclose() {
          isGone = true
          void end('the connection was closed')
        },
      } satisfies Partial<Transport>)
      await made.start()
      return made
    }

    function forward(message: JSONRPCMessage): void {
      const text = JSON.stringify({ type: 'message', channel, message: redactStrings(message, redact) })
      if (Buffer.byteLength(text) > maxMessageBytes) void end('it sent a message that is too long')
      // The daemon would close the connection, which the editor's other servers use too.
      else if (isTooComplex(text)) void end(`it sent a message that ${tooComplex}`)
      else if ((socket?.bufferedAmount ?? 0) > maxQueuedBytes) void end('it sends faster than it is read')
      else if (isOpen) socket?.send(text)
    }

    transport.catch(async (error: unknown) => end(await reasonOf(error)))
    return { transport, end }
  }

  /** In their order, once the transport has started. */
  function use(channel: number, act: (transport: Transport) => Promise<void> | void): void {
    const found = channels.get(channel)
    found?.transport.then(act).catch(async (error: unknown) => found.end(await reasonOf(error)))
  }

  function receive(output: RelayOutput): void {
    switch (output.type) {
      case 'ready':
        return settle(undefined)
      case 'notice':
        return tell(output.text)
      case 'open': {
        const server = settings.get(output.server)
        if (server !== undefined) channels.set(output.channel, open(output.channel, server))
        return
      }
      case 'version':
        return use(output.channel, (transport) => transport.setProtocolVersion?.(output.version))
      case 'message':
        return use(output.channel, (transport) => deliver(transport, output))
      case 'close':
        return void channels.get(output.channel)?.end(undefined)
    }
  }

  async function deliver(
    transport: Transport,
    { channel, message }: Extract<RelayOutput, { readonly type: 'message' }>,
  ): Promise<void> {
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the daemon's MCP client has made it
      await transport.send(message as JSONRPCMessage)
    } catch (error) {
      const { hasLostSession, lostSession } = await import('../../mcp/servers/open-client.ts')
      if (message['id'] === undefined || !hasLostSession(transport, error)) throw error
      // The daemon begins a new session, and asks again.
      const answer = { code: lostSession, message: 'The server does not know the session.' }
      send({ type: 'message', channel, message: { jsonrpc: '2.0', id: message['id'], error: answer } })
    }
  }

  function settle(problem: string | undefined): void {
    if (isAttached) return
    isAttached = true
    onAttached(problem)
    attached.resolve()
  }

  function ended(problem: string | undefined): void {
    if (!isOpen) return
    isOpen = false
    settle(problem)
    for (const channel of channels.values()) void channel.end(undefined)
  }

  async function connect(): Promise<void> {
    const [{ WebSocket: Client }] = await Promise.all([import('ws'), context.prepareFetch()])
    if (!isOpen) return
    const path = `/sessions/${encodeURIComponent(place.sessionId)}/conversations/${encodeURIComponent(id)}/servers`
    const opened = new Client(`${place.url.replace(/^http/, 'ws')}${path}`, {
      headers: { authorization: `Bearer ${place.key}` },
      handshakeTimeout: attachMs,
      perMessageDeflate: false,
    })
    socket = opened
    opened.on('open', () => send({ type: 'servers', servers: [...settings].map(describe) }))
    opened.on('message', (data) => {
      // The client of ws gives a text as one buffer.
      const { data: output } = relayOutput.safeParse(data instanceof Buffer ? parseJson(data.toString()) : undefined)
      if (output !== undefined) receive(output)
    })
    opened.on('unexpected-response', (_request, { statusCode }) => {
      ended(refusals[statusCode ?? 0] ?? `copilot-proxy answered with status ${statusCode}`)
      opened.terminate()
    })
    opened.on('error', (error) => ended(error.message))
    opened.on('close', () => ended('copilot-proxy has closed the connection'))
  }

  connect().catch((error: unknown) => ended(String(error)))
  AbortSignal.timeout(attachMs).addEventListener('abort', () => {
    if (isAttached) return
    ended('copilot-proxy did not answer in time')
    socket?.terminate()
  })
  return {
    feed,
    isOpen: () => isOpen,
    attached: attached.promise,
    async close() {
      const ending = Array.from(channels.values(), (channel) => channel.end(undefined))
      ended(undefined)
      socket?.close()
      await Promise.all(ending)
    },
  }

  async function toTransport(server: Settings, hooks: ProgramHooks): Promise<Transport> {
    const [{ createTransport }, { serverEnvironment }] = await Promise.all([
      import('../../mcp/servers/open-client.ts'),
      import('../../mcp/servers/mcp-servers.ts'),
    ])
    if ('url' in server) return createTransport({ kind: 'address', ...server })
    const base = serverEnvironment(context.env)
    // Not in the workspace, in which `npx` would run programs that it finds there.
    const program = { command: server.command, cwd: base['HOME'] ?? '/', env: { ...base, ...server.env }, ...hooks }
    return createTransport({ kind: 'program', program })
  }
}

interface ProgramHooks {
  readonly onStderr: (chunk: Buffer) => void
  readonly onEnd: (reason: string) => void
}

/** Why the daemon refuses servers, by status, in clauses. */
const refusals: Readonly<Record<number, string>> = {
  403: 'only the user who has started copilot-proxy can name some',
  404: 'the conversation no longer exists',
}

/** An address may have a key in its query. */
function secretsOf(settings: Settings): readonly string[] {
  const query = 'url' in settings ? [...new URL(settings.url).searchParams.values()] : []
  return [...secretsOfServer(settings), ...query]
}

async function reasonOf(error: unknown): Promise<string> {
  return (await import('../../mcp/servers/open-client.ts')).reasonOf(error)
}

function describe([name, settings]: readonly [string, Settings]) {
  return { name, fingerprint: hash('sha256', JSON.stringify(settings)) }
}

/** Returns the servers by name, and why the others cannot be used. */
function readServers(given: readonly McpServer[]) {
  const settings = new Map<string, Settings>()
  const problems: string[] = []
  for (const server of given) {
    const read = settings.size >= maxServers ? `there are more than ${maxServers}` : readServer(server, settings)
    if (typeof read === 'string') {
      problems.push(`The MCP server ${JSON.stringify(server.name.slice(0, 100))} is not used: ${read}.`)
    } else settings.set(server.name, read)
  }
  return { settings, problems }
}

/** Returns why a server cannot be used, in a clause that repeats no value. */
function readServer(server: McpServer, others: ReadonlyMap<string, Settings>): Settings | string {
  const { name } = server
  if (!/^\P{Cc}{1,100}$/u.test(name)) return 'its name must have 1 to 100 characters'
  if (others.has(name)) return 'another server has this name'
  if (!('type' in server)) {
    const { command, args, env } = server
    const texts = [command, ...args, ...env.flatMap((each) => [each.name, each.value])]
    if (command === '') return 'it has no command'
    if (texts.some((text) => text.includes('\0'))) return 'its command or its variables have a NUL character'
    return { command: [command, ...args], env: Object.fromEntries(env.map((each) => [each.name, each.value])) }
  }
  if (server.type !== 'http') return `servers of the type ${JSON.stringify(server.type)} are not supported`
  const { url, headers } = server
  const { error } = endpointUrl.safeParse(url.replace(/\?.*$/s, ''))
  if (error !== undefined) return `its address is not accepted: ${error.issues[0]?.message}`
  if (!headers.every((each) => headerName.test(each.name) && legalHeaderValue(each.value))) {
    return 'it has a header that HTTP does not allow'
  }
  return { url, headers: Object.fromEntries(headers.map((each) => [each.name, each.value])) }
}

const headerName = /^[a-z0-9!#$%&'*+.^_`|~-]+$/i
