import type { ToolCallItem, ToolResultItem, TurnItem } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { shortName } from '../parts/ids.ts'

export const MISSING_RESULT = 'No result was provided for this tool call.'

/**
 * Repairs a history for upstreams, all of which refuse a call without a result, a result without a call, and items
 * between a call and its result. Messages also refuses duplicate ids. Makes each call's id unique and legal, moves
 * results directly after the calls they answer, synthesises missing results and drops results without a call.
 */
export function pairCalls(items: readonly TurnItem[], maxIdLength: number) {
  if (!items.some(({ type }) => type === 'tool_call' || type === 'tool_result')) return { items, warnings: [] }
  const warnings: Warning[] = []
  const ids = nameCalls(items, maxIdLength)
  const results = matchResults(items, ids, warnings)
  return { items: arrange(items, ids, results, warnings), warnings }
}

/** The id of each call, unique in the request. */
type CallIds = ReadonlyMap<ToolCallItem, string>

/** Items of one assistant turn; the results of its calls follow after all of them. */
function isOfAssistant(item: TurnItem): boolean {
  if (item.type === 'message') return item.role === 'assistant'
  return item.type !== 'tool_result' && item.type !== 'compaction'
}

function nameCalls(items: readonly TurnItem[], maxIdLength: number): CallIds {
  const ids = new Map<ToolCallItem, string>()
  const uses = new Map<string, number>()
  const taken = new Set<string>()
  for (const item of items) {
    if (item.type !== 'tool_call') continue
    const base = shortName(item.id === '' ? 'call' : item.id, maxIdLength)
    let use = (uses.get(base) ?? 0) + 1
    let id = use === 1 ? base : numbered(base, use, maxIdLength)
    while (taken.has(id)) {
      use += 1
      id = numbered(base, use, maxIdLength)
    }
    uses.set(base, use)
    taken.add(id)
    ids.set(item, id)
  }
  return ids
}

function numbered(base: string, use: number, maxIdLength: number): string {
  const suffix = `__${use}`
  return base.slice(0, maxIdLength - suffix.length) + suffix
}

interface Match {
  readonly result: ToolResultItem
  /** Index among the items. */
  readonly at: number
}

/** Calls of one turn that the caller gave the same id. */
interface SameIdCalls {
  readonly turn: number
  /** Their unique ids, in order. */
  readonly ids: string[]
  /** Index of the first id without a result. */
  next: number
}

/**
 * Results by the unique id of their call. A result answers the first open call in the last turn that used its id; a call
 * of an earlier, interrupted turn stays without a result.
 */
function matchResults(items: readonly TurnItem[], callIds: CallIds, warnings: Warning[]): ReadonlyMap<string, Match> {
  const open = new Map<string, SameIdCalls>()
  const matches = new Map<string, Match>()
  let turn = 0
  for (const [at, item] of items.entries()) {
    if (!isOfAssistant(item)) turn += 1
    if (item.type === 'tool_call') {
      const id = callIds.get(item) ?? item.id
      const waiting = open.get(item.id)
      if (waiting?.turn === turn) waiting.ids.push(id)
      else open.set(item.id, { turn, ids: [id], next: 0 })
    } else if (item.type === 'tool_result') {
      const waiting = open.get(item.callId)
      const id = waiting?.ids[waiting.next]
      if (waiting === undefined || id === undefined) {
        warnings.push({ code: 'tool_result_orphan_dropped', field: item.callId })
        continue
      }
      // A cursor, because `shift` moves all other elements.
      waiting.next += 1
      matches.set(id, { result: item, at })
    }
  }
  return matches
}

function arrange(
  items: readonly TurnItem[],
  callIds: CallIds,
  results: ReadonlyMap<string, Match>,
  warnings: Warning[],
): readonly TurnItem[] {
  const out: TurnItem[] = []
  let waiting: { readonly id: string; readonly original: string }[] = []
  for (const [at, item] of items.entries()) {
    if (waiting.length > 0 && !isOfAssistant(item)) answerCalls(at)
    // `answerCalls` has placed the result after its call.
    if (item.type === 'tool_result') continue
    if (item.type !== 'tool_call') {
      out.push(item)
      continue
    }
    const id = callIds.get(item) ?? item.id
    waiting.push({ id, original: item.id })
    out.push(id === item.id ? item : { ...item, id })
  }
  if (waiting.length > 0) answerCalls(items.length)
  return out

  /** @param from index at which the results should begin */
  function answerCalls(from: number): void {
    const matches = waiting.flatMap(({ id }) => {
      const match = results.get(id)
      return match === undefined ? [] : [{ id, ...match }]
    })
    matches.sort((a, b) => a.at - b.at)
    let expectedAt = from
    for (const { id, result, at } of matches) {
      while (expectedAt < at && items[expectedAt]?.type === 'tool_result') expectedAt += 1
      if (at > expectedAt) warnings.push({ code: 'tool_result_moved', field: result.callId })
      out.push(result.callId === id ? result : { ...result, callId: id })
    }
    for (const { id, original } of waiting) {
      if (results.has(id)) continue
      warnings.push({ code: 'tool_result_synthesised', field: original })
      out.push({ type: 'tool_result', callId: id, content: MISSING_RESULT, isError: true, path: '' })
    }
    waiting = []
  }
}
