import { encodeEvent, encodeJsonEvent } from '../../../sse/encode.ts'
import type { ReplyFold, ReplySeed, ReplyStream } from '../../dialect.ts'
import { stringify } from '../../../json/json.ts'
import { foldEvent, startFold, toMessage } from '../fold.ts'
import { toUsage } from '../usage.ts'
import { normaliseEnd, normaliseEvent, startNormaliser, type NormalisedEvent, type Normaliser } from './normalise.ts'

/** Upstream's events, normalised, with their original text wherever they were correct. */
export function createMessagesStream(seed: ReplySeed): ReplyStream {
  const state = startNormaliser(seed)
  return {
    push: (event) => encode(normaliseEvent(state, event)),
    end: () => encode(normaliseEnd(state)),
    ...watch(state),
  }
}

/** The events of `createMessagesStream` as one body. */
export function createMessagesFold(seed: ReplySeed): ReplyFold {
  const state = startNormaliser(seed)
  const message = startFold()
  const fold = (events: readonly NormalisedEvent[]) => {
    for (const { event } of events) if (event !== undefined) foldEvent(message, event)
  }
  return {
    push: (event) => fold(normaliseEvent(state, event)),
    end() {
      fold(normaliseEnd(state))
      return toMessage(message)
    },
    ...watch(state),
  }
}

function encode(events: readonly NormalisedEvent[]): string {
  let text = ''
  for (const { name, event, rawText } of events) {
    text += rawText === undefined ? encodeJsonEvent(name, stringify(event)) : encodeEvent(name, rawText)
  }
  return text
}

function watch(state: Normaliser) {
  return {
    isDone: () => state.done,
    usage: () => toUsage(state.usage),
    skipped: () => state.skipped,
  }
}
