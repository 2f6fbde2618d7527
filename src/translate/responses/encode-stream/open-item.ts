import { mintItemId } from '../item-ids.ts'
import type { ItemStatus, OutputItem, ResponseEvent } from '../wire-event.ts'
import { takeNumber } from './encode-state.ts'
import type { EncodeState, OpenCall, OpenItem, Place } from './encode-state.ts'

/** Where a new item goes. */
export function takePlace(state: EncodeState, type: OutputItem['type']): Place {
  const index = state.items
  state.items += 1
  return { index, id: mintItemId(type, state.seed.id, index) }
}

/** Sends `output_item.added`. */
export function addItem<Item extends OpenItem>(state: EncodeState, item: Item, out: ResponseEvent[]): Item {
  out.push({
    type: 'response.output_item.added',
    sequence_number: takeNumber(state),
    output_index: item.index,
    item: toOutputItem(item, 'in_progress'),
  })
  return item
}

/** Sends `output_item.done`. */
export function finishItem(state: EncodeState, open: OpenItem, status: ItemStatus, out: ResponseEvent[]): void {
  const item = toOutputItem(open, status)
  state.output[open.index] = item
  out.push({
    type: 'response.output_item.done',
    sequence_number: takeNumber(state),
    output_index: open.index,
    item,
  })
}

/** The item as far as it has come. */
export function toOutputItem(open: OpenItem, status: ItemStatus): OutputItem {
  const { id } = open
  switch (open.type) {
    case 'message':
      return { type: 'message', id, status, role: 'assistant', content: [...open.content] }
    case 'reasoning':
      return {
        type: 'reasoning',
        id,
        summary: open.text === undefined ? [] : [{ type: 'summary_text', text: open.text }],
        ...(open.sealed !== undefined && { encrypted_content: open.sealed }),
        status,
      }
    case 'function_call':
      return { type: 'function_call', ...callOf(open), arguments: open.text, status }
    case 'custom_tool_call':
      return { type: 'custom_tool_call', ...callOf(open), input: open.text, status }
  }
}

function callOf({ id, callId, name, namespace }: OpenCall) {
  return { id, call_id: callId, name, ...(namespace !== undefined && { namespace }) }
}
