/** The text of a result that the caller left out. Upstreams refuse a call without a result. */
export const MISSING_RESULT = 'No result was provided for this tool call.'

/** The calls and results of a history, by the position of the entry that holds them. */
export interface CallHistory {
  readonly length: number
  /** The ids of the calls of an entry. */
  readonly calls: (at: number) => readonly string[]
  /** The ids of the calls that the results of an entry answer. */
  readonly results: (at: number) => readonly string[]
  /** Whether the entry belongs to the same turn as the one before it. */
  readonly continues: (at: number) => boolean
}

/** A result, by the position of its entry, and its place among the results of the entry. */
export interface PairedResult {
  readonly at: number
  readonly nth: number
  readonly id: string
  /** Undefined for a result without a call. */
  call: PairedCall | undefined
}

export interface PairedCall {
  readonly at: number
  readonly nth: number
  readonly id: string
  /** Its place among the calls of its turn that share its id, from 0. */
  readonly sameId: number
  /** Undefined for a call without a result. */
  result: PairedResult | undefined
}

export interface Pairs {
  /** By the position of the entry, in order. */
  readonly calls: ReadonlyMap<number, readonly PairedCall[]>
  readonly results: ReadonlyMap<number, readonly PairedResult[]>
}

interface SameId {
  /** The calls of each turn. */
  readonly turns: PairedCall[][]
  /** The last turn with such a call. */
  turn: number
  /** The first call of that turn without a result. */
  next: number
  /** Calls of earlier turns without a result. */
  readonly older: PairedCall[]
  /** Results without an earlier call. */
  readonly early: PairedResult[]
}

/**
 * Finds the result of each call, wherever it stands. A result answers the first open call of the last turn before it that used
 * its id, else the latest open call of an earlier turn, else a later call. Calls of one turn that share an id have their results
 * in the same order. Undefined if the history has neither calls nor results.
 */
export function pairResults({ length, calls, results, continues }: CallHistory): Pairs | undefined {
  const pairs = { calls: new Map<number, PairedCall[]>(), results: new Map<number, PairedResult[]>() }
  const groups = new Map<string, SameId>()
  const groupOf = (id: string): SameId => {
    const known = groups.get(id) ?? { turns: [], turn: -1, next: 0, older: [], early: [] }
    groups.set(id, known)
    return known
  }
  let turn = 0
  for (let at = 0; at < length; at += 1) {
    if (!continues(at)) turn += 1
    const callIds = calls(at)
    const resultIds = results(at)
    if (callIds.length > 0)
      pairs.calls.set(
        at,
        callIds.map((id, nth) => addCall(groupOf(id), id, at, nth, turn)),
      )
    if (resultIds.length > 0)
      pairs.results.set(
        at,
        resultIds.map((id, nth) => addResult(groupOf(id), id, at, nth)),
      )
  }
  if (groups.size === 0) return undefined
  for (const group of groups.values()) settle(group)
  return pairs
}

/** Whether the results of each turn follow its calls directly. Most histories are so, and telling it takes less than pairing. */
export function isInOrder({ length, calls, results, continues }: CallHistory): boolean {
  const open = new Set<string>()
  for (let at = 0; at < length; at += 1) {
    const answered = results(at)
    for (const id of answered) if (!open.delete(id)) return false
    if (answered.length > 0) continue
    if (open.size > 0 && !continues(at)) return false
    for (const id of calls(at)) {
      if (open.has(id)) return false
      open.add(id)
    }
  }
  return open.size === 0
}

function addCall(group: SameId, id: string, at: number, nth: number, turn: number): PairedCall {
  if (group.turn !== turn) {
    for (const call of openCalls(group)) group.older.push(call)
    group.turns.push([])
    Object.assign(group, { turn, next: 0 })
  }
  const latest = group.turns.at(-1) ?? []
  const call: PairedCall = { at, nth, id, sameId: latest.length, result: undefined }
  latest.push(call)
  return call
}

function addResult(group: SameId, id: string, at: number, nth: number): PairedResult {
  // A cursor, because `shift` would move all other elements.
  const latest = group.turns.at(-1)?.[group.next]
  if (latest !== undefined) group.next += 1
  const call = latest ?? group.older.pop()
  const result: PairedResult = { at, nth, id, call }
  if (call === undefined) group.early.push(result)
  else call.result = result
  return result
}

function openCalls({ turns, next }: SameId): readonly PairedCall[] {
  return turns.at(-1)?.slice(next) ?? []
}

/** Gives open calls the results before them, and calls of one turn their results in order. */
function settle(group: SameId): void {
  const open = [...group.older, ...openCalls(group)]
  for (const call of open.toReversed()) {
    while (group.early.length > 0 && (group.early.at(-1)?.at ?? 0) > call.at) group.early.pop()
    link(call, group.early.pop())
  }
  for (const calls of group.turns) {
    if (calls.length < 2) continue
    const answered = calls.flatMap(({ result }) => result ?? []).toSorted(inOrder)
    if (answered.length > 0) for (const [at, call] of calls.entries()) link(call, answered[at])
  }
}

function link(call: PairedCall, result: PairedResult | undefined): void {
  call.result = result
  if (result !== undefined) result.call = call
}

export function inOrder(one: PairedResult, other: PairedResult): number {
  return one.at - other.at || one.nth - other.nth
}
