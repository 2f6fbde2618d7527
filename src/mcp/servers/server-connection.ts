import type { McpServerSettings } from '../../config/mcp-servers.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Session } from '../../tools/session.ts'
import type { Tool, ToolContext, ToolResult } from '../../tools/tool.ts'
import { identify } from '../../tools/foreign-tools.ts'
import { maxForModels, namesOf } from '../../tools/model-names.ts'
import { failed, ToolError } from '../../workspace/tool-error.ts'
import { toPromptResult, toResourceResult, toToolResult } from './call-result.ts'
import { createLastLines, createLogLines } from './log-lines.ts'
import type { OpenClient, Place, ServerLists } from './open-client.ts'
import { readTools, type ServerTool } from './read-tools.ts'
import type { StdioProgram } from './stdio-transport.ts'

export interface ServerSettings extends McpServerSettings {
  /** Tells a server that another program relays from every other one of its name. */
  readonly fingerprint?: string
}

export interface ServerConnectionDeps {
  readonly name: string
  readonly settings: ServerSettings
  readonly session: Session
  /** Returns where the server is. */
  readonly place: (hooks: Pick<StdioProgram, 'onStderr' | 'onEnd'>) => Promise<Place>
  /** The connection calls it after its tools have changed. */
  readonly changed: () => void
  /** Takes sentences for the person who has named the server. Default: they are in the log and in the listing only. */
  readonly tell?: (sentence: string) => void
  readonly version: string
  /** Removes known credentials from the output of a server. */
  readonly redact: (text: string) => string
  readonly log: Logger
  /** Monotonic. Ms. */
  readonly now: () => number
  readonly setTimer: (run: () => void, delayMs: number) => () => void
}

/** A `failed` server starts again when it is needed, but only after a pause. */
type ServerState = 'stopped' | 'starting' | 'running' | 'failed'

/** What a server offers besides tools. */
export type ServerOffers = Pick<ServerLists, 'resources' | 'templates' | 'prompts'>

export interface ServerListing extends ServerOffers {
  readonly name: string
  readonly state: ServerState
  /** The reason of the failure. */
  readonly error?: string
  /** Why tools are left out. */
  readonly problems?: readonly string[]
  /** Names of the tools. */
  readonly tools: readonly string[]
}

/** The connection of one session to one server. */
export interface ServerConnection {
  readonly settings: ServerSettings
  readonly tools: () => readonly Tool[]
  /** Another object after each change. */
  readonly offers: () => ServerOffers
  /** @throws ToolError */
  readonly readResource: (uri: string, context: ToolContext) => Promise<ToolResult>
  /** @throws ToolError */
  readonly getPrompt: (
    prompt: string,
    args: Readonly<Record<string, string>>,
    context: ToolContext,
  ) => Promise<ToolResult>
  /** Starts the server unless it runs or pauses. Resolves when it runs or has failed, at the latest after `patienceMs`. */
  readonly prepare: () => Promise<void>
  readonly listing: () => ServerListing
  readonly close: () => Promise<void>
}

/** A list of tools waits this long for a server to start. Later tools cause an announcement of the change. Ms. */
const patienceMs = 10_000

/** First and longest pause before a failed server starts again. Each failure doubles it. Ms. */
const firstPauseMs = 1000
const longestPauseMs = 60_000

/** A server that runs this long has recovered, so its earlier failures no longer count. Ms. */
const recoveredMs = 60_000

/** Several list changes within this time cause one read. Ms. */
const batchMs = 200

