import type { AgentOutcome, AgentTask, FileChange } from '../agent/agent-task.ts'
import type { Config } from '../config/schema.ts'
import type { Logger } from '../logging/logger.ts'
import { mayDecide, maySee, type Caller } from '../config/caller.ts'
import { redactStrings, type KnownSecrets } from '../redaction/known-secrets.ts'
import { DatabaseError } from '../sqlite/database.ts'
import { createConversations } from './conversations.ts'
import { createEventHub } from './event-hub.ts'
import { endInterruptedRuns, parsePart, parseRunData } from './interrupted-runs.ts'
import type { ChangesSince } from './journal-changes.ts'
import { joinItems, readPiece, splitItems } from './long-texts.ts'
import { createPushes } from './pushes.ts'
import { reportMessage, reportRun } from './run-record.ts'
import { Fault } from '../errors.ts'
import { refused } from './refused.ts'
import { createRuns } from './runs.ts'
import { createSessionFile } from './session-file.ts'
import { toolCallStream } from './old-rows.ts'
import { streamEntry } from '../api/sessions.ts'
import type { StreamEntry } from '../api/sessions.ts'
import { everyone, type SessionEvent } from './session-event.ts'
import type { EntryRow, ItemsRow, Rows, RunRow, SessionStore } from './session-store.ts'
import { createSessionWriter } from './session-writer.ts'
import type { Accepted, NewMessage, Sessions } from './sessions.ts'
import type { Workspaces } from './workspaces.ts'

