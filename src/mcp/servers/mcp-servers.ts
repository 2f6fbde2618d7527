import { existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { platform } from 'node:process'
import { isDeepStrictEqual } from 'node:util'
import type { McpServerSettings } from '../../config/mcp-servers.ts'
import { toModelName } from '../../tools/model-names.ts'
import type { Tool, ToolSource } from '../../tools/tool.ts'
import type { Session } from '../../tools/session.ts'
import { commandEnvironment } from '../../workspace/run-command.ts'
import type { StartedIn } from '../../workspace/sandbox/sandbox.ts'
import { createOfferTools } from './offer-tools.ts'
import {
  createServerConnection,
  noOffers,
  type ServerConnection,
  type ServerConnectionDeps,
  type ServerListing,
} from './server-connection.ts'
import type { Place } from './open-client.ts'
import type { StdioProgram } from './stdio-transport.ts'

export interface McpServersDeps extends Pick<ServerConnectionDeps, 'version' | 'redact' | 'log' | 'now' | 'setTimer'> {
  /** The setting `mcp-servers`. */
  readonly settings: () => Readonly<Record<string, McpServerSettings>>
  /** Returns the gateway's token, or undefined while the gateway is closed. */
  readonly providerToken: () => string | undefined
  /** Returns the folder that replaces `~` at the start of a path. May throw. */
  readonly homeDir: () => string
  /** The daemon's environment. Servers get only its PATH and the variables that Windows needs. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The tools of the configured MCP servers. Each session has its own connection to each server. */
export interface McpServers extends Required<ToolSource> {
  readonly listing: (session: Session) => readonly ServerListing[]
  /** Connects to servers that another program holds, for those alone who use the tools that are returned. */
  readonly relay: (
    session: Session,
    servers: readonly RelayedServer[],
    tell: NonNullable<ServerConnectionDeps['tell']>,
  ) => RelayedTools
  /** Ends servers that were removed or changed, and starts those of sessions in use. */
  readonly reconfigure: () => void
  /** Ends all servers. Resolves when their programs have ended. */
  readonly close: () => Promise<void>
}

export interface RelayedServer {
  readonly name: string
  /** Differs for two servers of one name. */
  readonly fingerprint: string
  /** Opens a connection. @param onEnd receives the reason why it has ended by itself, before `onclose` */
  readonly open: (onEnd: StdioProgram['onEnd']) => Extract<Place, { readonly kind: 'relay' }>['transport']
}

/** The tools of relayed servers and those of the configured ones. */
export interface RelayedTools extends Required<Omit<ToolSource, 'onChange'>> {
  /** Lists the relayed servers. */
  readonly listing: () => readonly ServerListing[]
  /** Opens the connections, which the first use does otherwise. */
  readonly start: () => void
  /** Ends the connections. */
  readonly close: () => void
}

/** The names of relayed servers begin with it. The configuration allows no point, so that they are never those of configured ones. */
const relayedBy = 'editor.'

/** The PATH of servers if the daemon has none. */
const systemPath = '/usr/local/bin:/usr/bin:/bin'

export function createMcpServers(deps: McpServersDeps): McpServers {
  /** The connections of each session whose tools were requested, by server name. */
  const used = new Map<Session, Map<string, ServerConnection>>()
  const listeners = new Set<(sessionId: string) => void>()
  const closing = new Set<Promise<void>>()
  const offerTools = createOfferTools()
  let isClosed = false

  const announce = ({ id }: Session): void => {
    for (const listener of listeners) listener(id)
  }

  function end(connection: ServerConnection): void {
    const ended = connection
      .close()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'an MCP server did not close'))
      .finally(() => closing.delete(ended))
    closing.add(ended)
  }

  function endAll(session: Session): void {
    for (const connection of used.get(session)?.values() ?? []) end(connection)
    used.delete(session)
  }

  function connectionsOf(session: Session): Map<string, ServerConnection> {
    const known = used.get(session)
    if (known !== undefined) return known
    const made = new Map<string, ServerConnection>()
    used.set(session, made)
    session.signal.addEventListener('abort', () => endAll(session), { once: true })
    return made
  }

  function connect(session: Session, name: string, settings: McpServerSettings): ServerConnection {
    async function place(hooks: Pick<StdioProgram, 'onStderr' | 'onEnd'>): Promise<Place> {
      const { url, headers = {} } = settings
      if (url !== undefined) return { kind: 'address', url, headers }
      return { kind: 'program', program: { ...(await toProgram(settings, session, deps)), ...hooks } }
    }
    return createServerConnection({ ...deps, name, settings, session, place, changed: () => announce(session) })
  }

  function relay(...[session, servers, tell]: Parameters<McpServers['relay']>): RelayedTools {
    const relayed = new Map(
      servers.map(({ name: given, fingerprint, open }) => {
        const name = relayedBy + given
        const connection = createServerConnection({
          ...deps,
          name,
          settings: { prefix: toModelName(name), fingerprint },
          session,
          place: async ({ onEnd }) => ({ kind: 'relay', transport: open(onEnd) }),
          // A run asks for the tools at each step.
          changed() {},
          tell,
        })
        return [name, connection]
      }),
    )
    const start = (): Promise<unknown> => Promise.all(Array.from(relayed.values(), (each) => each.prepare()))
    let all: ReadonlyMap<string, ServerConnection> = relayed
    /** Returns the same map until a connection comes or goes: `offerTools` remembers the tools of a map. */
    function allConnections(): typeof all {
      const now = [...(used.get(session) ?? []), ...relayed]
      if (now.length !== all.size || now.some(([name, each]) => all.get(name) !== each)) all = new Map(now)
      return all
    }
    return {
      tools: () => toolsOf(allConnections()),
      async prepare() {
        await Promise.all([prepare(session), start()])
      },
      listing: () => Array.from(relayed.values(), (connection) => connection.listing()),
      start: () => void start(),
      close() {
        for (const connection of relayed.values()) end(connection)
      },
    }
  }

  const toolsOf = (connections: ReadonlyMap<string, ServerConnection>): readonly Tool[] => [
    ...[...connections.values()].flatMap((connection) => connection.tools()),
    ...offerTools(connections),
  ]

  async function prepare(session: Session): Promise<void> {
    const settings = Object.entries(deps.settings())
    if (isClosed || session.signal.aborted || settings.length === 0) return
    const connections = connectionsOf(session)
    for (const [name, each] of settings) {
      if (!connections.has(name)) connections.set(name, connect(session, name, each))
    }
    await Promise.all([...connections.values()].map((connection) => connection.prepare()))
  }

  return {
    tools(session) {
      const connections = used.get(session)
      return connections === undefined ? [] : toolsOf(connections)
    },
    prepare,
    relay,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    listing: (session) =>
      Object.keys(deps.settings()).map((name) => used.get(session)?.get(name)?.listing() ?? stopped(name)),
    reconfigure() {
      const wanted = deps.settings()
      for (const [session, connections] of used) {
        for (const [name, connection] of connections) {
          if (isDeepStrictEqual(connection.settings, wanted[name])) continue
          end(connection)
          connections.delete(name)
        }
        announce(session)
        void prepare(session)
      }
    },
    async close() {
      isClosed = true
      for (const session of used.keys()) endAll(session)
      await Promise.all(closing)
    },
  }
}

