import { deflateRawSync, constants } from 'node:zlib'
import { redactStrings } from '../redaction/known-secrets.ts'
import type { DatabaseError } from '../sqlite/database.ts'
import { everyone, type SessionEvent } from './session-event.ts'
import type { EventFilter, EventRow, Rows } from './session-store.ts'

/** Server-sent events as bytes, encoded and compressed at most once for all listeners. */
export interface Payload {
  readonly bytes: Buffer
  /** Raw deflate blocks (RFC 1951) without references to earlier ones. They end at a byte boundary. */
  readonly deflated: () => Buffer
}

/** Writes to a connection. After it returns false, the hub sends nothing until the caller calls `Listening.drained`. */
type Sink = (payload: Payload) => boolean

interface Listening {
  /** The sink accepts data again. */
  readonly drained: () => void
  readonly end: () => void
}

export interface EventHubDeps {
  /** Stores the rows. Returns the reason if they have to wait in memory, and the rows before them had not. */
  readonly write: (rows: Rows) => DatabaseError | undefined
  /** The events that are not stored yet, oldest first. */
  readonly waiting: () => readonly EventRow[]
  /** The ids of events that were neither stored nor kept in memory. */
  readonly lost: () => { readonly from: number; readonly to: number } | undefined
  /** Returns the next stored events after this id, at most `limit`, or undefined if they cannot be read. Empty only at the end. */
  readonly read: (after: number, filter: EventFilter, limit: number) => readonly EventRow[] | undefined
  /** Events up to this id may have been deleted. */
  readonly prunedTo: () => number
  /** The id of the first event of this process. */
  readonly firstId: () => number
  /** Ms since epoch. */
  readonly now: () => number
  /** Returns a function that cancels the timer. Must not keep the process alive. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  /** Removes known credentials from a text. */
  readonly redact: (text: string) => string
}

/** Stores the events of sessions and sends them to listeners in order. Listeners can resume after an event id. */
export interface EventHub {
  /**
   * @param owner who may see the event: the id of a key, null for the owner of the daemon alone, or `everyone`
   * @param rows are stored together with the event
   * @returns the reason if the event cannot be stored and the one before it could be
   */
  readonly publish: (
    sessionId: string,
    owner: string | null,
    event: SessionEvent,
    rows?: Omit<Rows, 'event'>,
  ) => DatabaseError | undefined
  /**
   * @param options `session` selects the events of one session, `viewer` those that this key may see. `after` also sends the
   * events since that id; a `gap` event replaces deleted ones.
   */
  readonly listen: (sink: Sink, options: EventFilter & { readonly after?: number | undefined }) => Listening
  /** The id of the newest event; undefined before the first. */
  readonly newest: () => number | undefined
  readonly close: () => void
}

/** Interval of the heartbeat, which keeps proxies from closing idle connections. Ms. */
const heartbeatMs = 15_000

/** Maximum page that a listener gets at once while it catches up. Events and characters. */
const pageEvents = 200
const pageLength = 64 * 1024

interface Listener {
  readonly sink: Sink
  readonly filter: EventFilter
  /** Id of the last event that was sent or skipped. */
  cursor: number
  /** Whether the listener reads pages until it has caught up; `send` skips it meanwhile. */
  isBehind: boolean
}

