import { mayDecide, maySee, type Caller, type CallerKey } from '../config/caller.ts'
import type { ConversationEntry } from '../api/sessions.ts'
import { parseRunData } from './interrupted-runs.ts'
import { refused } from './refused.ts'
import type { ConversationRow, ItemsRow, Rows, RunRow, SessionStore } from './session-store.ts'

export interface ConversationsDeps {
  /** @throws Fault `sessions_unavailable` */
  readonly use: <Result>(act: (store: SessionStore) => Result) => Result
  readonly save: (rows: Rows) => void
  /** Those that are not stored yet, oldest first. */
  readonly waiting: () => readonly ConversationRow[]
  /** Whether a run of the conversation is in progress. */
  readonly isBusy: (sessionId: string, conversation: string, caller: Caller) => boolean
  readonly newId: () => string
  /** Ms since epoch. */
  readonly now: () => number
}

interface Fork {
  readonly forkOf: string
  /** The id of its last message that the fork has; undefined: all. */
  readonly until: string | undefined
}

/** What a message says of its conversation. */
interface OfMessage {
  readonly sessionId: string
  /** Undefined: the one that the key has used last, or a new one. */
  readonly conversationId?: string | undefined
  readonly key: CallerKey | undefined
  readonly text: string
}

/** The conversations of all sessions. A key sees, continues and changes those that it began. */
export interface Conversations {
  /** Returns the row of a message's conversation, to be stored with its run: a new one, or an earlier one, with its title. */
  readonly of: (message: OfMessage) => ConversationRow
  /** Problem: `conversation_not_found`, also for one that the caller may not see. */
  readonly find: (session: string, id: string, caller: Caller) => ConversationRow
  readonly list: (session: string, caller: Caller) => readonly ConversationEntry[]
  /** Problems: `conversation_not_found`, `message_not_found`; `run_in_progress` if the last message has no answer yet. */
  readonly create: (session: string, fork: Fork | undefined, caller: Caller) => Promise<ConversationEntry>
  readonly rename: (session: string, id: string, title: string, caller: Caller) => ConversationEntry
  /**
   * Returns the runs from a message on, oldest first. Problems: `conversation_not_found`, `message_not_found`, `run_in_progress`, and
   * `owner_required` for who may not delete them.
   * @param isDryRun whether the caller deletes nothing
   */
  readonly runsFrom: (
    session: string,
    id: string,
    message: string,
    caller: Caller,
    isDryRun: boolean,
  ) => readonly RunRow[]
  /** Deletes these runs. The conversation then ends before them. Problems: as `runsFrom`. */
  readonly cut: (session: string, id: string, message: string, caller: Caller) => Promise<void>
  /** Problems: `owner_required`, `run_in_progress`. */
  readonly remove: (session: string, id: string, caller: Caller) => Promise<void>
}

/** Characters of a proposed title. */
const maxProposed = 60

/** Runs that a fork reads at once. */
const pageLength = 50

