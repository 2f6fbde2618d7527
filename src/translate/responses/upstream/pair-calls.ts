import type { JsonObject } from '../../../json/json.ts'
import { MISSING_RESULT } from '../../fit/pair-calls.ts'
import type { Warning } from '../../warning.ts'
import { itemTypeOf, shortCallId } from '../items.ts'

/** The type of a call's output, by the type of the call or of the output. */
const outputTypes: ReadonlyMap<string, string> = new Map(
  ['function_call', 'custom_tool_call'].flatMap((type) => {
    const output = `${type}_output`
    return [[type, output] as const, [output, output] as const]
  }),
)

interface Call {
  /** Position in the items. */
  readonly at: number
  readonly id: string
}

/** The calls of one kind and id, and their outputs. */
interface SameIdCalls {
  readonly outputType: string
  readonly id: string
  calls: number
  /** The run of parallel calls that contains the latest call. */
  run: number
  latest: Call[]
  /** Index of the first call of the run without an output. */
  next: number
  /** Calls of earlier runs without an output. */
  readonly older: Call[]
  /** Outputs that came before their call. */
  readonly early: JsonObject[]
}

/**
 * Pairs calls and outputs, as upstream requires (`No tool output found for function call`). It adds a missing output,
 * moves an early output to the place after its call, and drops an output without a call. Some models make parallel
 * calls with one id, which upstream could not distinguish. Such calls and their outputs get new ids, in order. A call
 * of a later run may reuse an id, and its output follows it. Returns the same array if nothing changes.
 */
export function pairItems(items: readonly JsonObject[], warnings: Warning[]): readonly JsonObject[] {
  const groups = new Map<string, SameIdCalls>()
  /** The output to insert after a call, by the position of the call. */
  const following = new Map<number, JsonObject>()
  let run = 0
  let changed = false

  const takeCall = (item: JsonObject, group: SameIdCalls, at: number): JsonObject => {
    group.calls += 1
    const isParallel = group.run === run
    const id = isParallel ? shortCallId(`${group.id}__${group.calls}`) : group.id
    if (!isParallel) {
      for (const call of group.latest.slice(group.next)) group.older.push(call)
      Object.assign(group, { run, latest: [], next: 0 })
    }
    const output = group.early.pop()
    if (output === undefined) group.latest.push({ at, id })
    else {
      following.set(at, { ...output, call_id: id })
      warnings.push({ code: 'tool_result_moved', field: id })
    }
    return isParallel ? { ...item, call_id: id } : item
  }

  const takeOutput = (item: JsonObject, group: SameIdCalls): JsonObject | undefined => {
    run += 1
    // A cursor, because `shift` would move all other elements.
    const call = group.latest[group.next] ?? group.older.pop()
    group.next += 1
    if (call === undefined) group.early.push(item)
    else return call.id === group.id ? item : { ...item, call_id: call.id }
    return undefined
  }

  const kept = items.map((item, at) => {
    const type = itemTypeOf(item) ?? ''
    const outputType = outputTypes.get(type)
    const { call_id: id } = item
    if (outputType === undefined || typeof id !== 'string') {
      if (type !== 'reasoning') run += 1
      return item
    }
    const key = `${outputType} ${id}`
    const group = groups.get(key) ?? { outputType, id, calls: 0, run: -1, latest: [], next: 0, older: [], early: [] }
    groups.set(key, group)
    const taken = type === outputType ? takeOutput(item, group) : takeCall(item, group, at)
    changed ||= taken !== item
    return taken
  })

  for (const { outputType, latest, next, older } of groups.values()) {
    for (const { at, id } of [...older, ...latest.slice(next)]) {
      // The text of every failed result in this dialect.
      following.set(at, { type: outputType, call_id: id, output: `Error: ${MISSING_RESULT}` })
      warnings.push({ code: 'tool_result_synthesised', field: id })
    }
  }
  for (const { id, early } of groups.values()) {
    for (let left = early.length; left > 0; left -= 1) warnings.push({ code: 'tool_result_orphan_dropped', field: id })
  }
  if (!changed && following.size === 0) return items
  return kept.flatMap((item, at) => [item, following.get(at)].filter((each) => each !== undefined))
}
