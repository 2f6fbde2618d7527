import { deflateRawSync, constants } from 'node:zlib'
import { redactStrings } from '../redaction/known-secrets.ts'
import { everyone, type SessionEvent } from './session-event.ts'
import type { EventFilter, EventRow } from './session-store.ts'

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
  /** Returns false if the events could not be stored. */
  readonly save: (events: readonly EventRow[]) => boolean
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

/** Sends the events of sessions to listeners in order. Listeners can resume after an event id. */
export interface EventHub {
  /** @param owner who may see the event: the id of a key, null for the owner of the daemon alone, or `everyone` */
  readonly publish: (sessionId: string, owner: string | null, event: SessionEvent) => void
  /** Stores and sends the published events now. */
  readonly flush: () => void
  /** Does the same soon, together with the events until then. */
  readonly flushSoon: () => void
  /**
   * @param options `session` selects the events of one session, `viewer` those that this key may see. `after` also sends the
   * events since that id; a `gap` event replaces deleted ones.
   */
  readonly listen: (sink: Sink, options: EventFilter & { readonly after?: number | undefined }) => Listening
  /** Removes the events of a session from memory. @param viewer the key whose events are removed; undefined: all */
  readonly forget: (sessionId: string, viewer: string | undefined) => void
  /** The id of the newest event; undefined before the first. */
  readonly newest: () => number | undefined
  /** Stores and sends the published events, and cancels the timers. */
  readonly close: () => void
}

/** Events within this time are stored and sent together; consecutive fragments of a text are joined. Ms. */
const gatherMs = 10

/** Interval of the heartbeat, which keeps proxies from closing idle connections. Ms. */
const heartbeatMs = 15_000

/** Limits of the events in memory, which serve slow listeners and wait while the disk is full. Characters and events. */
const keptLength = 2 * 1024 * 1024
const keptEvents = 5000

/** The hub sends gathered events at once when they exceed this size. Characters. */
const maxGathered = 256 * 1024

/** Maximum length of a joined fragment. Characters. */
const maxFragment = 8 * 1024

/** Delay before the hub tries again to store events. Ms. */
const retryMs = 1000

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

interface Gathered {
  readonly id: number
  readonly session: string
  readonly owner: string | null
  readonly timeMs: number
  event: SessionEvent
}