export function createConversations({ use, save, waiting, isBusy, newId, now }: ConversationsDeps): Conversations {
  function find(session: string, id: string, caller: Caller): ConversationRow {
    const row = waiting().findLast((each) => each.id === id) ?? use((store) => store.conversation(id))
    if (row === undefined || row.session !== session || !maySee(caller, row.owner ?? undefined))
      throw refused('conversation_not_found')
    return row
  }

  function newest(session: string, owner: string | null): ConversationRow | undefined {
    const isIt = (row: ConversationRow): boolean => row.session === session && row.owner === owner
    return waiting().findLast(isIt) ?? use((store) => store.conversationsOf(session, owner ?? undefined)).find(isIt)
  }

  const create = (session: string, { key }: Pick<Caller, 'key'>, title: string): ConversationRow => ({
    id: newId(),
    session,
    owner: key?.id ?? null,
    title,
    createdMs: now(),
  })

  /** Returns the runs of a conversation up to a message, oldest first. */
  function runsUntil({ id, session }: ConversationRow, until: string | undefined): readonly RunRow[] {
    const rows: RunRow[] = []
    for (let before: string | undefined; ; before = rows[0]?.id) {
      const page = use((store) => store.runsOf(session, { limit: pageLength, before }, undefined, id))
      rows.unshift(...page)
      if (page.length === 0) break
    }
    if (until === undefined) return rows
    const at = rows.findIndex((run) => run.id === until)
    if (at === -1) throw refused('message_not_found')
    return rows.slice(0, at + 1)
  }

  function findIdle(session: string, id: string, caller: Caller, isDryRun = false): ConversationRow {
    const row = find(session, id, caller)
    if (!isDryRun && !mayDecide(caller, row.owner ?? undefined)) throw refused('owner_required')
    if (isBusy(session, id, caller)) throw refused('run_in_progress')
    return row
  }

  function runsFrom(
    session: string,
    id: string,
    message: string,
    caller: Caller,
    isDryRun: boolean,
  ): readonly RunRow[] {
    const runs = runsUntil(findIdle(session, id, caller, isDryRun), undefined)
    const at = runs.findIndex((run) => run.id === message)
    if (at !== -1) return runs.slice(at)
    const host = runs.find((run) => parseRunData(run)?.joined?.some((each) => each.id === message))
    const detail = `The message has joined the run of another one. Go back to that one: ${host?.id}.`
    throw refused('message_not_found', host && detail)
  }

  /** Deletes a little at a time. */
  async function forget(steps: Iterator<void>): Promise<void> {
    while (use(() => steps.next().done) === false) await new Promise(setImmediate)
    use((store) => store.emptyLog())
  }

  /** Stores a copy of a run a little at a time, so that the original can be deleted. */
  async function copyRun(run: RunRow, { id: conversation, owner }: ConversationRow): Promise<void> {
    const id = newId()
    for (const part of use((store) => store.partsOf(run.id))) {
      use((store) => store.put({ part: { ...part, run: id } }))
      await new Promise(setImmediate)
    }
    for (let seq = 0; ;) {
      const piece = use((store) => store.pieceAfter(run.id, seq))
      if (piece === undefined) break
      use((store) => store.putPiece(id, piece))
      ;({ seq } = piece)
      await new Promise(setImmediate)
    }
    const items: ItemsRow | undefined = use((store) => store.itemsOf(run.id))
    use((store) =>
      store.put({
        run: { ...run, id, conversation, owner },
        ...(items !== undefined && { items: { run: id, session: run.session, owner, data: items.data } }),
      }),
    )
    await new Promise(setImmediate)
  }

  return {
    of({ sessionId, conversationId, key, text }) {
      const caller = { key, isOwner: false }
      const row =
        conversationId === undefined
          ? (newest(sessionId, key?.id ?? null) ?? create(sessionId, caller, ''))
          : find(sessionId, conversationId, caller)
      if (row.owner !== (key?.id ?? null)) throw refused('conversation_of_other')
      return row.title === '' ? { ...row, title: proposeTitle(text) } : row
    },
    find,
    list: (session, caller) =>
      use((store) => store.conversationsOf(session, caller.key?.id)).map((row) => report(row, caller, row.lastMs)),
    async create(session, fork, caller) {
      if (fork === undefined) {
        const row = create(session, caller, '')
        save({ conversation: row })
        return report(row, caller, null)
      }
      const original = find(session, fork.forkOf, caller)
      const runs = runsUntil(original, fork.until)
      if (runs.some(({ state }) => state !== 'ended')) throw refused('run_in_progress')
      const row = create(session, caller, original.title)
      for (const run of runs) await copyRun(run, row)
      // Last, so that a fork which a crash interrupts is not taken for the whole conversation.
      use((store) => store.put({ conversation: row }))
      return report(row, caller, runs.at(-1)?.startedMs ?? null)
    },
    rename(session, id, title, caller) {
      const row = { ...find(session, id, caller), title }
      save({ conversation: row })
      const listed = use((store) => store.conversationsOf(session, caller.key?.id)).find((each) => each.id === id)
      return report(row, caller, listed?.lastMs ?? null)
    },
    runsFrom,
    async cut(session, id, message, caller) {
      const ids = runsFrom(session, id, message, caller, false).map((run) => run.id)
      await forget(use((store) => store.forgetRuns(ids.toReversed())))
    },
    async remove(session, id, caller) {
      findIdle(session, id, caller)
      await forget(use((store) => store.forgetConversation(id)))
    },
  }
}

function report(
  { id, owner, title, createdMs }: ConversationRow,
  { key }: Caller,
  lastMs: number | null,
): ConversationEntry {
  return {
    id,
    title,
    createdAt: new Date(createdMs).toISOString(),
    ...(lastMs !== null && { lastMessageAt: new Date(lastMs).toISOString() }),
    isOwn: owner === (key?.id ?? null),
  }
}

/** Returns the first line of a message, cut. */
function proposeTitle(text: string): string {
  const line = (text.trim().split('\n', 1)[0] ?? '').replaceAll(/\s+/g, ' ').trim()
  return line.length <= maxProposed ? line : `${line.slice(0, maxProposed - 1).trimEnd()}…`
}
