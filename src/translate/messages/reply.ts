import { encodeEvent, encodeJsonEvent } from '../../sse/encode.ts'
import type { ReplyFold, ReplySeed, ReplyStream } from '../dialect.ts'
import { stringify } from '../parts/wire-json.ts'
import { foldEvent, startFold, toMessage } from './fold.ts'
import { endMend, startMend, stepMend, type Frame, type MendState } from './mend.ts'
import { toUsage } from './usage.ts'

/** Upstream's events, mended, with their original text wherever nothing had to be. */
export function createMessagesStream(seed: ReplySeed): ReplyStream {
  const state = startMend(seed)
  return {
    push: (event) => encode(stepMend(state, event)),
    end: () => encode(endMend(state)),
    ...watch(state),
  }
}

/** The events a streaming caller would have got, as one body. */
export function createMessagesFold(seed: ReplySeed): ReplyFold {
  const state = startMend(seed)
  const message = startFold()
  const fold = (frames: readonly Frame[]) => {
    for (const { event } of frames) if (event !== undefined) foldEvent(message, event)
  }
  return {
    push: (event) => fold(stepMend(state, event)),
    end() {
      fold(endMend(state))
      return toMessage(message)
    },
    ...watch(state),
  }
}

function encode(frames: readonly Frame[]): string {
  let text = ''
  for (const { name, event, text: own } of frames) {
    text += own === undefined ? encodeJsonEvent(name, stringify(event)) : encodeEvent(name, own)
  }
  return text
}

function watch(state: MendState) {
  return {
    isDone: () => state.done,
    usage: () => toUsage(state.usage),
    skipped: () => state.skipped,
  }
}
