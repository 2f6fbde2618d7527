import { hash } from 'node:crypto'
import type { McpServer } from '@agentclientprotocol/sdk'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { WebSocket } from 'ws'
import { relayOutput } from '../../api/server-relay.ts'
import type { RelayInput, RelayOutput } from '../../api/server-relay.ts'
import { legalHeaderValue } from '../../config/header-table.ts'
import { secretsOfServer } from '../../config/secrets.ts'
import { endpointUrl } from '../../config/setting-types.ts'
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
const attachMs = 5000

/** What the daemon has not read may have this size. Bytes. */
const maxQueuedBytes = 64 * 1024 * 1024

/** The daemon's limit for one message, less what surrounds it. Characters. */
const maxMessage = 15 * 1024 * 1024

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

  return {
    async attach(feed) {
      for (const problem of problems.splice(0)) tell(problem)
      if (isClosed || settings.size === 0) return
      if (link?.feed !== feed || !link.isOpen()) {
        void link?.close()
        link = openLink(context, { id, feed, settings, redact: secrets.redact, tell })
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
}

interface Channel {
  readonly transport: Promise<Transport>
  /** Ends it, and says why. Undefined: the daemon has asked for it. */
  readonly end: (reason: string | undefined) => Promise<void>
}

function openLink(context: CommandContext, { id, feed, settings, redact, tell }: LinkOptions): Link {
  const { place } = feed
  const channels = new Map<number, Channel>()
  const ready = Promise.withResolvers<void>()
  let isOpen = true
  let socket: WebSocket | undefined

  function send(input: RelayInput): void {
    if (isOpen) socket?.send(JSON.stringify(input))
  }

  function open(channel: number, server: Settings): Channel {
    const lines = createLastLines(redact)
    let endReason: string | undefined
    let isEnded = false
    const transport = connectTo(server, { onStderr: lines.add, onEnd: (reason) => (endReason = reason) })

    async function end(reason: string | undefined): Promise<void> {
      if (isEnded) return
      isEnded = true
      channels.delete(channel)
      const written = lines.text()
      if (reason !== undefined) {
        send({ type: 'closed', channel, reason: redact(reason) + (written === '' ? '' : ` (it wrote: ${written})`) })
      }
      await (await transport.catch(() => undefined))?.close()
    }

    async function connectTo(...args: Parameters<typeof toTransport>): Promise<Transport> {
      const made = await toTransport(...args)
      made.onmessage = (message) => forward(message)
      made.onclose = () => void end(endReason ?? 'the connection was closed')
      await made.start()
      return made
    }

    function forward(message: JSONRPCMessage): void {
      const text = JSON.stringify({ type: 'message', channel, message: redactStrings(message, redact) })
      if (text.length > maxMessage) void end('it sent a message that is too long')
      else if ((socket?.bufferedAmount ?? 0) > maxQueuedBytes) void end('it sends faster than it is read')
      else if (isOpen) socket?.send(text)
    }

    transport.catch(async (error: unknown) => end(endReason ?? (await reasonOf(error))))
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
        return ready.resolve()
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
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the daemon's MCP client has made it
        return use(output.channel, (transport) => transport.send(output.message as JSONRPCMessage))
      case 'close':
        return void channels.get(output.channel)?.end(undefined)
    }
  }

  function ended(problem: string): void {
    if (!isOpen) return
    isOpen = false
    ready.reject(new Error(problem))
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
    opened.on('message', (data, isBinary) => {
      const { data: output } = relayOutput.safeParse(isBinary ? undefined : parse(data.toString()))
      if (output !== undefined) receive(output)
    })
    opened.on('unexpected-response', (_request, { statusCode }) => {
      ended(statusCode === 403 ? notOwner : otherVersion)
      opened.terminate()
    })
    opened.on('error', (error) => ended(error.message))
    opened.on('close', () => ended('copilot-proxy has closed the connection'))
  }

  connect().catch((error: unknown) => ended(String(error)))
  const late = AbortSignal.timeout(attachMs)
  late.addEventListener('abort', () => ready.reject(new Error('copilot-proxy did not answer in time')))
  return {
    feed,
    isOpen: () => isOpen,
    attached: ready.promise.catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error)
      tell(`The MCP servers of the editor cannot be used: ${reason}. The session works without them.`)
    }),
    async close() {
      const ending = Array.from(channels.values(), (channel) => channel.end(undefined))
      ready.resolve()
      ended('')
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

const notOwner = 'only the user who has started copilot-proxy can name some'
const otherVersion = 'the running copilot-proxy is another version. Run: copilot-proxy restart'

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

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
