import { z } from 'zod'
import type { ChangeEntry, ChangeList, RewindReport, UndoReport } from '../api/changes.ts'
import { mayDecide, maySee, type Caller } from '../config/caller.ts'
import { Fault } from '../errors.ts'
import { redactStrings } from '../redaction/known-secrets.ts'
import type { Session } from '../tools/session.ts'
import { findUndone, undoneBy, type Journal, type JournalEntry } from '../workspace/patch/journal.ts'
import { netChanges } from '../workspace/patch/net-changes.ts'
import { ownedJournal } from '../workspace/patch/owned-journal.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { refused } from './refused.ts'
import type { Sessions } from './sessions.ts'
import type { Workspaces } from './workspaces.ts'

/**
 * The changes that tools have made in the workspaces, for the people who undo them. A key sees and undoes what it made; who else
 * may see or decide is as in Sessions.
 */
export interface Changes {
  /** @param options `since`: only from the first change of this run on; `diffs`: whether to compute the net changes */
  readonly list: (sessionId: string, options: ListOptions, caller: Caller) => Promise<ChangeList>
  readonly undoChange: (id: string, options: UndoOptions, caller: Caller) => Promise<UndoReport>
  /** Undoes all changes of a run or none. */
  readonly undoRun: (id: string, options: UndoOptions, caller: Caller) => Promise<UndoReport>
  /**
   * Ends a conversation before a message, and undoes what its runs have changed in files from there on: all of it or, if a file
   * has changed since, nothing at all.
   */
  readonly rewind: (
    where: { readonly session: string; readonly conversation: string; readonly message: string },
    options: UndoOptions & { /** Whether files are undone. */ readonly files: boolean },
    caller: Caller,
  ) => Promise<RewindReport>
}

interface ListOptions {
  readonly since: string | undefined
  readonly diffs: boolean
}

interface UndoOptions {
  readonly dryRun: boolean
  readonly signal: AbortSignal
}

export interface ChangesDeps {
  readonly workspaces: Pick<Workspaces, 'sessions' | 'tools'> & {
    /** Undefined if tools cannot write. */
    readonly journal: (session: Session) => Promise<Journal | undefined>
  }
  readonly sessions: Pick<Sessions, 'run' | 'openRuns' | 'conversations'>
  readonly redact: (text: string) => string
}

/** The result of `mcp.edit.undo`. */
const undoResult = z.object({
  id: z.string().optional(),
  undoes: z.array(z.string()),
  files: z.array(z.object({ path: z.string(), before: z.string().nullable(), after: z.string().nullable() })),
  diff: z.string().optional(),
  truncated: z.boolean().optional(),
})