export function createEventHub(deps: EventHubDeps): EventHub {
  const { read, prunedTo, now, setTimer, redact } = deps
  const listeners = new Set<Listener>()
  let lastId: number | undefined
  let endHeartbeat: (() => void) | undefined

  const newestId = (): number => (lastId ??= deps.firstId() - 1)

  function send(row: EventRow): void {
    let payload: Payload | undefined
    for (const listener of listeners) {
      if (listener.isBehind) continue
      listener.cursor = row.id
      if (isSelected(row, listener.filter))
        listener.isBehind = !listener.sink((payload ??= toPayload(toText(row, redact))))
    }
  }

  /** Returns the next events of a listener. `last` is the id up to which the page has all events. */
  function page({ cursor, filter }: Listener): { readonly text: string; readonly last: number } {
    const pruned = prunedTo()
    if (cursor < pruned) return gapTo(pruned, cursor)
    const waiting = deps.waiting()
    const stored = read(cursor, filter, pageEvents)
    const firstWaiting = waiting[0]?.id ?? newestId() + 1
    if (stored === undefined && cursor + 1 < firstWaiting) return gapTo(firstWaiting - 1, cursor)
    let rows = stored ?? []
    const lost = deps.lost()
    if (lost !== undefined && cursor < lost.to) {
      // A page ends before lost events, so that the next one begins with their `gap`.
      rows = rows.filter(({ id }) => id < lost.from)
      if (rows.length === 0) return gapTo(lost.to, cursor)
    } else if (rows.length === 0) rows = waiting.filter((row) => row.id > cursor && isSelected(row, filter))
    let text = ''
    let last = cursor
    for (const row of rows) {
      if (text.length > pageLength) return { text, last }
      text += toText(row, redact)
      last = row.id
    }
    return { text, last: rows.length === 0 ? newestId() : last }
  }

  function catchUp(listener: Listener): void {
    while (listener.cursor < newestId()) {
      const { text, last } = page(listener)
      listener.cursor = last
      if (text !== '' && !listener.sink(toPayload(text))) return
    }
    listener.isBehind = false
  }

  function beat(): void {
    const payload = toPayload(':\n\n')
    for (const listener of listeners) if (!listener.isBehind) listener.isBehind = !listener.sink(payload)
    endHeartbeat = listeners.size === 0 ? undefined : setTimer(beat, heartbeatMs)
  }

  return {
    publish(session, owner, event, rows) {
      const row = toRow({ id: newestId() + 1, session, owner, timeMs: now() }, event)
      // Store before sending, so that a listener that resumes after a crash knows no id that the file lacks. If storing fails,
      // listeners get the event all the same.
      const failure = deps.write({ ...rows, event: row })
      lastId = row.id
      send(row)
      return failure
    },
    listen(sink, { after, ...filter }) {
      const newest = newestId()
      const listener: Listener = { sink, filter, cursor: Math.min(after ?? newest, newest), isBehind: true }
      listeners.add(listener)
      // With this id, a client that loses its connection before the first event can resume too.
      if (sink(toPayload(`retry: 2000\nid: ${listener.cursor}\n\n`))) catchUp(listener)
      endHeartbeat ??= setTimer(beat, heartbeatMs)
      return {
        drained() {
          if (listeners.has(listener)) catchUp(listener)
        },
        end: () => listeners.delete(listener),
      }
    },
    newest: () => lastId,
    close() {
      endHeartbeat?.()
      listeners.clear()
    },
  }
}

function isSelected({ session, owner }: EventRow, filter: EventFilter): boolean {
  if (filter.session !== undefined && session !== filter.session) return false
  return filter.viewer === undefined || owner === filter.viewer || owner === everyone
}

function toRow(facts: Omit<EventRow, 'conversation' | 'type' | 'data'>, { type, ...event }: SessionEvent): EventRow {
  const data = JSON.stringify({ ...event, sessionId: facts.session, time: new Date(facts.timeMs).toISOString() })
  const conversation = 'conversationId' in event ? (event.conversationId ?? null) : null
  return { ...facts, conversation, type, data }
}

function gapTo(to: number, cursor: number): { readonly text: string; readonly last: number } {
  return { text: `id: ${to}\nevent: gap\ndata: ${JSON.stringify({ from: cursor + 1, to })}\n\n`, last: to }
}

function toText({ id, type, data }: EventRow, redact: (text: string) => string): string {
  return `id: ${id}\nevent: ${type}\ndata: ${redactData(type, data, redact)}\n\n`
}

/** Keeps what a caller has sent: an answer that differs would tell which texts are credentials. */
function redactData(type: string, data: string, redact: (text: string) => string): string {
  if (type === 'inbound' || redact(data) === data) return data
  return JSON.stringify(redactStrings(JSON.parse(data), redact))
}

function toPayload(text: string): Payload {
  const bytes = Buffer.from(text)
  let deflated: Buffer | undefined
  return {
    bytes,
    deflated: () => (deflated ??= deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH })),
  }
}