function stopped(name: string): ServerListing {
  return { name, state: 'stopped', tools: [], ...noOffers }
}

function programPath(env: McpServersDeps['env']): readonly string[] {
  return (env['PATH'] ?? systemPath).split(delimiter).filter((folder) => isAbsolute(folder))
}

/** What a server gets of the environment of this process. */
export function serverEnvironment(env: McpServersDeps['env']): Readonly<Record<string, string>> {
  return commandEnvironment(programPath(env), env, platform)
}

/**
 * Returns the program of a server. It starts in the home directory by default, because `npx` would run untrusted programs of the
 * workspace there. Replaces `${workspace}` with the root of the workspace.
 */
async function toProgram(
  { command = [], cwd, env = {}, sandbox = false }: McpServerSettings,
  session: Session,
  deps: McpServersDeps,
): Promise<Omit<StdioProgram, 'onStderr' | 'onEnd'>> {
  const fill = (text: string): string => text.replaceAll('${workspace}', () => session.folder.root)
  const fillPath = (path: string): string => fill(path.replace(/^~(?=[/\\])/, deps.homeDir))
  const [program = '', ...args] = command
  const path = programPath(deps.env)
  const base = serverEnvironment(deps.env)
  const token = deps.providerToken()
  const words = [fillPath(program), ...args.map(fill)] as const
  const folder = cwd === undefined ? undefined : fillPath(cwd)
  const started = sandbox ? await encloseProgram(words, folder, path, session) : undefined
  return {
    command: started?.argv ?? words,
    cwd: started === undefined ? (folder ?? base['HOME'] ?? '/') : '/',
    mounts: started?.mounts,
    env: {
      ...base,
      ...started?.variables,
      // Without a network, it cannot be a provider.
      ...(token !== undefined && started === undefined && { TAP_PROVIDER_TOKEN: token }),
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)])),
    },
  }
}

/** In the sandbox, the workspace is the folder of a program by default: what it would run there reaches nothing else. */
async function encloseProgram(
  [program, ...args]: readonly [string, ...string[]],
  cwd: string | undefined,
  path: readonly string[],
  { folder }: Session,
): Promise<StartedIn> {
  const candidates = isAbsolute(program) ? [program] : path.map((each) => join(each, program))
  const found = candidates.find((each) => existsSync(each)) ?? program
  return folder.sandbox.start({
    argv: [found, ...args],
    cwd: cwd ?? folder.root,
    access: 'write',
    rule: 'always enclosed',
  })
}
