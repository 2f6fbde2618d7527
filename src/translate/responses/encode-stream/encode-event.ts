import { sealOpaque } from '../../parts/opaque-envelope.ts'
import type { TurnEvent, TurnStop } from '../../turn.ts'
import { toResponseObject } from '../response-object.ts'
import type { OutputItem, ResponseEvent, ResponseObject } from '../wire-event.ts'
import { countsOf, isCutBy, sendFinal } from './encode-end.ts'
import { openResponse, takeNumber } from './encode-state.ts'
import type { EncodeState, OpenItem, OpenMessage, OpenReasoning } from './encode-state.ts'
import { addItem, finishItem, takePlace, toOutputItem } from './open-item.ts'
import { endParts, tellArguments, tellCitation, tellRefusal, tellText, tellThought } from './tell-item.ts'

/** One step of a reply to the events that tell it. Every slot is an item of its own. */
export function encodeTurnEvent(state: EncodeState, event: TurnEvent, out: ResponseEvent[]): void {
  switch (event.type) {
    case 'text.delta':
      if (event.text !== '') tellText(state, messageAt(state, event.slot, out), event.text, event.logprobs ?? [], out)
      return
    case 'refusal.delta':
      if (event.text !== '') tellRefusal(state, messageAt(state, event.slot, out), event.text, out)
      return
    case 'citation':
      return tellCitation(state, messageAt(state, event.slot, out), event.citation, out)
    case 'think.delta':
      if (event.text === '' || state.seed.notes.hidesThinking) return
      return tellThought(state, reasoningAt(state, event.slot, out), event.text, out)
    case 'think.sign':
      reasoningAt(state, event.slot, out).sealed = sealOpaque(event.opaque)
      return
    case 'tool.open':
      return openCall(state, event, out)
    case 'tool.args': {
      const item = state.open.get(event.slot)
      if (event.text === '' || item === undefined || item.type === 'message' || item.type === 'reasoning') return
      return tellArguments(state, item, event.text, out)
    }
    case 'search':
    case 'search.result':
      return tellSearch(state, event, out)
    case 'part.close':
      return closeSlot(state, event.slot, out)
    case 'stop':
      return endResponse(state, event.reason, out)
    // Told whole, once it has ended.
    case 'search.open':
      return
    // Known before they come here.
    case 'start':
    case 'usage':
  }
}

/** The response object of a reply that cannot go on, with what came so far. */
export function unfinishedResponse(state: EncodeState): ResponseObject {
  const { seed, id, model, open, closing } = state
  const output = [...state.output]
  for (const item of open.values()) output[item.index] = toOutputItem(item, 'incomplete')
  if (closing !== undefined) output[closing.index] = toOutputItem(closing, 'completed')
  return toResponseObject(seed, { id, model, status: 'in_progress', output, usage: countsOf(state) })
}

function endResponse(state: EncodeState, reason: TurnStop, out: ResponseEvent[]): void {
  openResponse(state, out)
  // What is still open was cut; where nothing is, the item told last was.
  const isCut = isCutBy(reason)
  const status = isCut ? 'incomplete' : 'completed'
  finishClosing(state, isCut && state.open.size === 0 ? status : 'completed', out)
  for (const item of state.open.values()) {
    endParts(state, item, isCut, out)
    finishItem(state, item, status, out)
  }
  state.open.clear()
  sendFinal(state, reason, out)
}

function messageAt(state: EncodeState, slot: number, out: ResponseEvent[]): OpenMessage {
  const item = state.open.get(slot)
  if (item?.type === 'message') return item
  return openSlot(state, slot, { type: 'message', ...takePlace(state, 'message'), content: [] }, out)
}

function reasoningAt(state: EncodeState, slot: number, out: ResponseEvent[]): OpenReasoning {
  const item = state.open.get(slot)
  if (item?.type === 'reasoning') return item
  const place = takePlace(state, 'reasoning')
  return openSlot(state, slot, { type: 'reasoning', ...place, text: undefined, sealed: undefined }, out)
}

function openCall(state: EncodeState, event: Extract<TurnEvent, { type: 'tool.open' }>, out: ResponseEvent[]): void {
  const { slot, kind, id: callId, name, namespace } = event
  const type = kind === 'function' ? 'function_call' : 'custom_tool_call'
  openSlot(state, slot, { type, ...takePlace(state, type), callId, name, namespace, text: '' }, out)
}

function openSlot<Item extends OpenItem>(state: EncodeState, slot: number, item: Item, out: ResponseEvent[]): Item {
  openResponse(state, out)
  closeSlot(state, slot, out)
  finishClosing(state, 'completed', out)
  state.open.set(slot, item)
  return addItem(state, item, out)
}

function closeSlot(state: EncodeState, slot: number, out: ResponseEvent[]): void {
  const item = state.open.get(slot)
  if (item === undefined) return
  finishClosing(state, 'completed', out)
  endParts(state, item, false, out)
  state.open.delete(slot)
  state.closing = item
}

function finishClosing(state: EncodeState, status: 'completed' | 'incomplete', out: ResponseEvent[]): void {
  if (state.closing === undefined) return
  finishItem(state, state.closing, status, out)
  state.closing = undefined
}

/** It is over, and told whole. */
function tellSearch(
  state: EncodeState,
  { query }: Extract<TurnEvent, { type: 'search' | 'search.result' }>,
  out: ResponseEvent[],
): void {
  openResponse(state, out)
  finishClosing(state, 'completed', out)
  const { index, id } = takePlace(state, 'web_search_call')
  const itemWith = (status: 'in_progress' | 'completed'): OutputItem => ({
    type: 'web_search_call',
    id,
    status,
    action: { type: 'search', query },
  })
  const spot = { item_id: id, output_index: index }
  const item = itemWith('completed')
  state.output[index] = item
  const number = () => takeNumber(state)
  out.push(
    {
      type: 'response.output_item.added',
      sequence_number: number(),
      output_index: index,
      item: itemWith('in_progress'),
    },
    { type: 'response.web_search_call.in_progress', sequence_number: number(), ...spot },
    { type: 'response.web_search_call.searching', sequence_number: number(), ...spot },
    { type: 'response.web_search_call.completed', sequence_number: number(), ...spot },
    { type: 'response.output_item.done', sequence_number: number(), output_index: index, item },
  )
}
