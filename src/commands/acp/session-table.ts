import { isAbsolute, relative, resolve, sep } from 'node:path'
import { RequestError } from '@agentclientprotocol/sdk'
import type {
  AgentContext,
  ClientCapabilities,
  CloseSessionResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionRequest,
  LoadSessionResponse,
  NewSessionRequest,
  NewSessionResponse,
  PromptRequest,
  PromptResponse,
  ResumeSessionRequest,
  SetSessionConfigOptionRequest,
  SetSessionConfigOptionResponse,
  SetSessionModeRequest,
  SetSessionModeResponse,
} from '@agentclientprotocol/sdk'
import type { Choices } from '../../acp/choices.ts'
import { ToolError } from '../../workspace/tool-error.ts'
import { CommandFailure } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { realPathOf } from '../shared/workspace-folder.ts'
import { createAcpSession } from './acp-session.ts'
import type { AcpSession } from './acp-session.ts'
import { createEditorFiles } from './editor-files.ts'
import { createEditorServers } from './editor-servers.ts'
import type { EditorServers } from './editor-servers.ts'
import type { Feed, Feeds } from './open-feeds.ts'

interface TableDeps {
  readonly feeds: Feeds
  readonly editor: () => AgentContext
  /** What the editor has said of itself. */
  readonly capabilities: () => ClientCapabilities
  readonly note: (sentence: string) => void
  readonly signal: AbortSignal
}

/** @throws RequestError for a request that asks for what this program has not */
function checked<Request extends Pick<NewSessionRequest, 'cwd' | 'additionalDirectories'>>(request: Request): Request {
  const { cwd, additionalDirectories = [] } = request
  if (!isAbsolute(cwd)) {
    throw RequestError.invalidParams(undefined, `cwd must be an absolute path, got ${JSON.stringify(cwd)}`)
  }
  if (additionalDirectories.length > 0) {
    throw RequestError.invalidParams(undefined, 'a session has one folder: leave out additionalDirectories')
  }
  return request
}

/** Returns the folder of a workspace as the editor names it: a path that the editor gives may lead there by links. */
async function rootIn({ place: { root } }: Feed, cwd: string): Promise<string> {
  const named = resolve(cwd)
  const inside = relative(root, await realPathOf(named))
  if (inside === '') return named
  return named.endsWith(sep + inside) ? named.slice(0, -inside.length - 1) : root
}

