import type { Citation } from '../../turn.ts'
import { toLogProbs } from '../log-probs.ts'
import type { OutputText, Refusal, ResponseEvent, UrlCitation } from '../wire-event.ts'
import { takeNumber } from './encode-state.ts'
import type { EncodeState, OpenCall, OpenItem, OpenMessage, OpenReasoning } from './encode-state.ts'

export function tellText(
  state: EncodeState,
  item: OpenMessage,
  delta: string,
  stated: readonly unknown[],
  out: ResponseEvent[],
): void {
  const part = textPart(state, item, out)
  const logprobs = toLogProbs(stated)
  part.text += delta
  for (const logprob of logprobs) part.logprobs.push(logprob)
  out.push({
    type: 'response.output_text.delta',
    sequence_number: takeNumber(state),
    item_id: item.id,
    output_index: item.index,
    content_index: item.content.length - 1,
    delta,
    logprobs,
  })
}

export function tellRefusal(state: EncodeState, item: OpenMessage, delta: string, out: ResponseEvent[]): void {
  const last = item.content.at(-1)
  const part = last?.type === 'refusal' ? last : addPart(state, item, emptyRefusal, out)
  part.refusal += delta
  out.push({
    type: 'response.refusal.delta',
    sequence_number: takeNumber(state),
    item_id: item.id,
    output_index: item.index,
    content_index: item.content.length - 1,
    delta,
  })
}

/** @param citation offsets that upstream does not state are those of the text so far */
export function tellCitation(state: EncodeState, item: OpenMessage, citation: Citation, out: ResponseEvent[]): void {
  const part = textPart(state, item, out)
  const { url, title, start = 0, end = part.text.length } = citation
  const annotation: UrlCitation = { type: 'url_citation', url, title, start_index: start, end_index: end }
  part.annotations.push(annotation)
  out.push({
    type: 'response.output_text.annotation.added',
    sequence_number: takeNumber(state),
    item_id: item.id,
    output_index: item.index,
    content_index: item.content.length - 1,
    annotation_index: part.annotations.length - 1,
    annotation,
  })
}

export function tellThought(state: EncodeState, item: OpenReasoning, delta: string, out: ResponseEvent[]): void {
  const spot = { item_id: item.id, output_index: item.index, summary_index: 0 }
  if (item.text === undefined) {
    item.text = ''
    out.push({
      type: 'response.reasoning_summary_part.added',
      sequence_number: takeNumber(state),
      ...spot,
      part: { type: 'summary_text', text: '' },
    })
  }
  item.text += delta
  out.push({ type: 'response.reasoning_summary_text.delta', sequence_number: takeNumber(state), ...spot, delta })
}

export function tellArguments(state: EncodeState, item: OpenCall, delta: string, out: ResponseEvent[]): void {
  item.text += delta
  out.push({
    type:
      item.type === 'function_call'
        ? 'response.function_call_arguments.delta'
        : 'response.custom_tool_call_input.delta',
    sequence_number: takeNumber(state),
    item_id: item.id,
    output_index: item.index,
    delta,
  })
}

/**
 * Sends the ends of what was told.
 * @param isCut the answer was cut off within the item: a call without arguments is then no call
 */
export function endParts(state: EncodeState, item: OpenItem, isCut: boolean, out: ResponseEvent[]): void {
  switch (item.type) {
    case 'message':
      return endLastPart(state, item, out)
    case 'reasoning':
      return endThought(state, item, out)
    case 'function_call':
      if (item.text.trim() === '' && !isCut) tellArguments(state, item, '{}', out)
      out.push({
        type: 'response.function_call_arguments.done',
        sequence_number: takeNumber(state),
        item_id: item.id,
        output_index: item.index,
        name: item.name,
        arguments: item.text,
      })
      return
    case 'custom_tool_call':
      out.push({
        type: 'response.custom_tool_call_input.done',
        sequence_number: takeNumber(state),
        item_id: item.id,
        output_index: item.index,
        input: item.text,
      })
  }
}

function endThought(state: EncodeState, { id, index, text }: OpenReasoning, out: ResponseEvent[]): void {
  if (text === undefined) return
  const spot = { item_id: id, output_index: index, summary_index: 0 }
  out.push({ type: 'response.reasoning_summary_text.done', sequence_number: takeNumber(state), ...spot, text })
  out.push({
    type: 'response.reasoning_summary_part.done',
    sequence_number: takeNumber(state),
    ...spot,
    part: { type: 'summary_text', text },
  })
}

function endLastPart(state: EncodeState, { id, index, content }: OpenMessage, out: ResponseEvent[]): void {
  const part = content.at(-1)
  if (part === undefined) return
  const spot = { item_id: id, output_index: index, content_index: content.length - 1 }
  const sequence_number = takeNumber(state)
  if (part.type === 'refusal') {
    out.push({ type: 'response.refusal.done', sequence_number, ...spot, refusal: part.refusal })
  } else {
    out.push({ type: 'response.output_text.done', sequence_number, ...spot, text: part.text, logprobs: part.logprobs })
  }
  out.push({ type: 'response.content_part.done', sequence_number: takeNumber(state), ...spot, part })
}

function textPart(state: EncodeState, item: OpenMessage, out: ResponseEvent[]): OutputText {
  const last = item.content.at(-1)
  return last?.type === 'output_text' ? last : addPart(state, item, emptyText, out)
}

const emptyText = (): OutputText => ({ type: 'output_text', text: '', annotations: [], logprobs: [] })
const emptyRefusal = (): Refusal => ({ type: 'refusal', refusal: '' })

/** The event gets an empty part of its own: the item's grows. */
function addPart<Part extends OutputText | Refusal>(
  state: EncodeState,
  item: OpenMessage,
  empty: () => Part,
  out: ResponseEvent[],
): Part {
  endLastPart(state, item, out)
  const part = empty()
  item.content.push(part)
  out.push({
    type: 'response.content_part.added',
    sequence_number: takeNumber(state),
    item_id: item.id,
    output_index: item.index,
    content_index: item.content.length - 1,
    part: empty(),
  })
  return part
}
