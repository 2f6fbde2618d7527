import { existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { platform } from 'node:process'
import { isDeepStrictEqual } from 'node:util'
import type { McpServerSettings } from '../../config/mcp-servers.ts'
import type { ToolSource } from '../../tools/tool.ts'
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
  /** Ends servers that were removed or changed, and starts those of sessions in use. */
  readonly reconfigure: () => void
  /** Ends all servers. Resolves when their programs have ended. */
  readonly close: () => Promise<void>
}

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
    const programOf = () => toProgram(settings, session, deps)
    return createServerConnection({ ...deps, name, settings, session, programOf, changed: () => announce(session) })
  }

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
      if (connections === undefined) return []
      return [...[...connections.values()].flatMap((connection) => connection.tools()), ...offerTools(connections)]
    },
    prepare,
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
  const path = (deps.env['PATH'] ?? systemPath).split(delimiter).filter((folder) => isAbsolute(folder))
  const base = commandEnvironment(path, deps.env, platform)
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
