import { startArgumentScan } from '../../parts/argument-scan.ts'
import type { ArgumentScan } from '../../parts/argument-scan.ts'
import { isFilled, isObject, stringify } from '../../parts/wire-json.ts'
import type { WireFunction, WireToolCall } from '../wire-chunk.ts'

/** Functions take JSON, custom tools take any text. */
export type ToolKind = 'function' | 'custom'

/** One call of the reply, as far as it has come. */
export interface ToolCall {
  readonly kind: ToolKind
  /** The choice and the index it came with; upstream counts from 0 in every choice. */
  readonly choice: number
  /** Which call of its choice it is: the index it has where upstream leaves that out of the first entry. */
  readonly position: number
  upstreamIndex: number | undefined
  upstreamId: string | undefined
  name: string
  /** The caller's index, once the call was opened for it. */
  index: number | undefined
  /** Everything received so far: a late name opens the call with it. */
  arguments: string
  /** What came before the call could be opened for the caller: keys before the name, or a name that may go on. */
  waiting: WireToolCall | undefined
  readonly scan: ArgumentScan
}

/** What one entry of `delta.tool_calls` says. */
export interface ToolEntry {
  readonly wire: WireToolCall
  readonly kind: ToolKind
  readonly body: WireFunction
  readonly choice: number
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string
  readonly piece: string
}

export function readEntry(wire: WireToolCall, choice: number): ToolEntry {
  const kind = isObject(wire.custom) ? 'custom' : 'function'
  const value = wire[kind]
  const body: WireFunction = isObject(value) ? value : {}
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

/** A call that nothing is known of yet but its first entry. */
export function startCall({ kind, choice }: ToolEntry, seen: readonly ToolCall[]): ToolCall {
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

/** The call an entry belongs to; undefined when it is a new one. */
export function findCall(seen: readonly ToolCall[], entry: ToolEntry): ToolCall | undefined {
  const { id, index } = entry
  if (id !== undefined) {
    const known = seen.findLast((call) => call.upstreamId === id)
    if (known !== undefined) return isReused(known, entry) ? undefined : known
    // Not seen before: a new call, unless one is still waiting for its id.
    const waiting = index === undefined ? seen.at(-1) : lastAt(seen, entry)
    return waiting?.upstreamId === undefined && !announcesAnother(waiting, entry) ? waiting : undefined
  }
  const at = index === undefined ? undefined : lastAt(seen, entry)
  if (at !== undefined) return announcesAnother(at, entry) ? undefined : at
  const last = seen.at(-1)
  if (index === undefined) return announcesAnother(last, entry) ? undefined : last
  // An index never seen, without id and name: a slip of upstream's while a call is under way, else a call named later.
  return entry.name === '' && last?.scan.closed === false ? last : undefined
}

function lastAt(seen: readonly ToolCall[], { choice, index }: ToolEntry): ToolCall | undefined {
  return (
    seen.findLast((call) => call.upstreamIndex === index && call.choice === choice) ??
    seen.find((call) => call.upstreamIndex === undefined && call.position === index && call.choice === choice)
  )
}

/** One id for two calls: some upstreams number ids per delta. Only another index and another call's content tell. */
function isReused(known: ToolCall, entry: ToolEntry): boolean {
  const elsewhere =
    entry.index !== undefined && known.upstreamIndex !== undefined && entry.index !== known.upstreamIndex
  return elsewhere && announcesAnother(known, entry)
}

/** A name may be repeated on every delta of a call. Another name, or new arguments after a closed object, is another call. */
function announcesAnother(call: ToolCall | undefined, entry: ToolEntry): boolean {
  const { name, piece } = entry
  if (call === undefined || name === '' || call.name === '' || continuesName(call, entry)) return false
  return name !== call.name || (call.scan.closed && piece.trim() !== '')
}

/**
 * Whether more of the name may follow: the call says nothing of arguments yet, or what it says is no end of a name. Such
 * a call waits, because a name that was sent cannot be added to. Other calls do not: a caller reads them at once.
 */
export function mayNameGoOn(call: ToolCall, { body, kind }: ToolEntry): boolean {
  const value = body[pieceKey(kind)]
  return call.arguments === '' && (value === undefined || value === null || /[_.-]$/.test(call.name))
}

/** The next piece of a name that waits: at the same index, without an id of its own. */
export function continuesName(call: ToolCall, { id, index, choice, name }: ToolEntry): boolean {
  const isWaiting = call.index === undefined && call.name !== '' && call.arguments === ''
  const isSame = index !== undefined && index === (call.upstreamIndex ?? call.position) && choice === call.choice
  return isWaiting && isSame && (id === undefined || id === call.upstreamId) && name !== '' && name !== call.name
}

/** Where a call's body keeps what is passed to the tool. */
export function pieceKey(kind: ToolKind): 'arguments' | 'input' {
  return kind === 'function' ? 'arguments' : 'input'
}

/** Arguments are a string of JSON; a backend that sends the object itself means the same. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : stringify(value)
}