export function createServerConnection(deps: ServerConnectionDeps): ServerConnection {
  const { name, settings, session, log, now, setTimer } = deps
  const about = { server: name, session: session.id }
  let state: ServerState = 'stopped'
  let client: OpenClient | undefined
  let starting: Promise<void> | undefined
  /** Resolves with `starting`, at the latest after `patienceMs`. */
  let patient: Promise<void> | undefined
  let problem: string | undefined
  /** The reason why the program has ended. */
  let endReason: string | undefined
  /** The last output of the program to stderr. */
  let lastLines: ReturnType<typeof createLastLines> | undefined
  let failures = 0
  let startedAt = 0
  let retryAt = 0
  let isClosed = false
  const closed = new AbortController()
  let refreshTimer: (() => void) | undefined
  let refreshing: Promise<void> | undefined
  /** The tools of the last start stay listed while the server does not run, so that lists do not change back and forth. */
  let tools: readonly Tool[] = []
  /** Why tools of the list are left out. */
  let problems: readonly string[] = []
  /** Those of all lists that were logged. */
  const said = new Set<string>()
  let lists: ServerOffers = noOffers

  /** @param given a clause. What the program wrote last is part of the reason. */
  function fail(given: string): void {
    if (isClosed || state === 'failed') return
    if (state === 'running' && now() - startedAt > recoveredMs) failures = 0
    failures += 1
    retryAt = now() + Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs)
    state = 'failed'
    const written = lastLines?.text() ?? ''
    const reason = deps.redact(given) + (written === '' ? '' : ` (it wrote: ${written})`)
    // A server that cannot start fails again and again.
    const isNews = reason !== problem
    problem = reason
    client = undefined
    log.warn({ ...about, reason }, 'an MCP server failed')
    if (isNews) deps.tell?.(`The MCP server "${name}" failed: ${reason}.`)
  }

  function onEnd(reason: string): void {
    endReason = reason
  }

  function writeLine(line: string): void {
    log.info({ ...about, line }, 'an MCP server wrote to stderr')
  }

  function place(): Promise<Place> {
    const logLines = createLogLines({ write: writeLine, redact: deps.redact, now })
    const lines = createLastLines(deps.redact)
    lastLines = lines
    return deps.place({
      onStderr(chunk) {
        logLines(chunk)
        lines.add(chunk)
      },
      onEnd,
    })
  }

  async function start(): Promise<void> {
    state = 'starting'
    endReason = undefined
    lastLines = undefined
    const { openClient, reasonOf } = await import('./open-client.ts')
    let opened: OpenClient | undefined
    let isOver = false
    try {
      opened = await openClient({
        place: await place(),
        session,
        version: deps.version,
        signal: closed.signal,
        onClose() {
          isOver = true
          // During the start, its own error describes the failure better.
          if (opened !== undefined && opened === client) fail(endReason ?? 'the connection was closed')
        },
        onListChanged: () => {
          refreshTimer ??= setTimer(() => void refreshNow(), batchMs)
        },
        onError: (error) => log.debug({ err: error, ...about }, 'MCP'),
      })
      const found = await opened.lists()
      if (isClosed || isOver) throw new Error('the connection was closed')
      client = opened
      state = 'running'
      startedAt = now()
      problem = undefined
      log.info({ ...about, tools: found.tools.length }, 'an MCP server is running')
      take(found)
    } catch (error) {
      fail(endReason ?? reasonOf(error))
      await opened?.close().catch(() => {})
    } finally {
      starting = undefined
    }
  }

  function take(found: ServerLists): void {
    const { prefix = name, trust: isTrusted = false } = settings
    // They outlive this connection, which ends when the settings of the server change.
    const names = namesOf(session, `server ${name} as ${prefix}`, maxForModels)
    const read = readTools(found.tools, { prefix, names, isTrusted })
    problems = read.problems.slice(0, maxProblems)
    for (const reason of problems) {
      // A server may change its list at any rate.
      if (said.has(reason) || said.size >= maxProblems) continue
      said.add(reason)
      log.warn({ ...about, reason }, 'a tool of an MCP server is left out')
      deps.tell?.(`The MCP server "${name}" has a tool that cannot be used: ${deps.redact(reason)}.`)
    }
    tools = read.tools.map(toTool)
    const { tools: _tools, ...offers } = found
    lists = offers
    deps.changed()
  }

  async function refresh(): Promise<void> {
    const asked = client
    try {
      const found = await asked?.lists()
      if (found !== undefined && asked === client) take(found)
    } catch (error) {
      log.warn({ err: error, ...about }, 'the tools of an MCP server could not be read again')
    } finally {
      refreshing = undefined
    }
  }

  /** Reads the lists again, once for all that ask meanwhile. A change that is announced during the read causes another one. */
  function refreshNow(): Promise<void> {
    refreshTimer?.()
    refreshTimer = undefined
    return (refreshing ??= refresh())
  }

  function begin(): void {
    if (isClosed || state === 'starting' || state === 'running' || now() < retryAt) return
    starting = start()
    const late = Promise.withResolvers<void>()
    const cancel = setTimer(late.resolve, patienceMs)
    patient = Promise.race([starting.finally(cancel), late.promise])
  }

  function toTool({ given, ...definition }: ServerTool): Tool {
    const timeoutSeconds = settings['timeout-seconds']
    const identity = identify(name, settings, given, definition)
    return {
      ...definition,
      provider: name,
      identity,
      trustedBy: trustedBy(name, settings),
      ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
      run: async (args: unknown, context) =>
        toToolResult(
          name,
          await send(context, (used) => {
            // A server may list other tools after a restart. What a person approved was the earlier one.
            if (!tools.some((tool) => tool.identity === identity)) {
              throw failed(
                `The MCP server "${name}" has changed the tool ${JSON.stringify(given.slice(0, 100))}. Nothing was called.`,
              )
            }
            return used.call(given, args, context)
          }),
        ),
    }
  }

  /** Starts the server if it does not run. @throws ToolError */
  async function send<Result>(
    context: ToolContext,
    act: (used: OpenClient) => Promise<Result>,
    isSecond = false,
  ): Promise<Result> {
    const { signal } = context
    begin()
    await untilAborted(starting, signal)
    const used = client
    if (used === undefined)
      throw failed(`The MCP server "${name}" is not running: ${problem ?? 'it is closed'}.${pauseText()}`)
    // The server has announced a change. What it says about the tool now decides whether a person is asked.
    if (refreshTimer !== undefined || refreshing !== undefined) await untilAborted(refreshNow(), signal)
    try {
      return await act(used)
    } catch (error) {
      if (error instanceof ToolError) throw error
      if (signal.aborted) throw new ToolError({ kind: 'cancelled' }, { cause: error })
      if (used.isSessionLost(error) && !isSecond) {
        forget(used)
        return await send(context, act, true)
      }
      const { answerOf, reasonOf } = await import('./open-client.ts')
      const answer = answerOf(error)
      if (answer !== undefined) throw failed(`The call of the MCP server "${name}" failed: ${answer}.`, error)
      const reason = endReason ?? reasonOf(error)
      // The first call after the pause connects again.
      if (used === client) {
        fail(reason)
        void used.close().catch(() => {})
      }
      throw failed(`The MCP server "${name}" failed during the call: ${reason}.`, error)
    }
  }

  /** Lets the next call begin a new session at once, unless another call has done so. */
  function forget(lost: OpenClient): void {
    if (lost !== client) return
    client = undefined
    state = 'stopped'
    lost.retire()
  }

  function pauseText(): string {
    const seconds = Math.ceil((retryAt - now()) / 1000)
    return seconds > 0 ? ` A call starts it again in ${seconds} s.` : ''
  }

  return {
    settings,
    tools: () => tools,
    offers: () => lists,
    readResource: async (uri, context) =>
      toResourceResult(await send(context, (used) => used.readResource(uri, context.signal))),
    getPrompt: async (prompt, args, context) =>
      toPromptResult(name, await send(context, (used) => used.getPrompt(prompt, args, context.signal))),
    async prepare() {
      begin()
      if (state === 'starting') await patient
    },
    listing: () => ({
      name,
      state,
      ...(state === 'failed' && problem !== undefined && { error: problem }),
      ...(problems.length > 0 && { problems }),
      tools: tools.map((tool) => tool.name),
      ...lists,
    }),
    async close() {
      isClosed = true
      closed.abort()
      refreshTimer?.()
      const closing = client
      client = undefined
      state = 'stopped'
      await Promise.all([closing?.close(), starting])
    },
  }
}

/** Returns the change of the configuration with which the person trusts a server, as a clause. */
export function trustedBy(name: string, { fingerprint }: ServerSettings): string {
  return fingerprint === undefined
    ? `set mcp-servers.${name}.trust to true`
    : 'name it under mcp-servers, with trust: true,'
}

export const noOffers: ServerOffers = { resources: [], templates: [], prompts: [] }

/** Maximum number of logged problems of a list. */
const maxProblems = 10

async function untilAborted(work: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  if (work === undefined) return
  const aborted = Promise.withResolvers<void>()
  const stop = (): void => aborted.resolve()
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([work, aborted.promise])
  signal.removeEventListener('abort', stop)
  if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
}
