import { join } from 'node:path'
import type { AgentDeps } from '../agent/run-agent.ts'
import type { FileList } from '../api/sessions.ts'
import { Fault } from '../errors.ts'
import { inMemory } from '../sqlite/database.ts'
import type { Session } from '../tools/session.ts'
import { listFiles } from '../workspace/list-files.ts'
import { guardFolder } from '../workspace/policy/guard-folder.ts'
import { ToolError } from '../workspace/tool-error.ts'
import type { OpenWorkspaces, WorkspacesDeps } from './open-workspaces.ts'
import { openWorkspaces } from './open-workspaces.ts'
import type { Tools } from '../tools/tool.ts'
import { createChanges, type Changes } from './changes.ts'
import { openSessions, type SessionsDeps } from './open-sessions.ts'
import type { Sessions } from './sessions.ts'

export interface CompanionDeps
  extends WorkspacesDeps, Pick<AgentDeps, 'runTurn' | 'modelFacts' | 'setTimer' | 'randomId'> {
  /** The folder for the file of sessions. If undefined, messages and runs are in memory only. */
  readonly sessionsDir: string | undefined
  /** If false, messages and runs are in memory only. `if-free` does the same while another process has the file. */
  readonly keepsSessions: boolean | 'if-free'
  /** The credentials that answers do not contain. */
  readonly secrets: SessionsDeps['secrets']
  /** Returns the model for messages without one, if the configuration names none either. */
  readonly defaultModel: (keyName: string | undefined, signal: AbortSignal) => Promise<string>
}

/** The page keeps the list while somebody types a name. */
const mostFiles = 10_000

/** The parts that exist only while a workspace is configured. */
export interface Companion {
  readonly workspaces: OpenWorkspaces
  readonly sessions: Sessions
  readonly changes: Changes
  /** @throws Fault `session_refused`: files_failed */
  readonly listFiles: (session: Session, signal: AbortSignal) => Promise<FileList>
  /**
   * Gives the runs of the owner in a conversation other tools than those of its session. The last call counts. Returns a function
   * that takes them away.
   */
  readonly equip: (conversationId: string, tools: Tools) => () => void
  readonly close: () => void
}

function monotonicMs(): number {
  return performance.now()
}

/** Opens the configured workspaces and their sessions. */
export async function openCompanion(deps: CompanionDeps): Promise<Companion> {
  const { config, sessionsDir, keepsSessions, log, runTurn, modelFacts, setTimer, randomId, defaultModel } = deps
  let sessions: Sessions | undefined
  /** The tools of conversations that have others than their session. */
  const equipped = new Map<string, Tools>()
  const workspaces = await openWorkspaces({
    ...deps,
    record: (id, line, ownerId) => sessions?.recordCall(id, line, ownerId),
  })
  const opened = (sessions = openSessions({
    config,
    workspaces,
    file: sessionsDir === undefined || keepsSessions === false ? inMemory : join(sessionsDir, 'sessions.db'),
    isOptional: keepsSessions === 'if-free',
    async runAgent(task, conversationId) {
      // Only a message needs the agent, so a start without messages is faster.
      const { runAgent } = await import('../agent/run-agent.ts')
      // A key gets none of the owner's tools.
      const tools = (task.key === undefined ? equipped.get(conversationId) : undefined) ?? workspaces.tools
      return runAgent({ runTurn, tools, modelFacts, now: monotonicMs, setTimer, randomId, log }, task)
    },
    defaultModel,
    changes: workspaces.changes,
    randomId,
    newConversationId: randomId,
    now: Date.now,
    monotonicMs,
    setTimer,
    secrets: deps.secrets,
    log,
  }))
  return {
    workspaces,
    sessions: opened,
    changes: createChanges({ workspaces, sessions: opened, redact: deps.secrets.redact }),
    async listFiles({ folder, policy }, signal) {
      try {
        return await listFiles(guardFolder(folder, policy), { limit: mostFiles }, signal)
      } catch (error) {
        if (!(error instanceof ToolError)) throw error
        throw new Fault({ kind: 'session_refused', problem: 'files_failed', detail: error.message }, { cause: error })
      }
    },
    equip(conversationId, tools) {
      equipped.set(conversationId, tools)
      return () => {
        if (equipped.get(conversationId) === tools) equipped.delete(conversationId)
      }
    },
    close() {
      workspaces.close()
      opened.close()
    },
  }
}