/** Creates the changes of the open workspaces. */
export function createChanges({ workspaces, sessions, redact }: ChangesDeps): Changes {
  async function visibleEntries(session: Session, caller: Caller): Promise<readonly JournalEntry[]> {
    const journal = await workspaces.journal(session)
    return journal === undefined ? [] : ownedJournal(journal, { ownerId: caller.key?.id }).entries()
  }

  /** Finds the workspace with a change, and its changes that match. */
  async function find(matches: (entry: JournalEntry) => boolean, caller: Caller) {
    for (const session of workspaces.sessions()) {
      const entries = (await visibleEntries(session, caller)).filter(
        (entry) => matches(entry) && maySee(caller, entry.ownerId ?? undefined),
      )
      if (entries.length > 0) return { session, entries }
    }
    return undefined
  }

  async function undo(
    session: Session,
    args: { readonly id: string } | { readonly run: string } | { readonly ids: readonly string[] },
    { dryRun, signal }: UndoOptions,
    caller: Caller,
  ): Promise<UndoReport> {
    try {
      const result = await workspaces.tools.call({
        session,
        name: 'mcp.edit.undo',
        args: { ...args, dryRun },
        signal,
        caller: `undo:${caller.key?.name ?? 'local'}`,
        ownerId: caller.key?.id,
        // The person has asked for it. A key gets no other secret of a file that it has changed.
        approve: async ({ reads, widening, policy }) =>
          widening === undefined && policy === undefined && (reads === undefined || caller.isOwner),
      })
      const { id, undoes, files, diff, truncated } = undoResult.parse(result)
      return {
        sessionId: session.id,
        ...(id !== undefined && { id }),
        undoes,
        files: files.map(({ path, before, after }) => ({ path, change: kindOf(before, after) })),
        ...(diff !== undefined && { diff }),
        ...(truncated === true && { truncated }),
      }
    } catch (error) {
      throw error instanceof ToolError ? toFault(error) : error
    }
  }

  return {
    async list(sessionId, { since, diffs }, caller) {
      const session = workspaces.sessions().find(({ id }) => id === sessionId)
      if (session === undefined) throw refused('session_not_found')
      const all = await visibleEntries(session, caller)
      const first = since === undefined ? 0 : all.findIndex(({ runId }) => runId === since)
      if (first === -1) throw refused('run_not_found', 'No change of this run is stored.')
      const entries = all.slice(first)
      const undone = findUndone(all)
      const changes = entries.map((entry) => reportEntry(entry, undone.get(entry.id)))
      const journal = diffs ? await workspaces.journal(session) : undefined
      if (journal === undefined) return { changes, ...(diffs && { files: [] }) }
      const rules = await session.policy.readRules()
      const net = await netChanges(journal, entries, async (path) => (await rules.decide(path)).isAllowed)
      return redactStrings({ changes, files: [...net.files], ...(net.truncated && { truncated: true }) }, redact)
    },
    async undoChange(id, options, caller) {
      const found = await find((entry) => entry.id === id, caller)
      if (found === undefined) throw refused('change_not_found')
      if (!options.dryRun) requireDecision(found.entries, caller)
      return undo(found.session, { id }, options, caller)
    },
    async undoRun(run, options, caller) {
      const found = await find(({ runId }) => runId === run, caller)
      if (found === undefined) {
        await sessions.run(run, caller)
        throw refused('undo_failed', 'The run has made no change that can be undone.')
      }
      const { session, entries } = found
      if (sessions.openRuns(session.id, caller).some(({ id }) => id === run)) throw refused('run_in_progress')
      if (!options.dryRun) requireDecision(entries, caller)
      const stored = new Set(entries.map(({ id }) => id))
      if (!(await recordedChanges(run, caller)).every((id) => stored.has(id))) throw refused('undo_failed', incomplete)
      return undo(session, { run }, options, caller)
    },
    async rewind({ session: sessionId, conversation, message }, { files, ...options }, caller) {
      const session = workspaces.sessions().find(({ id }) => id === sessionId)
      if (session === undefined) throw refused('session_not_found')
      const { dryRun } = options
      const rows = sessions.conversations.runsFrom(sessionId, conversation, message, caller, dryRun)
      const runs = rows.map(({ id }) => id)
      const { text, mode } = await sessions.run(message, caller)
      const entries = files ? await changesOf(session, runs, caller) : []
      if (!dryRun) requireDecision(entries, caller)
      const ids = entries.map(({ id }) => id)
      const undone = ids.length === 0 ? undefined : await undo(session, { ids }, options, caller)
      if (!dryRun) {
        try {
          // A run may have begun and ended meanwhile. Its changes are not undone, so its message stays.
          const now = sessions.conversations.runsFrom(sessionId, conversation, message, caller, false)
          if (now.length !== rows.length) throw refused('run_in_progress')
          await sessions.conversations.cut(sessionId, conversation, message, caller)
        } catch (error) {
          // Both happen or none.
          if (undone?.id !== undefined) await undo(session, { id: undone.id }, options, caller)
          throw error
        }
      }
      return {
        sessionId,
        conversationId: conversation,
        messages: runs,
        text,
        mode,
        ...(undone !== undefined && { undo: withoutSession(undone) }),
      }
    },
  }

  /**
   * Returns the changes of these runs that are not undone. A run of a fork is a copy: its record names the changes, and the
   * journal the original run.
   */
  async function changesOf(
    session: Session,
    runs: readonly string[],
    caller: Caller,
  ): Promise<readonly JournalEntry[]> {
    const all = await visibleEntries(session, caller)
    const recorded = new Set<string>()
    for (const run of runs) for (const id of await recordedChanges(run, caller)) recorded.add(id)
    const entries = all.filter(({ id, runId }) => recorded.has(id) || (runId !== null && runs.includes(runId)))
    const ids = new Set(entries.map(({ id }) => id))
    if ([...recorded].some((id) => !ids.has(id))) throw refused('undo_failed', incompleteRewind)
    const undone = findUndone(all)
    return entries.filter(({ id }) => ids.has(undone.get(id) ?? id))
  }

  /** Returns the changes of a run that its record names. Without the record, which may be deleted, those of the journal are all. */
  async function recordedChanges(run: string, caller: Caller): Promise<readonly string[]> {
    try {
      return (await sessions.run(run, caller)).changes
    } catch (error) {
      if (error instanceof Fault && error.error.kind === 'session_refused') return []
      throw error
    }
  }
}

const incomplete =
  'The first changes of the run are no longer stored, so it cannot be undone as a whole. Its other changes can be undone one by one, the newest first.'

const incompleteRewind =
  'Some changes of these messages are no longer stored, so their files cannot be taken back. The conversation alone can: send files: false.'

/** @throws Fault `session_refused`: owner_required */
function requireDecision(entries: readonly JournalEntry[], caller: Caller): void {
  if (!entries.every(({ ownerId }) => mayDecide(caller, ownerId ?? undefined))) throw refused('owner_required')
}

function withoutSession({ sessionId: _sessionId, ...report }: UndoReport): RewindReport['undo'] {
  return report
}

function reportEntry(entry: JournalEntry, undoneById: string | undefined): ChangeEntry {
  const { id, atMs, runId, files } = entry
  const undoes = undoneBy(entry)
  return {
    id,
    time: new Date(atMs).toISOString(),
    ...(runId !== null && { runId }),
    files: files.map(({ path, before, after }) => ({ path, change: kindOf(before, after) })),
    ...(undoes.length > 0 && { undoes: [...undoes] }),
    ...(undoneById !== undefined && { undoneBy: undoneById }),
  }
}

function kindOf(before: unknown, after: unknown): 'created' | 'modified' | 'deleted' {
  return before === null ? 'created' : after === null ? 'deleted' : 'modified'
}

function toFault({ failure, message }: ToolError): Fault {
  if (failure.kind === 'conflict') {
    const { conflicts } = failure
    return new Fault({ kind: 'session_refused', problem: 'undo_conflict', detail: message, conflicts })
  }
  const isDenied = failure.kind === 'denied' || failure.kind === 'approval_refused'
  return refused(isDenied ? 'undo_denied' : 'undo_failed', message)
}
