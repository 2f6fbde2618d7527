import type { JsonObject } from '../parts/is-object.ts'
import { itemTypeOf } from './item-types.ts'
import { shortCallId } from './known-ids.ts'

/** Calls that callers answer, by the type of the answer. */
const families: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function'],
  ['function_call_output', 'function'],
  ['custom_tool_call', 'custom'],
  ['custom_tool_call_output', 'custom'],
])

interface Open {
  /** The run of calls it is from. A call in a later one uses the id again, and has its output behind it. */
  readonly run: number
  /** Of the calls, in order. */
  readonly ids: string[]
  /** The first that has no output yet. */
  next: number
}

/**
 * Calls that wait for their output under one and the same id, as some models make them in parallel, get ids of their
 * own, and the outputs with them in order: upstream could not tell them apart. The very array where there are none.
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
      const own = shortCallId(`${id}__${use}`)
      open.ids.push(own)
      return rename(item, own)
    }
    run += 1
    if (!isOpen) return item
    const own = open.ids[open.next] ?? id
    open.next += 1
    return own === id ? item : rename(item, own)
  })
  return changed ? named : items
}
