import { basename, join } from 'node:path'
import type { OwnPaths } from '../config/paths.ts'
import { readOnlyModeOf, type Config } from '../config/schema.ts'
import type { ReadOnlyMode } from '../config/setting-types.ts'
import type { Logger } from '../logging/logger.ts'
import type { FileChange } from '../agent/agent-task.ts'
import { createCodeTools } from '../tools/code-tools.ts'
import { createCommandTools } from '../tools/command-tools.ts'
import { createPlanTools } from '../tools/plan-tools.ts'
import { createGitTools } from '../tools/git-tools.ts'
import { createTools } from '../tools/create-tools.ts'
import type { ToolsDeps } from '../tools/create-tools.ts'
import type { SessionInfo, Tools, ToolSource } from '../tools/tool.ts'
import { createRegistryTools, listSession, type SessionListing } from '../tools/registry-tools.ts'
import { createWorkspaceTools } from '../tools/workspace-tools.ts'
import { folderId } from '../workspace/folder-id.ts'
import { openFolder } from '../workspace/open-folder.ts'
import { hasPendingChange, openJournal, type Journal } from '../workspace/patch/journal.ts'
import { checkRoot } from '../workspace/policy/check-root.ts'
import { openConsents } from '../workspace/policy/consents.ts'
import { openPolicy } from '../workspace/policy/open-policy.ts'
import { createOwnPlaces } from '../workspace/policy/own-places.ts'
import { createSandbox, reportSandbox, type SandboxReport } from '../workspace/sandbox/create-sandbox.ts'
import type { Sandbox } from '../workspace/sandbox/sandbox.ts'
import { ToolError } from '../workspace/tool-error.ts'
import type { Session } from '../tools/session.ts'
import { journalChanges, type ChangesSince } from './journal-changes.ts'
import type { Workspaces } from './workspaces.ts'

export interface WorkspacesDeps {
  readonly config: () => Config
  /** The folder for the journals of all workspaces, and for what a person has allowed there. If undefined, tools cannot write. */
  readonly dataDir: string | undefined
  /** Returns the folder that replaces `~` at the start of a configured path. It is not opened as a workspace. May throw. */
  readonly homeDir: () => string
  /** This program's own files, which no tool reads or changes. */
  readonly ownPaths: OwnPaths
  /** Tools of providers and MCP servers. They follow the workspaces' own tools in lists. */
  readonly sources?: readonly ToolSource[]
  /** Removes known credentials from the results of tools. */
  readonly redact: (text: string) => string
  /** Does the same for the tools of `sources`. Default: `redact`. */
  readonly redactForeign?: ToolsDeps['redactForeign']
  readonly log: Logger
  /** Receives the audit line of each call of a tool. */
  readonly record?: ToolsDeps['record']
}

/** A session in `GET /sessions`. */
export interface SessionReport extends SessionListing {
  /** `read-only` of the workspace, or else `workspace.read-only`. */
  readonly readOnly: ReadOnlyMode
  /** What holds for its commands. */
  readonly sandbox: SandboxReport
}

export interface OpenWorkspaces extends Workspaces {
  /** Opens and closes workspaces to match the current configuration. Calls run one after the other. */
  readonly reconfigure: () => Promise<void>
  /** Returns the tools with another source in place of one of `WorkspacesDeps.sources`. */
  readonly toolsWith: (source: ToolSource, other: ToolSource) => Tools
  readonly listing: () => Promise<readonly SessionReport[]>
  /** Returns changes of a session's journal, or undefined if it is not open. */
  readonly changes: (sessionId: string, since: ChangesSince) => Promise<readonly FileChange[] | undefined>
  /** Returns the open journal of a session's changes. Undefined without a data folder. */
  readonly journal: (session: Session) => Promise<Journal | undefined>
  readonly close: () => void
}

interface Open {
  readonly session: Session
  /** The configured name. If undefined, the session is named after its folder. */
  readonly givenName: string | undefined
  readonly controller: AbortController
  /** The entry of the configuration at the last call of `reconfigure`. */
  configured: Config['workspaces'][number]
  journal: Promise<Journal> | undefined
}