/** The sessions of an editor. Each one is a conversation of a workspace. */
export function createSessionTable(context: CommandContext, deps: TableDeps) {
  const { feeds, note, signal } = deps
  const sessions = new Map<string, AcpSession>()
  /** Cancels the prompts of a session, also those that have not reached the daemon. */
  const turns = new Map<string, AbortController>()

  /** By session. */
  const servers = new Map<string, EditorServers>()

  /** Does not wait for servers: the first prompt does. Those that the editor has named for the session before end. */
  async function useServers(id: string, feed: Feed, given: NewSessionRequest['mcpServers'] = []): Promise<void> {
    const before = servers.get(id)
    const tell = (sentence: string): void => {
      note(sentence)
      sessions.get(id)?.warn(sentence)
    }
    const named = createEditorServers(context, { id, servers: given, tell })
    servers.set(id, named)
    await before?.close()
    // The editor learns the id first.
    setImmediate(() => void named.attach(feed).then(() => sessions.get(id)?.tellCommands()))
  }

  async function open(id: string, feed: Feed, root: string, choices?: Choices): Promise<AcpSession> {
    const [editor, capabilities] = [deps.editor(), deps.capabilities()]
    const files = createEditorFiles(id, { root, editor, capabilities })
    await sessions.get(id)?.close('own')
    const session = createAcpSession({
      id,
      feed,
      root,
      editor,
      capabilities,
      files,
      models: await feed.models(),
      ...(choices !== undefined && { choices }),
      note,
      signal,
    })
    sessions.set(id, session)
    return session
  }

  /** @throws RequestError */
  function find(id: string): AcpSession {
    const session = sessions.get(id)
    if (session === undefined) throw RequestError.sessionNotFound(id)
    return session
  }

  async function feedsOfAll(): Promise<readonly Feed[]> {
    const all = await feeds.all()
    if (all.length > 0) return all
    try {
      return [await feeds.open(context.workingDir())]
    } catch (error) {
      // The working folder of an editor may be anything, such as the home folder.
      if (error instanceof CommandFailure && error.cause instanceof ToolError) return []
      throw error
    }
  }

  return {
    async create(request: NewSessionRequest): Promise<NewSessionResponse> {
      const { cwd, mcpServers } = checked(request)
      const feed = await feeds.open(cwd)
      const { id } = await feed.client.conversation('new', signal)
      const session = await open(id, feed, await rootIn(feed, cwd))
      await useServers(id, feed, mcpServers)
      return { sessionId: id, ...session.describeChoices() }
    },

    /** Continues a conversation. @param what the editor is told of it */
    async load(
      request: LoadSessionRequest | ResumeSessionRequest,
      what: 'everything' | 'use',
    ): Promise<LoadSessionResponse> {
      const { sessionId, cwd, mcpServers } = checked(request)
      const feed = await feeds.open(cwd)
      const known = await feed.client.conversations(signal)
      if (!known.some(({ id }) => id === sessionId)) throw RequestError.sessionNotFound(sessionId)
      const session = await open(sessionId, feed, await rootIn(feed, cwd))
      await session.recall(what)
      await useServers(sessionId, feed, mcpServers)
      return session.describeChoices()
    },

    /** Without a folder: of all workspaces that this process has opened, or else of its working folder. */
    async list({ cwd }: ListSessionsRequest): Promise<ListSessionsResponse> {
      const listed = typeof cwd === 'string' ? [await feeds.open(checked({ cwd }).cwd)] : await feedsOfAll()
      const lists = await Promise.all(
        listed.map(async (feed) => {
          const root = typeof cwd === 'string' ? await rootIn(feed, cwd) : feed.place.root
          return (await feed.client.conversations(signal)).map(({ id, title, lastMessageAt }) => ({
            sessionId: id,
            cwd: root,
            title: title === '' ? null : title,
            updatedAt: lastMessageAt ?? null,
          }))
        }),
      )
      return { sessions: lists.flat() }
    },

    async prompt({ sessionId, prompt }: PromptRequest, requestSignal: AbortSignal): Promise<PromptResponse> {
      const session = find(sessionId)
      const turn = turns.get(sessionId) ?? new AbortController()
      turns.set(sessionId, turn)
      const asked = AbortSignal.any([requestSignal, turn.signal])
      // To look for a daemon takes a busy one for gone.
      const feed = (await session.feed.isAlive()) ? session.feed : await feeds.open(session.feed.place.root)
      await servers.get(sessionId)?.attach(feed)
      if (feed === session.feed) return { stopReason: await session.prompt(prompt, asked) }
      // Another daemon serves the folder now, such as the one before after a restart.
      const moved = await open(sessionId, feed, session.root, session.choices())
      return { stopReason: await moved.prompt(prompt, asked) }
    },

    setMode({ sessionId, modeId }: SetSessionModeRequest): SetSessionModeResponse {
      find(sessionId).choose('mode', modeId)
      return {}
    },

    setOption({ sessionId, configId, value }: SetSessionConfigOptionRequest): SetSessionConfigOptionResponse {
      const session = find(sessionId)
      session.choose(configId, value)
      return { configOptions: session.describeChoices().configOptions }
    },

    cancel(sessionId: string): void {
      turns.get(sessionId)?.abort()
      turns.delete(sessionId)
    },

    async close(sessionId: string): Promise<CloseSessionResponse> {
      const session = find(sessionId)
      sessions.delete(sessionId)
      const named = servers.get(sessionId)
      servers.delete(sessionId)
      await Promise.all([session.close('everything'), named?.close()])
      return {}
    },

    async closeAll(): Promise<void> {
      const closed = Array.from(sessions.values(), (session) => session.close('own'))
      await Promise.all([...closed, ...Array.from(servers.values(), (named) => named.close())])
    },
  }
}

export type SessionTable = ReturnType<typeof createSessionTable>
