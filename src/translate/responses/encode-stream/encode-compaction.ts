import { Fault } from '../../../errors.ts'
import type { TurnEvent } from '../../turn.ts'
import { sealSummary } from '../compaction-summary.ts'
import { mintItemId } from '../item-ids.ts'
import type { CompactionOutput, ResponseEvent } from '../wire-event.ts'
import { sendFinal } from './encode-end.ts'
import { openResponse, takeNumber } from './encode-state.ts'
import type { EncodeState } from './encode-state.ts'

/**
 * A reply that is to be one compaction item and nothing else, its summary written by a model that was asked for one.
 * @throws Fault `upstream_unusable` where the model wrote none: the caller would put nothing in place of its history
 */
export function encodeCompactionEvent(state: EncodeState, event: TurnEvent, out: ResponseEvent[]): void {
  switch (event.type) {
    case 'text.delta':
      openResponse(state, out)
      state.summary += event.text
      return
    case 'stop':
      if (state.summary.trim() === '') {
        throw new Fault({ kind: 'upstream_unusable', detail: 'it was asked for a summary and wrote none' })
      }
      tellCompaction(state, out)
      return sendFinal(state, event.reason, out)
    default:
  }
}

function tellCompaction(state: EncodeState, out: ResponseEvent[]): void {
  const id = mintItemId('compaction', state.seed.id, 0)
  const item: CompactionOutput = { type: 'compaction', id, encrypted_content: sealSummary(state.summary) }
  const added: CompactionOutput = { ...item, encrypted_content: '' }
  state.output[0] = item
  out.push(
    { type: 'response.output_item.added', sequence_number: takeNumber(state), output_index: 0, item: added },
    { type: 'response.output_item.done', sequence_number: takeNumber(state), output_index: 0, item },
  )
}