/** Opens the configured workspaces. Logs and skips those that it cannot open. */
export async function openWorkspaces({
  config,
  dataDir,
  homeDir,
  ownPaths,
  sources = [],
  redact,
  redactForeign,
  log,
  record,
}: WorkspacesDeps): Promise<OpenWorkspaces> {
  let open: readonly Open[] = []
  const ownPlaces = createOwnPlaces(ownPaths)
  const listeners = new Set<() => void>()
  const sessions = (): readonly Session[] => open.map(({ session }) => session)
  /** Reads the configuration at each call, so that a change holds at once, before `reconfigure` has looked at the folders. */
  function readOnlyOf(session: SessionInfo): ReadOnlyMode {
    const known = findOpen(session)?.configured
    const configured = config().workspaces.find(({ path }) => path === known?.path) ?? known
    // The workspace was removed.
    if (configured === undefined) throw new ToolError({ kind: 'cancelled' })
    return readOnlyModeOf(config(), configured)
  }

  const toolsDeps: ToolsDeps = {
    sources: [
      createWorkspaceTools({ journal: journalOf }),
      createGitTools(),
      createPlanTools(),
      createCommandTools(),
      createCodeTools({ journal: journalOf }),
      createRegistryTools({
        sessions,
        list: (session) => tools.list(session),
        isReadOnly: (session) => readOnlyOf(session) !== false,
      }),
      ...sources,
    ],
    limits: (session) => {
      const { maxFileMb, toolTimeoutSeconds } = config().workspace
      const readOnly = readOnlyOf(session)
      return {
        maxFileBytes: maxFileMb * 1024 * 1024,
        timeoutMs: toolTimeoutSeconds * 1000,
        isReadOnly: readOnly !== false,
        isLocked: readOnly === 'locked',
      }
    },
    async settle(session, signal) {
      const opened = findOpen(session)
      if (opened !== undefined) await settle(opened, signal)
    },
    redact,
    redactForeign,
    log,
    record,
    now: () => performance.now(),
  }
  const tools = createTools(toolsDeps)

  const findOpen = (session: SessionInfo): Open | undefined => open.find((each) => each.session === session)

  const journalDirOf = (session: SessionInfo): string | undefined =>
    dataDir === undefined ? undefined : join(dataDir, session.id, 'journal')

  async function journalOf(session: SessionInfo): Promise<Journal> {
    const opened = findOpen(session)
    if (opened === undefined) throw new ToolError({ kind: 'cancelled' })
    return journalIn(opened)
  }

  async function journalIn(opened: Open): Promise<Journal> {
    const { session } = opened
    const dir = journalDirOf(session)
    if (dir === undefined) {
      throw new ToolError({
        kind: 'failed',
        detail: 'Changes cannot be stored for undo, because you have no home folder. Set HOME or COPILOT_PROXY_HOME.',
      })
    }
    opened.journal ??= openJournal({
      folder: session.folder,
      dir,
      now: Date.now,
      onRecovery: (recovery) => log.warn({ session: session.id, recovery }, 'an interrupted change was rolled back'),
    })
    try {
      return await opened.journal
    } catch (error) {
      opened.journal = undefined
      throw error
    }
  }

  /**
   * Rolls back a change whose process was killed, so that no caller sees half of it. That process may be another one with the
   * same data folder. If the rollback fails, files can still be read, and the next change states the reason.
   */
  async function settle(opened: Open, signal: AbortSignal): Promise<void> {
    const dir = journalDirOf(opened.session)
    if (dir === undefined || !(await hasPendingChange(dir))) return
    try {
      await (await journalIn(opened)).settle(signal)
    } catch (error) {
      if (signal.aborted) return
      const reason = error instanceof Error ? error.message : String(error)
      log.warn({ session: opened.session.id, reason }, 'an interrupted change cannot be rolled back')
    }
  }

  const inHome = (path: string): string => path.replace(/^~(?=$|[/\\])/, homeDir)

  function sandboxOf(root: string): Sandbox {
    return createSandbox(root, {
      mode: () => config().workspace.sandbox,
      folders: () => config().workspace.sandboxFolders.map(inHome),
      homeDir,
      ownPlaces,
      cacheDir: dataDir === undefined ? undefined : join(dataDir, folderId(root), 'command-cache'),
    })
  }

  async function openOne(configured: Config['workspaces'][number], taken: ReadonlySet<string>): Promise<Open> {
    const { path, name: givenName, 'allow-home': allowsHome = false } = configured
    const folder = await openFolder(inHome(path), { ownPlaces, sandbox: sandboxOf })
    await checkRoot(folder.root, { homeDir, ownPlaces, allowsHome })
    const controller = new AbortController()
    const id = folderId(folder.root)
    const consents = dataDir === undefined ? undefined : openConsents(dataDir, folder.root)
    const policy = openPolicy(folder, { consents, log })
    controller.signal.addEventListener('abort', policy.close, { once: true })
    const name = uniqueName(givenName ?? (basename(folder.root) || folder.root), taken)
    return {
      session: { id, name, folder, policy, consents, signal: controller.signal },
      givenName,
      controller,
      configured,
      journal: undefined,
    }
  }

  async function apply(): Promise<void> {
    const next: Open[] = []
    const names = new Set(open.map(({ session }) => session.name))
    for (const workspace of config().workspaces) {
      const { path, name } = workspace
      try {
        const opened = await openOne(workspace, names)
        const { id, folder } = opened.session
        if (next.some(({ session }) => session.id === id)) {
          log.warn({ path }, 'two workspaces are the same folder')
          opened.controller.abort()
          continue
        }
        const known = open.find(({ session, givenName }) => session.id === id && givenName === name)
        if (known === undefined) {
          await settle(opened, opened.controller.signal)
          log.info({ session: id, name: opened.session.name, path: folder.root }, 'workspace opened')
        } else {
          opened.controller.abort()
          known.configured = workspace
        }
        next.push(known ?? opened)
        names.add((known ?? opened).session.name)
      } catch (error) {
        log.error(
          { path, reason: error instanceof Error ? error.message : String(error) },
          'a workspace cannot be opened',
        )
      }
    }
    const before = open
    open = next
    for (const old of before) {
      if (next.includes(old)) continue
      old.controller.abort()
      log.info({ session: old.session.id, name: old.session.name }, 'workspace closed')
    }
    if (before.length === next.length && before.every((old, at) => old === next[at])) return
    for (const listener of listeners) listener()
  }

  let applied = Promise.resolve()
  const reconfigure = (): Promise<void> => (applied = applied.then(apply))
  await reconfigure()

  return {
    sessions,
    tools,
    toolsWith: (source, other) =>
      createTools({ ...toolsDeps, sources: toolsDeps.sources.map((each) => (each === source ? other : each)) }),
    reconfigure,
    find(idOrName) {
      if (idOrName === undefined) return open.length === 1 ? open[0]?.session : undefined
      const byId = open.find(({ session }) => session.id === idOrName)
      return (byId ?? open.find(({ session }) => session.name === idOrName))?.session
    },
    async changes(sessionId, since) {
      const session = sessions().find(({ id }) => id === sessionId)
      if (session === undefined || dataDir === undefined) return undefined
      return journalChanges(await journalOf(session), session.folder, since)
    },
    journal: async (session) => (dataDir === undefined ? undefined : journalOf(session)),
    listing: () =>
      Promise.all(
        sessions().map(async (session) => {
          const sandbox = reportSandbox(await session.folder.sandbox.state())
          return Object.assign(listSession(session, tools.list), { readOnly: readOnlyOf(session), sandbox })
        }),
      ),
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close() {
      for (const { controller } of open) controller.abort()
      open = []
    },
  }
}

function uniqueName(name: string, taken: ReadonlySet<string>): string {
  let unique = name
  for (let number = 2; taken.has(unique); number += 1) unique = `${name}-${number}`
  return unique
}
