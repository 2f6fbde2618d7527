import { addToDraft, draftedItems, type DraftPart } from '../src/translate/draft-items.ts'
import type { Citation, TurnEvent, TurnStop, Usage } from '../src/translate/turn.ts'

/**
 * Folds the events of an answer (`ModelAnswer.events`) into its items.
 * @throws what the iteration throws: a Fault if upstream failed or was cut off, the signal's reason on abort
 */
export async function foldTurn(events: AsyncIterable<{ readonly event: TurnEvent }>) {
  const parts = new Map<number, DraftPart>()
  const citations: Citation[] = []
  let stop: TurnStop = 'end'
  let usage: Usage | undefined
  for await (const { event } of events) {
    addToDraft(parts, event)
    if (event.type === 'citation') citations.push(event.citation)
    else if (event.type === 'usage') ({ usage } = event)
    else if (event.type === 'stop') stop = event.reason
  }
  return { items: draftedItems(parts), citations, stop, usage }
}
