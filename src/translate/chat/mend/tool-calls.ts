import { Fault } from '../../../errors.ts'
import { scanArguments } from '../../parts/argument-scan.ts'
import { continuesName, findCall, mayNameGoOn, pieceKey, readEntry, startCall } from './tool-call.ts'
import type { ToolCall, ToolEntry, ToolKind } from './tool-call.ts'
import { isObject } from '../../parts/wire-json.ts'
import type { WireFunction, WireToolCall } from '../wire-chunk.ts'

/**
 * The tool calls of one reply. Upstream announces a call with a new id, but indexes may be missing, repeated or wrong,
 * names may come late, and ids may be missing (docs/copilot-wire.md, quirk 7). What leaves here is the grammar clients
 * know: index, id, type and name once, then index and arguments.
 */
export interface ToolCalls {
  readonly seen: ToolCall[]
  opened: number
  /** Unique among replies: the ids that upstream leaves out are made of it. */
  readonly seedId: string
  /** A call fell into endless whitespace: what follows is worthless. */
  runaway: boolean
}

/** No answer has room for so many; each is looked for among all that came before. */
const MOST_CALLS = 2000

export function startToolCalls(seedId: string): ToolCalls {
  return { seen: [], opened: 0, seedId, runaway: false }
}

/**
 * Mends the tool calls of one delta. Returns undefined where they are right as they are, so that the original text of
 * the event can be forwarded. `choice` is the index upstream gave the choice.
 */
export function mendToolCalls(
  state: ToolCalls,
  entries: readonly unknown[],
  choice: number,
): WireToolCall[] | undefined {
  const mended: WireToolCall[] = []
  let unchanged = true
  for (const wire of entries) {
    const before = mended.length
    if (isObject(wire)) mendEntry(state, readEntry(wire, choice), mended)
    if (mended.length !== before + 1 || mended[before] !== wire) unchanged = false
    if (state.runaway) return mended
  }
  return unchanged ? undefined : mended
}

/**
 * Entries that complete the calls once upstream has finished: names that waited, and `{}` where no arguments came.
 * @param cut the answer hit a limit, so its last call may be a fragment
 * @throws Fault `upstream_unusable` when a call never got a name
 */
export function closeToolCalls(state: ToolCalls, cut: boolean): WireToolCall[] {
  const entries: WireToolCall[] = []
  openWaiting(state, entries)
  if (cut) return entries
  for (const { index, kind, arguments: received } of state.seen) {
    const empty = received.trim() === ''
    if (index === undefined && !empty) {
      throw new Fault({ kind: 'upstream_unusable', detail: 'it called a tool without naming it' })
    }
    if (index !== undefined && empty && kind === 'function') entries.push({ index, function: { arguments: '{}' } })
  }
  return entries
}

/** Whether every call so far could be run as it stands. */
export function areToolCallsComplete(state: ToolCalls): boolean {
  return state.seen.every(isComplete)
}

/** Whitespace alone is no arguments, as on the last event: a call that got no further takes none. */
export function isComplete(call: ToolCall): boolean {
  return call.kind === 'custom' || call.arguments.trim() === '' || isJson(call.arguments)
}

export function hasCalls(state: ToolCalls, choice: number): boolean {
  return state.seen.some((call) => call.choice === choice)
}

function mendEntry(state: ToolCalls, entry: ToolEntry, out: WireToolCall[]): void {
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
  } else if (call.name === '' || mayNameGoOn(call, entry)) {
    call.waiting = { ...call.waiting, ...entry.wire }
  } else {
    out.push(openCall(state, call, entry))
  }
}

/** Opens the calls whose names might have gone on and did not. */
function openWaiting(state: ToolCalls, out: WireToolCall[]): void {
  for (const call of state.seen) {
    if (call.index === undefined && call.name !== '') {
      out.push(openCall(state, call, readEntry(call.waiting ?? {}, call.choice)))
    }
  }
}

/** Adds the piece to the call, cut where whitespace gets out of hand, and returns what was added. */
function takePiece(state: ToolCalls, call: ToolCall, piece: string): string {
  // Some backends sum up: after the pieces, or after the whole, the whole once more.
  if (call.scan.closed && piece === call.arguments) return ''
  const kept = call.kind === 'function' ? scanArguments(call.scan, piece) : piece.length
  if (kept === piece.length) {
    call.arguments += piece
    return piece
  }
  state.runaway = true
  const worth = piece.slice(0, kept)
  call.arguments += worth
  return worth
}

function openCall(state: ToolCalls, call: ToolCall, { wire, body }: ToolEntry): WireToolCall {
  const { kind, name, waiting } = call
  const key = pieceKey(kind)
  const index = state.opened
  const id = freeId(state, call, index)
  state.opened += 1
  call.index = index
  call.waiting = undefined
  const isRight =
    waiting === undefined &&
    wire.index === index &&
    wire.id === id &&
    wire.type === kind &&
    isOnlyBody(wire, kind, body) &&
    body.name === name &&
    body[key] === call.arguments
  if (isRight) return wire
  const { function: _function, custom: _custom, ...extras } = { ...waiting, ...wire }
  return { ...extras, index, id, type: kind, [kind]: { ...body, name, [key]: call.arguments } }
}

/** Upstream's id, unless it has none or has used it before. */
function freeId(state: ToolCalls, call: ToolCall, index: number): string {
  const { upstreamId } = call
  const isTaken = state.seen.some(
    (other) => other.index !== undefined && other !== call && other.upstreamId === upstreamId,
  )
  if (upstreamId !== undefined && !isTaken) return upstreamId
  // Only characters every backend takes.
  return `call_${state.seedId.replaceAll(/[^A-Za-z0-9]/g, '').slice(-32)}_${index}`
}

function continueCall({ kind, index }: ToolCall, { wire, body }: ToolEntry, piece: string): WireToolCall | undefined {
  const key = pieceKey(kind)
  const isRight =
    wire.index === index &&
    wire.id === undefined &&
    wire.type === undefined &&
    isOnlyBody(wire, kind, body) &&
    body.name === undefined &&
    body[key] === piece
  if (isRight) return wire
  const { index: _index, id: _id, type: _type, function: _function, custom: _custom, ...extras } = wire
  const { name: _name, [key]: _piece, ...bodyExtras } = body
  const isEmpty = piece === '' && Object.keys(extras).length === 0 && Object.keys(bodyExtras).length === 0
  return isEmpty ? undefined : { ...extras, index, [kind]: { ...bodyExtras, [key]: piece } }
}

function isOnlyBody(wire: WireToolCall, kind: ToolKind, body: WireFunction): boolean {
  return kind === 'function'
    ? wire.function === body && wire.custom === undefined
    : wire.custom === body && wire.function === undefined
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
