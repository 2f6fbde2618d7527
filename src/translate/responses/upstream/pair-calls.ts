import type { JsonObject } from '../../parts/json.ts'
import { MISSING_RESULT } from '../../fit/pair-calls.ts'
import type { Warning } from '../../warning.ts'
import { itemTypeOf, shortCallId } from '../items.ts'

/** The type of a call's output, by the type of the call. */
const outputTypes: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
])
const answers: ReadonlySet<string> = new Set(outputTypes.values())

/**
 * Pairs calls and outputs, as upstream demands (`No tool output found for function call`): a missing output is made up,
 * one that comes too early moves behind its call, one without a call is dropped. The same array if nothing changes.
 */
export function pairItems(items: readonly JsonObject[], warnings: Warning[]): readonly JsonObject[] {
  /** Indices of the calls that wait for an output, by its type and id. Which of several gets it does not matter. */
  const waiting = new Map<string, number[]>()
  const early = new Map<string, JsonObject[]>()
  const leftOut = new Set<number>()
  /** The output to put behind a call, by the index of the call. */
  const behind = new Map<number, JsonObject>()

  for (const [at, item] of items.entries()) {
    const type = itemTypeOf(item) ?? ''
    const callId = item['call_id']
    if (typeof callId !== 'string') continue
    const outputType = outputTypes.get(type)
    if (outputType !== undefined) {
      const key = `${outputType} ${callId}`
      const output = early.get(key)?.pop()
      if (output === undefined) {
        add(waiting, key, at)
        continue
      }
      behind.set(at, output)
      warnings.push({ code: 'tool_result_moved', field: callId })
    } else if (answers.has(type)) {
      const key = `${type} ${callId}`
      if (waiting.get(key)?.pop() !== undefined) continue
      add(early, key, item)
      leftOut.add(at)
    }
  }

  for (const [key, places] of waiting) {
    const [type, callId] = splitOnce(key)
    for (const at of places) {
      // The wording of every failed result in this dialect.
      behind.set(at, { type, call_id: callId, output: `Error: ${MISSING_RESULT}` })
      warnings.push({ code: 'tool_result_synthesised', field: callId })
    }
  }
  for (const [key, outputs] of early) {
    const [, callId] = splitOnce(key)
    for (let left = outputs.length; left > 0; left -= 1) {
      warnings.push({ code: 'tool_result_orphan_dropped', field: callId })
    }
  }
  if (behind.size === 0 && leftOut.size === 0) return items
  return items.flatMap((item, at) => {
    if (leftOut.has(at)) return []
    const output = behind.get(at)
    return output === undefined ? [item] : [item, output]
  })
}

function add<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** Ids may have spaces, types have none. */
function splitOnce(key: string): readonly [string, string] {
  const at = key.indexOf(' ')
  return [key.slice(0, at), key.slice(at + 1)]
}

/** Item types by kind of call. A call id is unique among calls of one kind. */
const families: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function'],
  ['function_call_output', 'function'],
  ['custom_tool_call', 'custom'],
  ['custom_tool_call_output', 'custom'],
])

interface Open {
  /** The run of parallel calls. A call of a later run may reuse the id: its output follows it. */
  readonly run: number
  /** Ids of the calls, in order. */
  readonly ids: string[]
  /** Index of the first id without an output. */
  next: number
}

/**
 * Some models make parallel calls under one id, which upstream could not tell apart. Such calls get ids of their own, and
 * so do their outputs, in order. The same array if there are none.
 */
export function distinctCalls(items: readonly JsonObject[]): readonly JsonObject[] {
  const waiting = new Map<string, Open>()
  const uses = new Map<string, number>()
  let run = 0
  let changed = false
  const rename = (item: JsonObject, id: string): JsonObject => {
    changed = true
    return { ...item, call_id: id }
  }
  const named = items.map((item) => {
    const type = itemTypeOf(item) ?? ''
    const family = families.get(type)
    const { call_id: id } = item
    if (family === undefined || typeof id !== 'string') {
      if (type !== 'reasoning') run += 1
      return item
    }
    const key = `${family} ${id}`
    const open = waiting.get(key)
    const isOpen = open !== undefined && open.next < open.ids.length
    if (!type.endsWith('_output')) {
      const use = (uses.get(key) ?? 0) + 1
      uses.set(key, use)
      if (!isOpen || open.run !== run) {
        waiting.set(key, { run, ids: [id], next: 0 })
        return item
      }
      const distinctId = shortCallId(`${id}__${use}`)
      open.ids.push(distinctId)
      return rename(item, distinctId)
    }
    run += 1
    if (!isOpen) return item
    const distinctId = open.ids[open.next] ?? id
    open.next += 1
    return distinctId === id ? item : rename(item, distinctId)
  })
  return changed ? named : items
}
