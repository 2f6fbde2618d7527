import type { Provider } from '../model-traits.ts'
import { mintId } from '../parts/mint-id.ts'
import { MINTED } from './known-ids.ts'

/** Of item ids made up here. The request side strips what begins like this: upstream would not know it. */
const prefixes: ReadonlyMap<string, string> = new Map([
  ['message', 'msg_cpx'],
  ['reasoning', 'rs_cpx'],
  ['function_call', 'fc_cpx'],
  ['custom_tool_call', 'ctc_cpx'],
  ['web_search_call', 'ws_cpx'],
  ['compaction', 'cmp_cpx'],
])

/** Characters; longer ones are refused on the way back (docs/copilot-wire.md, "Responses requests"). */
const longestId = 64

/** @param index the item's position in the output */
export function mintItemId(type: string, seedId: string, index: number): string {
  return mintId(prefixes.get(type) ?? 'item_cpx', seedId, index)
}

/**
 * Whose upstream made a ciphertext that is in no envelope, by the id of its item: Copilot's alone stays without one, and
 * gets an id of ours where its own cannot be kept. Undefined for any other id.
 */
export function makerOfId(id: unknown): Provider | undefined {
  return typeof id === 'string' && MINTED.test(id) ? 'copilot' : undefined
}

export function mintResponseId(seedId: string): string {
  return mintId('resp', seedId, 0)
}

const control = /\p{Cc}/u

/**
 * An id that callers can keep and send back. None with control characters: a delta that has one unescaped is no JSON, yet
 * matches its template (`Hole.kind`, mark) and would be passed on as it came.
 */
export function isUsableId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= longestId && !control.test(id)
}