export interface SessionsDeps {
  readonly config: () => Config
  readonly workspaces: Pick<Workspaces, 'sessions' | 'find' | 'onChange'>
  /** With `:memory:`, sessions last until the process ends. */
  readonly file: string
  /** If true, sessions are in memory while another process has the file. Otherwise they are unavailable then. */
  readonly isOptional?: boolean | undefined
  /** Maximum size of the file. Default: that of `openSessionStore`. */
  readonly maxBytes?: number | undefined
  readonly runAgent: (task: AgentTask, conversationId: string) => Promise<AgentOutcome>
  readonly defaultModel: (keyName: string | undefined, signal: AbortSignal) => Promise<string>
  /** Returns changes of a session's journal, or undefined if it is not open. */
  readonly changes: (sessionId: string, since: ChangesSince) => Promise<readonly FileChange[] | undefined>
  readonly randomId: () => string
  readonly newConversationId: () => string
  /** Ms since epoch. */
  readonly now: () => number
  /** Monotonic. Ms. */
  readonly monotonicMs: () => number
  /** Returns a function that cancels the timer. Must not keep the process alive. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  readonly secrets: Pick<KnownSecrets, 'redact' | 'beginsAt'>
  readonly log: Logger
}

/** Maximum of earlier items for a run, without the newest run's: as much as the largest contexts hold. Bytes. */
const maxHistory = 4 * 1024 * 1024

/** A run compares its instruction files with those of this many earlier runs. */
const instructionRuns = 20

/** Interval between two searches for old rows. Ms. */
const pruneEveryMs = 60 * 60 * 1000

/** Interval between two steps of a deletion. Ms. */
const pruneAgainMs = 200

/** Of each workspace: the rows that its lists can show in a second. `sessions.keep-days` deletes most runs earlier. */
const keptRuns = 1000
const keptEvents = 50_000
const keptEntries = 5000
const dayMs = 24 * 60 * 60 * 1000

/** Creates the messages, runs and events of the open workspaces. Opens the file only when it stores or reads something. */
export function openSessions(deps: SessionsDeps): Sessions {
  const { config, workspaces, now, monotonicMs, setTimer, secrets, log } = deps
  const openedAt = { ms: now(), monotonicMs: monotonicMs() }
  let endPrune: (() => void) | undefined
  /** Resolves when the runs that an earlier process has left are recorded as interrupted. */
  let takenOver: Promise<void> = Promise.resolve()

  const file = createSessionFile({ file: deps.file, isOptional: deps.isOptional, maxBytes: deps.maxBytes, log }, onOpen)
  const writer = createSessionWriter({ file, setTimer, log })
  const hub = createEventHub({
    write: writer.write,
    waiting: writer.waitingEvents,
    lost: writer.lost,
    read: (after, filter, limit) => attempt((store) => store.eventsAfter(after, filter, limit)),
    prunedTo: () => attempt((store) => store.prunedTo()) ?? 0,
    // The time is larger than each id of an earlier process, also if that could not store its last events or had another file.
    // Events need ids also while nothing can use the file: one of them reports that failure.
    firstId: () => Math.max((attempt((store) => store.lastEventId()) ?? 0) + 1, now()),
    now,
    setTimer,
    redact: secrets.redact,
  })
  const runs = createRuns({
    config,
    find: (id) => workspaces.sessions().find((session) => session.id === id),
    runAgent: deps.runAgent,
    defaultModel: deps.defaultModel,
    history: earlierItems,
    knownInstructions,
    publish,
    save,
    storeTexts,
    randomId: deps.randomId,
    beginsAt: secrets.beginsAt,
    setTimer,
    now,
    log,
  })
  const conversations = createConversations({
    use,
    save,
    waiting: writer.waitingConversations,
    isBusy: (session, id, caller) => runs.open(session, caller).some(({ conversationId }) => conversationId === id),
    newId: deps.newConversationId,
    now,
  })
  const start = (message: NewMessage): Accepted => runs.start(message, conversations.of(message))
  const push = createPushes({ config, runs: { start, onEnd: runs.onEnd }, save, publish, now, log })

  function save(rows: Rows): void {
    const failure = writer.write(rows)
    if (failure !== undefined) emitFailure(failure)
  }

  function publish(session: string, owner: string | null, event: SessionEvent, rows?: Omit<Rows, 'event'>): void {
    const failure = hub.publish(session, owner, event, rows)
    if (failure !== undefined) emitFailure(failure)
  }

  /** @throws Fault `sessions_unavailable` */
  function use<Result>(act: (store: SessionStore) => Result): Result {
    try {
      return file.use(act)
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error
      log.error({ problem: error.problem }, error.message)
      throw refused(
        'sessions_unavailable',
        error.problem === 'newer' || error.problem === 'busy' ? error.message : undefined,
      )
    }
  }

  /** Returns undefined if SQLite cannot use the file. */
  function attempt<Result>(act: (store: SessionStore) => Result): Result | undefined {
    try {
      return file.use(act)
    } catch (error) {
      if (error instanceof DatabaseError) return undefined
      throw error
    }
  }

  /** Until then, an interrupted run would look as if it were running. */
  async function waitForTakeover(): Promise<void> {
    use(() => {})
    await takenOver
  }

  function onOpen(store: SessionStore): void {
    // A client that resumes with an id of another file gets a `gap` event.
    if (store.lastEventId() === 0) store.setPrunedTo(hub.newest() ?? Math.max(now() - 1, 0))
    const unfinished = store.unfinished().filter(({ id }) => runs.find(id) === undefined)
    endPrune ??= setTimer(prune, pruneAgainMs)
    if (unfinished.length > 0) takenOver = endRunsOfEarlierProcess(unfinished)
  }

  async function endRunsOfEarlierProcess(rows: readonly RunRow[]): Promise<void> {
    log.warn({ runs: rows.map(({ id }) => id) }, 'these runs were interrupted')
    try {
      await endInterruptedRuns(rows, {
        partsOf: (run) => use((store) => store.partsOf(run)).flatMap((part) => parsePart(part) ?? []),
        changes: deps.changes,
        save,
        publish,
        randomId: deps.randomId,
        now,
      })
    } catch (error) {
      log.error({ err: error }, 'the record of interrupted runs cannot be completed')
    }
  }

  function emitFailure({ problem, message }: DatabaseError): void {
    const event = { type: 'error', code: problem === 'full' ? 'disk_full' : 'sessions_not_stored', message } as const
    for (const { id } of workspaces.sessions()) publish(id, everyone, event)
  }

  function prune(): void {
    const { keepDays } = config().sessions
    // Use the smaller one: the wall clock may jump ahead, which must delete nothing, and the monotonic one may ignore sleep.
    const time = Math.min(now(), openedAt.ms + monotonicMs() - openedAt.monotonicMs)
    const limits = {
      sinceMs: time - keepDays * dayMs,
      runsPerSession: keptRuns,
      events: keptEvents,
      entriesPerSession: keptEntries,
    }
    pruneNext(attempt((store) => store.prune(limits)))
  }

  function pruneNext(steps: Iterator<void> | undefined): void {
    const hasMore = attempt(() => steps?.next().done) === false
    endPrune = hasMore ? setTimer(() => pruneNext(steps), pruneAgainMs) : setTimer(prune, pruneEveryMs)
  }

  async function storeTexts(run: string, items: AgentOutcome['items']): Promise<string | undefined> {
    const { text, pieces } = splitItems(items)
    try {
      for (const piece of pieces) {
        file.use((store) => store.putPiece(run, piece))
        await new Promise(setImmediate)
      }
      return text
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error
      log.error({ problem: error.problem, run }, `a run cannot be added to the history: ${error.message}`)
      emitFailure(error)
      return undefined
    }
  }

  async function readItems({ run, data }: ItemsRow): Promise<AgentTask['history']> {
    const texts = new Map<number, string[]>()
    let seq = 0
    for (;;) {
      const piece = use((store) => store.pieceAfter(run, seq))
      if (piece === undefined) return joinItems(data, texts)
      const pieces = texts.get(piece.number) ?? []
      pieces.push(readPiece(piece))
      texts.set(piece.number, pieces)
      ;({ seq } = piece)
      await new Promise(setImmediate)
    }
  }

  /** Reads the runs one by one, each in its own turn of the event loop. */
  async function earlierItems(conversation: string): Promise<AgentTask['history']> {
    await waitForTakeover()
    const runsOfItems: AgentTask['history'][] = []
    let before = Number.MAX_SAFE_INTEGER
    let length = 0
    for (;;) {
      const found = use((store) => store.itemsBefore(conversation, before))
      // The newest run does not count, because an attached image is long as text but has few tokens.
      if (runsOfItems.length > 0) length += found?.size ?? 0
      if (found === undefined || length > maxHistory) return runsOfItems.toReversed().flat()
      runsOfItems.push(await readItems(found))
      before = found.seq
      await new Promise(setImmediate)
    }
  }

  function knownInstructions(sessionId: string, owner: string | null): AgentTask['knownInstructions'] {
    const page = { limit: instructionRuns, before: undefined }
    const rows = use((store) => store.runsOf(sessionId, page, owner ?? undefined)).filter((row) => row.owner === owner)
    const files = rows.flatMap((row) => parseRunData(row)?.instructions ?? [])
    // The newest run comes last, and the last entry of a path counts.
    return new Map(files.map(({ path, sha256 }) => [path, sha256]))
  }

  /** Keeps what the caller has sent: an answer that differs would tell which texts are credentials. */
  function redacted<Report extends { readonly text: string; readonly attachments?: unknown }>(report: Report): Report {
    const { text, attachments } = report
    return { ...redactStrings(report, secrets.redact), text, ...(attachments !== undefined && { attachments }) }
  }

  let known = new Map(workspaces.sessions().map(({ id, name }) => [id, name]))
  const endOnChange = workspaces.onChange(() => {
    const before = known
    known = new Map(workspaces.sessions().map(({ id, name }) => [id, name]))
    // As long as the file is closed, there is neither a listener nor a record.
    if (!file.isOpen()) return
    for (const [id, name] of before)
      if (!known.has(id)) publish(id, everyone, { type: 'lifecycle', state: 'removed', name })
    for (const [id, name] of known)
      if (!before.has(id)) publish(id, everyone, { type: 'lifecycle', state: 'added', name })
  })

  return {
    start(message) {
      use(() => {})
      const accepted = start(message)
      if (file.isReplaced()) publish(message.sessionId, message.key?.id ?? null, notKept)
      return accepted
    },
    conversations,
    cancel(id, caller) {
      const row = runs.find(id)?.row ?? use((store) => store.run(id))
      if (row === undefined || !isSeen(row, caller)) throw refused('run_not_found')
      const state = runs.cancel(id, 'The run was cancelled.')
      if (state !== undefined) return state
      throw refused('run_ended')
    },
    decide(approvalId, decision, caller) {
      const row = runs.findWaiting(approvalId) ?? use((store) => runOfApproval(store, approvalId))
      if (row === undefined || !isSeen(row, caller)) throw refused('approval_not_found')
      if (!mayDecide(caller, row.owner ?? undefined)) throw refused('owner_required')
      // A rule holds in the runs of all callers of the workspace.
      if (decision === 'always' && !caller.isOwner) throw refused('owner_required')
      if (runs.isOffered(approvalId, decision) === false) throw notOffered
      const decided = runs.decide(approvalId, decision)
      if (decided !== undefined) return decided
      throw refused('approval_decided')
    },
    answerEditor(runId, requestId, answer, caller) {
      const row = runs.find(runId)?.row ?? use((store) => store.run(runId))
      if (row === undefined || !isSeen(row, caller)) throw refused('run_not_found')
      if (!mayDecide(caller, row.owner ?? undefined)) throw refused('owner_required')
      if (!runs.answerEditor(runId, requestId, answer)) throw refused('request_not_found')
    },
    async run(id, caller) {
      await waitForTakeover()
      const running = runs.find(id)
      const row = running?.row ?? use((store) => store.run(id))
      if (row === undefined || !isSeen(row, caller)) throw refused('run_not_found')
      if (running !== undefined) return redacted(reportRun(row, running.data, running.parts))
      const data = parseRunData(row)
      if (data === undefined) throw refused('run_not_found')
      const parts = use((store) => store.partsOf(id)).flatMap((part) => parsePart(part) ?? [])
      return redacted(reportRun(row, data, parts))
    },
    async messages(sessionId, { conversation, ...page }, caller) {
      await waitForTakeover()
      if (conversation !== undefined) conversations.find(sessionId, conversation, caller)
      return use((store) => store.runsOf(sessionId, page, caller.key?.id, conversation)).flatMap((row) => {
        const data = parseRunData(row)
        return data === undefined ? [] : [redacted(reportMessage(row, data))]
      })
    },
    openRuns: runs.open,
    async forget(sessionId, caller) {
      const viewer = caller.key?.id
      if (!mayDecide(caller, viewer)) throw refused('owner_required')
      if (runs.open(sessionId, caller).length > 0) throw refused('run_in_progress')
      writer.forget(sessionId, viewer)
      const steps = use((store) => store.forget(sessionId, viewer))
      while (use(() => steps.next().done) === false) await new Promise(setImmediate)
      use((store) => store.emptyLog())
    },
    streams: (sessionId, { key }) =>
      use((store) => store.streamsOf(sessionId, key?.id)).map(({ name, entries, lastMs }) => ({
        name,
        entries,
        lastTime: new Date(lastMs).toISOString(),
      })),
    entries: (sessionId, stream, page, { key }) =>
      use((store) => store.entriesOf(sessionId, stream, page, key?.id))
        .map(reportEntry)
        .map((entry) => redactStrings(entry, secrets.redact)),
    listen(sink, { session, after, caller }) {
      use(() => {})
      return hub.listen(sink, { session, after, viewer: caller.key?.id })
    },
    push(given) {
      use(() => {})
      push(given)
    },
    recordCall(session, line, ownerId) {
      const data = JSON.stringify(line)
      save({ entry: { session, owner: ownerId ?? null, stream: toolCallStream, timeMs: now(), data } })
    },
    lifecycle: runs.onLifecycle,
    async stop(graceMs) {
      endOnChange()
      if (file.isOpen()) {
        for (const { id, name } of workspaces.sessions())
          publish(id, everyone, { type: 'lifecycle', state: 'shutdown', name })
      }
      await runs.stop(graceMs)
    },
    close() {
      endPrune?.()
      hub.close()
      writer.close()
      file.close()
    },
  }
}

function isSeen({ owner }: Pick<RunRow, 'owner'>, caller: Caller): boolean {
  return maySee(caller, owner ?? undefined)
}

function runOfApproval(store: SessionStore, approvalId: string): RunRow | undefined {
  const part = store.approval(approvalId)
  return part && store.run(part.run)
}

const notOffered = new Fault({
  kind: 'invalid_request',
  path: 'decision',
  detail: 'must be one of the decisions that the approval offers',
})

const notKept = {
  type: 'error',
  code: 'sessions_not_stored',
  message: 'Another copilot-proxy is using the session file, so this run is not stored.',
} as const

function reportEntry({ id, timeMs, data }: EntryRow): StreamEntry {
  const facts = entryData.parse(JSON.parse(data))
  return { id: String(id), ...facts, time: new Date(timeMs).toISOString() }
}

const entryData = streamEntry.omit({ id: true, time: true })
