import type { JsonObject } from '../../../json/json.ts'
import { type CallHistory, isInOrder, MISSING_RESULT, pairResults } from '../../engine/tool-codec/pair-results.ts'
import type { Warning } from '../../warning.ts'
import { itemTypeOf, shortCallId } from '../items/item.ts'

/** The type of a call's output, by the type of the call. */
const outputTypes: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
])
const outputs: ReadonlySet<string> = new Set(outputTypes.values())

const none: readonly string[] = []

/**
 * Pairs calls and outputs, as upstream requires (`No tool output found for function call`). It adds a missing output,
 * moves an early output to the place after its call, and drops an output without a call. Some models make parallel
 * calls with one id, which upstream could not distinguish: such calls and their outputs get new ids. Returns the same array if
 * nothing changes.
 */
export function pairItems(items: readonly JsonObject[], warnings: Warning[]): readonly JsonObject[] {
  const types = items.map((item) => itemTypeOf(item) ?? '')
  // Codex CLI answers these calls with outputs of functions.
  const shellCalls = new Set(items.flatMap((item, at) => (types[at] === 'local_shell_call' ? [item['call_id']] : [])))
  const isCall = (at: number): boolean => outputTypes.has(types[at] ?? '') && typeof items[at]?.['call_id'] === 'string'
  // Outputs of functions do not answer freeform calls.
  const keyOf = (at: number, type: string | undefined): readonly string[] => {
    const id = items[at]?.['call_id']
    return type === undefined || typeof id !== 'string' ? none : [`${type} ${id}`]
  }
  const history: CallHistory = {
    length: items.length,
    calls: (at) => keyOf(at, outputTypes.get(types[at] ?? '')),
    results: (at) =>
      keyOf(at, outputs.has(types[at] ?? '') && !shellCalls.has(items[at]?.['call_id']) ? types[at] : undefined),
    continues: (at) => isCall(at) || types[at] === 'reasoning',
  }
  const pairs = isInOrder(history) ? undefined : pairResults(history)
  if (pairs === undefined) return items
  const paired = items.flatMap((item, at): readonly JsonObject[] => {
    const [call] = pairs.calls.get(at) ?? []
    if (call !== undefined) {
      const id = idOf(item['call_id'], call.sameId)
      const named = renamed(item, call.sameId)
      if (call.result === undefined) {
        warnings.push({ code: 'tool_result_synthesised', field: String(id) })
        // The text of every failed result in this dialect.
        return [named, { type: outputTypes.get(types[at] ?? ''), call_id: id, output: `Error: ${MISSING_RESULT}` }]
      }
      const output = items[call.result.at]
      if (call.result.at > at || output === undefined) return [named]
      warnings.push({ code: 'tool_result_moved', field: String(id) })
      return [named, renamed(output, call.sameId)]
    }
    const [result] = pairs.results.get(at) ?? []
    if (result === undefined) return [item]
    if (result.call === undefined) {
      warnings.push({ code: 'tool_result_orphan_dropped', field: String(item['call_id']) })
      return []
    }
    return result.call.at > at ? [] : [renamed(item, result.call.sameId)]
  })
  return paired.length === items.length && paired.every((item, at) => item === items[at]) ? items : paired
}

function idOf(id: unknown, sameId: number): unknown {
  return sameId === 0 ? id : shortCallId(`${String(id)}__${sameId + 1}`)
}

function renamed(item: JsonObject, sameId: number): JsonObject {
  return sameId === 0 ? item : { ...item, call_id: idOf(item['call_id'], sameId) }
}
