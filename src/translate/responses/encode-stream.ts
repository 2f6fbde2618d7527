import { encodeJsonEvent } from '../../sse/encode.ts'
import type { ReplySeed, TurnFold, TurnStream } from '../dialect.ts'
import type { TurnEvent } from '../turn.ts'
import { isCompaction } from './echo.ts'
import { encodeCompactionEvent } from './encode-stream/encode-compaction.ts'
import { encodeTurnEvent, unfinishedResponse } from './encode-stream/encode-event.ts'
import { openResponse, startEncode } from './encode-stream/encode-state.ts'
import type { EncodeState } from './encode-stream/encode-state.ts'
import { encodeResponsesFailure } from './error.ts'
import { foldEvent, startDraft, toBody } from './fold.ts'
import type { ResponseEvent } from './wire-event.ts'

/** A reply in the grammar of OpenAI's API. There is no end mark: the final event is one. */
export function createResponsesTurnStream(seed: ReplySeed): TurnStream {
  const state = startEncode(seed)
  const step = stepOf(seed)
  return {
    push: (event) => encode(step(state, event)),
    fail(error, requestId) {
      if (state.final !== undefined || state.hasFailed) return ''
      const out: ResponseEvent[] = []
      openResponse(state, out)
      state.hasFailed = true
      return encode(out) + encodeResponsesFailure(error, requestId, unfinishedResponse(state), state.next)
    },
    record: () => recordOf(state),
  }
}

export function createResponsesTurnFold(seed: ReplySeed): TurnFold {
  const state = startEncode(seed)
  const step = stepOf(seed)
  const draft = startDraft()
  return {
    push(event) {
      for (const one of step(state, event)) foldEvent(draft, one.type, one)
    },
    body: () => toBody(draft),
    record: () => recordOf(state),
  }
}

/** One event of the reply to the events it adds; nothing follows the final one. */
function stepOf(seed: ReplySeed) {
  const encodeContent = isCompaction(seed.notes.echo) ? encodeCompactionEvent : encodeTurnEvent
  return (state: EncodeState, event: TurnEvent): readonly ResponseEvent[] => {
    const out: ResponseEvent[] = []
    if (state.final !== undefined || state.hasFailed) return out
    switch (event.type) {
      case 'start':
        state.model = event.model ?? state.model
        state.usage = event.usage
        return out
      case 'usage':
        state.usage = event.usage
        return out
      default:
        encodeContent(state, event, out)
        return out
    }
  }
}

function encode(events: readonly ResponseEvent[]): string {
  let text = ''
  for (const event of events) text += encodeJsonEvent(event.type, JSON.stringify(event))
  return text
}

function recordOf({ id, final }: EncodeState) {
  return final === undefined ? undefined : { id, response: final }
}
