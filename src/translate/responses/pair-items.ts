import type { JsonObject } from '../parts/is-object.ts'
import { MISSING_RESULT } from '../prepare/pair-calls.ts'
import type { Warning } from '../warning.ts'
import { itemTypeOf } from './item-types.ts'

/** Calls that callers answer, and what the answer is called. */
const outputTypes: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
])
const answers: ReadonlySet<string> = new Set(outputTypes.values())

/**
 * Gives each call an output and each output a call, as upstream demands (`No tool output found for function call`): what
 * is missing is made up, what comes too early moves behind its call, what belongs to no call is left out. The very
 * array where all is well.
 */
export function pairItems(items: readonly JsonObject[], warnings: Warning[]): readonly JsonObject[] {
  /** By type and id of the output, the places of calls that wait for it. Which of several gets it does not matter. */
  const waiting = new Map<string, number[]>()
  const early = new Map<string, JsonObject[]>()
  const leftOut = new Set<number>()
  /** By the place of a call, the output to put behind it. */
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
      // Worded as a result that failed is worded everywhere in this dialect.
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

/** Types have no spaces, ids may. */
function splitOnce(key: string): readonly [string, string] {
  const at = key.indexOf(' ')
  return [key.slice(0, at), key.slice(at + 1)]
}
