import { Fault } from '../../../errors.ts'
import { type ArgumentScan, scanArguments, startArgumentScan } from '../../engine/reply/argument-scan.ts'
import { isFilled, isObject, stringify, objectOf, parseJson } from '../../../json/json.ts'
import type { WireFunction, WireToolCall } from '../wire.ts'

/** Functions take JSON, custom tools take any text. */
type ToolKind = 'function' | 'custom'

/** One call of the reply so far. */
interface ToolCall {
  readonly kind: ToolKind
  /** The choice it came in; upstream counts calls from 0 in every choice. */
  readonly choice: number
  /** Its position in its choice: the index of a call whose first entry has none. */
  readonly position: number
  upstreamIndex: number | undefined
  upstreamId: string | undefined
  name: string
  /** The caller's index, once the call is open. */
  index: number | undefined
  /** All arguments received: a late name opens the call with them. */
  arguments: string
  /** The entries before the call could be opened: its name was missing or perhaps incomplete. */
  waiting: WireToolCall | undefined
  readonly scan: ArgumentScan
}

/** One entry of `delta.tool_calls`. */
interface ToolEntry {
  readonly wire: WireToolCall
  readonly kind: ToolKind
  readonly body: WireFunction
  readonly choice: number
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string
  readonly piece: string
}

/**
 * The tool calls of one reply. Upstream announces a call with a new id, but indexes may be missing, repeated or wrong,
 * names may come late, and ids may be missing (docs/copilot-wire.md, quirk 7). Callers get entries as the API defines
 * them: index, id, type and name once, then index and arguments.
 */
export interface ToolCalls {
  readonly seen: ToolCall[]
  opened: number
  /** Unique among replies: part of the ids that upstream leaves out. */
  readonly seedId: string
  /** A call ran into runaway whitespace (docs/copilot-wire.md, quirk 17). Nothing after it counts. */
  runawayWhitespace: boolean
}

/** Limits the work, because each entry is compared with all calls before it. No answer has room for more calls. */
const MOST_CALLS = 2000

export function startToolCalls(seedId: string): ToolCalls {
  return { seen: [], opened: 0, seedId, runawayWhitespace: false }
}

/**
 * Normalises the tool calls of one delta. Returns undefined if nothing changed, so that the text of the event can be
 * forwarded.
 * @param choice upstream's index of the choice
 */
export function normaliseToolCalls(
  state: ToolCalls,
  entries: readonly unknown[],
  choice: number,
): WireToolCall[] | undefined {
  const normalised: WireToolCall[] = []
  let unchanged = true
  for (const wire of entries) {
    const before = normalised.length
    if (isObject(wire)) normaliseEntry(state, readEntry(wire, choice), normalised)
    if (normalised.length !== before + 1 || normalised[before] !== wire) unchanged = false
    if (state.runawayWhitespace) return normalised
  }
  return unchanged ? undefined : normalised
}

/**
 * Returns the entries that complete the calls when upstream has finished: it opens calls that waited for more of their
 * name, and adds `{}` to calls without arguments.
 * @param truncated the last call may be a fragment
 * @throws Fault `upstream_unusable` if a call never got a name
 */
export function closeToolCalls(state: ToolCalls, truncated: boolean): WireToolCall[] {
  const entries: WireToolCall[] = []
  openWaiting(state, entries)
  if (truncated) return entries
  for (const { index, kind, arguments: received } of state.seen) {
    const empty = received.trim() === ''
    if (index === undefined && !empty) {
      throw new Fault({ kind: 'upstream_unusable', detail: 'it called a tool without a name' })
    }
    if (index !== undefined && empty && kind === 'function') entries.push({ index, function: { arguments: '{}' } })
  }
  return entries
}

/** Whether every call so far could be executed. Whitespace alone counts as no arguments. */
export function areToolCallsComplete(state: ToolCalls): boolean {
  return state.seen.every(
    (call) => call.kind === 'custom' || call.arguments.trim() === '' || parseJson(call.arguments) !== undefined,
  )
}

/** Whether the arguments of the call with this index are a complete object. */
export function hasClosedArguments({ seen }: ToolCalls, index: number): boolean {
  const call = seen.findLast((each) => each.index === index)
  return call?.kind === 'function' && call.scan.closed
}