export function createEventHub(deps: EventHubDeps): EventHub {
  const { save, read, prunedTo, now, setTimer, redact } = deps
  const listeners = new Set<Listener>()
  let gathered: Gathered[] = []
  let gatheredLength = 0
  /** The newest events, oldest first. */
  let kept: EventRow[] = []
  let keptSum = 0
  /** Id of the newest stored event. */
  let savedTo: number | undefined
  /** Ids of events that were never stored and are no longer in memory. */
  let lost: { readonly from: number; readonly to: number } | undefined
  let lastId: number | undefined
  let endGather: (() => void) | undefined
  let endRetry: (() => void) | undefined
  let endHeartbeat: (() => void) | undefined

  function newestId(): number {
    if (lastId === undefined) {
      lastId = deps.firstId() - 1
      savedTo = lastId
    }
    return lastId
  }

  function gather(): void {
    endGather ??= setTimer(flush, gatherMs)
  }

  function retry(): void {
    endRetry ??= setTimer(() => {
      endRetry = undefined
      flush()
    }, retryMs)
  }

  /** Returns the index in `kept` of the first event after this id. */
  function indexAfter(id: number): number {
    let [from, to] = [0, kept.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((kept[middle]?.id ?? 0) > id) to = middle
      else from = middle + 1
    }
    return from
  }

  function flush(): void {
    endGather?.()
    endGather = undefined
    const rows = gathered.map(toRow)
    gathered = []
    gatheredLength = 0
    kept.push(...rows)
    for (const { data } of rows) keptSum += data.length
    // Store before sending, so that a listener that resumes after a crash knows no id that the file lacks. If storing fails,
    // listeners get the events all the same.
    if (save(kept.slice(indexAfter(savedTo ?? 0)))) savedTo = lastId
    else retry()
    forgetOld()
    if (rows.length > 0) send(rows)
  }

  function forgetOld(): void {
    let from = 0
    while (kept.length - from > keptEvents || (keptSum > keptLength && from < kept.length)) {
      const { id, data } = kept[from] ?? { id: 0, data: '' }
      keptSum -= data.length
      if (id > (savedTo ?? 0)) lost = { from: lost?.from ?? id, to: id }
      from += 1
    }
    if (from > 0) kept = kept.slice(from)
  }

  function send(rows: readonly EventRow[]): void {
    const payloads = new Map<string, Payload | undefined>()
    const last = rows.at(-1)?.id ?? 0
    for (const listener of listeners) {
      if (listener.isBehind) continue
      const { filter, sink } = listener
      const key = `${filter.viewer ?? ''} ${filter.session ?? ''}`
      if (!payloads.has(key)) {
        const own = rows.filter((row) => isSelected(row, filter))
        payloads.set(key, own.length === 0 ? undefined : toPayload(own.map((row) => toText(row, redact)).join('')))
      }
      const payload = payloads.get(key)
      listener.cursor = last
      if (payload !== undefined) listener.isBehind = !sink(payload)
    }
  }

  /** Returns the ids after the cursor whose events are deleted or lost. */
  function gapAfter(cursor: number): { readonly from: number; readonly to: number } | undefined {
    const pruned = prunedTo()
    if (cursor < pruned) return { from: cursor + 1, to: pruned }
    if (lost !== undefined && cursor >= lost.from - 1 && cursor < lost.to) return { from: cursor + 1, to: lost.to }
    return undefined
  }

  /** Returns the next events of a listener, from memory if possible. `last` is the id up to which the page has all events. */
  function page({ cursor, filter }: Listener): { readonly text: string; readonly last: number } {
    const gap = gapAfter(cursor)
    if (gap !== undefined) return { text: toGap(gap), last: gap.to }
    // A page ends before lost events, so that the next one begins with their `gap`.
    const end = lost !== undefined && cursor < lost.from ? lost.from - 1 : newestId()
    const firstKept = kept[0]?.id ?? newestId() + 1
    const isInMemory = firstKept <= cursor + 1
    const rows = isInMemory ? kept.slice(indexAfter(cursor)) : read(cursor, filter, pageEvents)
    if (rows === undefined) return { text: toGap({ from: cursor + 1, to: firstKept - 1 }), last: firstKept - 1 }
    let text = ''
    let last = cursor
    for (const row of rows) {
      if (row.id > end) break
      if (text.length > pageLength) return { text, last }
      if (isSelected(row, filter)) text += toText(row, redact)
      last = row.id
    }
    if (isInMemory) return { text, last: end }
    // The file has been read to its end: all further events are in memory.
    return { text, last: rows.length === 0 ? Math.max(last, Math.min(end, firstKept - 1)) : last }
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
    publish(sessionId, owner, event) {
      const last = gathered.at(-1)
      const merged = last?.session === sessionId && last.owner === owner ? mergeFragments(last.event, event) : undefined
      if (last !== undefined && merged !== undefined) last.event = merged
      else {
        lastId = newestId() + 1
        gathered.push({ id: lastId, session: sessionId, owner, timeMs: now(), event })
      }
      gatheredLength += event.type === 'fragment' ? event.text.length : 1024
      if (gatheredLength > maxGathered) flush()
      else gather()
    },
    flush,
    flushSoon: gather,
    listen(sink, { after, ...filter }) {
      flush()
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
    forget(sessionId, viewer) {
      kept = kept.filter(({ session, owner }) => session !== sessionId || (viewer !== undefined && owner !== viewer))
      keptSum = 0
      for (const { data } of kept) keptSum += data.length
    },
    newest: () => lastId,
    close() {
      flush()
      // If the last events could not be stored, an event reports that and waits for the next flush.
      endGather?.()
      endRetry?.()
      endHeartbeat?.()
      listeners.clear()
    },
  }
}

function isSelected({ session, owner }: EventRow, filter: EventFilter): boolean {
  if (filter.session !== undefined && session !== filter.session) return false
  return filter.viewer === undefined || owner === filter.viewer || owner === everyone
}

function toRow({ id, session, owner, timeMs, event }: Gathered): EventRow {
  const { type, ...rest } = event
  const data = JSON.stringify({ ...rest, sessionId: session, time: new Date(timeMs).toISOString() })
  return { id, session, owner, type, timeMs, data }
}

function toGap(gap: { readonly from: number; readonly to: number }): string {
  return `id: ${gap.to}\nevent: gap\ndata: ${JSON.stringify(gap)}\n\n`
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

/** Joins two consecutive fragments of the same text. Returns undefined if they are not. */
function mergeFragments(before: SessionEvent, added: SessionEvent): SessionEvent | undefined {
  if (before.type !== 'fragment' || added.type !== 'fragment') return undefined
  const isSame =
    before.id === added.id && before.kind === added.kind && before.step === added.step && before.model === added.model
  const isText = added.kind === 'answer' || added.kind === 'thinking'
  if (!isSame || !isText || before.text.length + added.text.length > maxFragment) return undefined
  return { ...before, text: before.text + added.text }
}