export function hasCalls(state: ToolCalls, choice: number): boolean {
  return state.seen.some((call) => call.choice === choice)
}

function normaliseEntry(state: ToolCalls, entry: ToolEntry, out: WireToolCall[]): void {
  let call = findCall(state.seen, entry)
  if (call === undefined) {
    if (state.seen.length === MOST_CALLS) {
      throw new Fault({ kind: 'upstream_unusable', detail: `it made more than ${MOST_CALLS} tool calls at once` })
    }
    openWaiting(state, out)
    call = startCall(entry, state.seen)
    state.seen.push(call)
  }
  if (call.name === '') call.name = entry.name
  else if (continuesName(call, entry)) call.name += entry.name
  call.upstreamIndex ??= entry.index
  call.upstreamId ??= entry.id

  const piece = takePiece(state, call, entry.piece)
  if (call.index !== undefined) {
    const more = continueCall(call, entry, piece)
    if (more !== undefined) out.push(more)
  } else if (call.name === '' || mayNameContinue(call, entry)) {
    call.waiting = { ...call.waiting, ...entry.wire }
  } else {
    out.push(openCall(state, call, entry))
  }
}

/** Opens the calls that waited for more of their name. */
function openWaiting(state: ToolCalls, out: WireToolCall[]): void {
  for (const call of state.seen) {
    if (call.index === undefined && call.name !== '') {
      out.push(openCall(state, call, readEntry(call.waiting ?? {}, call.choice)))
    }
  }
}

/** Adds the piece to the call, up to runaway whitespace, and returns what was added. */
function takePiece(state: ToolCalls, call: ToolCall, piece: string): string {
  // Some backends repeat the arguments after their last piece.
  if (call.scan.closed && piece === call.arguments) return ''
  const end = call.kind === 'function' ? scanArguments(call.scan, piece) : piece.length
  if (end < piece.length) state.runawayWhitespace = true
  const usable = piece.slice(0, end)
  call.arguments += usable
  return usable
}

function openCall(state: ToolCalls, call: ToolCall, entry: ToolEntry): WireToolCall {
  const { kind, name, waiting } = call
  const index = state.opened
  const id = freeId(state, call, index)
  state.opened += 1
  call.index = index
  call.waiting = undefined
  const isSame = entry.kind === kind && isWritten(entry, { index, id, type: kind }, name, call.arguments)
  if (waiting === undefined && isSame) return entry.wire
  const { function: _function, custom: _custom, ...extras } = { ...waiting, ...entry.wire }
  return { ...extras, index, id, type: kind, [kind]: { ...entry.body, name, [pieceKey(kind)]: call.arguments } }
}

/** Upstream's id; a new id if upstream sent none or another call has it. */
function freeId(state: ToolCalls, call: ToolCall, index: number): string {
  const { upstreamId } = call
  const isTaken = state.seen.some(
    (other) => other.index !== undefined && other !== call && other.upstreamId === upstreamId,
  )
  if (upstreamId !== undefined && !isTaken) return upstreamId
  // Only characters that every backend accepts in ids.
  return `call_${state.seedId.replaceAll(/[^A-Za-z0-9]/g, '').slice(-32)}_${index}`
}

function continueCall({ kind, index }: ToolCall, entry: ToolEntry, piece: string): WireToolCall | undefined {
  const { wire, body } = entry
  const key = pieceKey(kind)
  if (entry.kind === kind && isWritten(entry, { index, id: undefined, type: undefined }, undefined, piece)) return wire
  const { index: _index, id: _id, type: _type, function: _function, custom: _custom, ...extras } = wire
  const { name: _name, [key]: _piece, ...bodyExtras } = body
  const isEmpty = piece === '' && Object.keys(extras).length === 0 && Object.keys(bodyExtras).length === 0
  return isEmpty ? undefined : { ...extras, index, [kind]: { ...bodyExtras, [key]: piece } }
}

/** Whether the entry already has the form that callers need. */
function isWritten(
  { wire, body, kind }: ToolEntry,
  { index, id, type }: WireToolCall,
  name: string | undefined,
  piece: string,
): boolean {
  const other = kind === 'function' ? wire.custom : wire.function
  return (
    wire.index === index &&
    wire.id === id &&
    wire.type === type &&
    wire[kind] === body &&
    other === undefined &&
    body.name === name &&
    body[pieceKey(kind)] === piece
  )
}

function readEntry(wire: WireToolCall, choice: number): ToolEntry {
  const kind = isObject(wire.custom) ? 'custom' : 'function'
  const value = wire[kind]
  const body: WireFunction = objectOf(value)
  return {
    wire,
    kind,
    body,
    choice,
    index: typeof wire.index === 'number' ? wire.index : undefined,
    id: isFilled(wire.id) ? wire.id : undefined,
    name: isFilled(body.name) ? body.name : '',
    piece: toText(body[pieceKey(kind)]),
  }
}

function startCall({ kind, choice }: ToolEntry, seen: readonly ToolCall[]): ToolCall {
  return {
    kind,
    choice,
    position: seen.filter((call) => call.choice === choice).length,
    upstreamIndex: undefined,
    upstreamId: undefined,
    name: '',
    index: undefined,
    arguments: '',
    waiting: undefined,
    scan: startArgumentScan(),
  }
}

/** The call an entry belongs to; undefined if it starts a new one. */
function findCall(seen: readonly ToolCall[], entry: ToolEntry): ToolCall | undefined {
  const { id, index } = entry
  if (id !== undefined) {
    const known = seen.findLast((call) => call.upstreamId === id)
    if (known !== undefined) return isReused(known, entry) ? undefined : known
    // An unknown id starts a call, unless a call still waits for its id.
    const waiting = index === undefined ? seen.at(-1) : lastAt(seen, entry)
    return waiting?.upstreamId === undefined && !announcesAnother(waiting, entry) ? waiting : undefined
  }
  const at = index === undefined ? undefined : lastAt(seen, entry)
  if (at !== undefined) return announcesAnother(at, entry) ? undefined : at
  const last = seen.at(-1)
  if (index === undefined) return announcesAnother(last, entry) ? undefined : last
  // A new index with neither id nor name is upstream's mistake if a call is open. Otherwise it starts a call whose name
  // comes late.
  return entry.name === '' && last?.scan.closed === false ? last : undefined
}

function lastAt(seen: readonly ToolCall[], { choice, index }: ToolEntry): ToolCall | undefined {
  return (
    seen.findLast((call) => call.upstreamIndex === index && call.choice === choice) ??
    seen.find((call) => call.upstreamIndex === undefined && call.position === index && call.choice === choice)
  )
}

/** Whether one id is used for two calls: some upstreams number ids per delta. Then both index and content differ. */
function isReused(known: ToolCall, entry: ToolEntry): boolean {
  const elsewhere =
    entry.index !== undefined && known.upstreamIndex !== undefined && entry.index !== known.upstreamIndex
  return elsewhere && announcesAnother(known, entry)
}

/** A name may be repeated on every delta. Another name, or arguments after a closed object, start another call. */
function announcesAnother(call: ToolCall | undefined, entry: ToolEntry): boolean {
  const { name, piece } = entry
  if (call === undefined || name === '' || call.name === '' || continuesName(call, entry)) return false
  return name !== call.name || (call.scan.closed && piece.trim() !== '')
}

/**
 * Whether more of the name may follow: the entry has no arguments yet, or the name ends in a separator. Such a call
 * waits, because an emitted name cannot be extended.
 */
function mayNameContinue(call: ToolCall, { body, kind }: ToolEntry): boolean {
  const value = body[pieceKey(kind)]
  return call.arguments === '' && (value === undefined || value === null || /[_.-]$/.test(call.name))
}

/** Whether an entry contains the next piece of a name: it has the same index and no other id. */
function continuesName(call: ToolCall, { id, index, choice, name }: ToolEntry): boolean {
  const isWaiting = call.index === undefined && call.name !== '' && call.arguments === ''
  const isSame = index !== undefined && index === (call.upstreamIndex ?? call.position) && choice === call.choice
  return isWaiting && isSame && (id === undefined || id === call.upstreamId) && name !== '' && name !== call.name
}

function pieceKey(kind: ToolKind): 'arguments' | 'input' {
  return kind === 'function' ? 'arguments' : 'input'
}

/** Some backends send an object in place of its JSON text. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : stringify(value)
}
