import { encodeData } from '../../sse/encode.ts'
import type { ReplyFold, ReplySeed, ReplyStream, Usage } from '../dialect.ts'
import { foldChunk, startAnswer, toCompletion } from './fold.ts'
import { startMend } from './mend/mend-state.ts'
import type { Frame, MendState } from './mend/mend-state.ts'
import { endMend, stepMend } from './mend/mend.ts'
import { countOf, isObject, stringify } from './wire-chunk.ts'

const endMark = encodeData('[DONE]')

/** Upstream's chunks, mended, with their original text wherever nothing had to be. */
export function createChatStream(seed: ReplySeed): ReplyStream {
  const state = startMend(seed, seed.wantsUsage)
  return {
    push(event) {
      if (state.done) return ''
      const text = encode(stepMend(state, event))
      return state.done ? text + endMark : text
    },
    end: () => (state.done ? '' : encode(endMend(state)) + endMark),
    ...watch(state),
  }
}

/** The chunks a streaming caller would have got, as one body; with usage, which a body always has. */
export function createChatFold(seed: ReplySeed): ReplyFold {
  const state = startMend(seed, true)
  const answer = startAnswer()
  const fold = (frames: readonly Frame[]) => {
    for (const { chunk } of frames) foldChunk(answer, chunk)
  }
  return {
    push: (event) => fold(stepMend(state, event)),
    end() {
      fold(endMend(state))
      return toCompletion(answer)
    },
    ...watch(state),
  }
}

function encode(frames: readonly Frame[]): string {
  let text = ''
  for (const frame of frames) text += encodeData(frame.text ?? stringify(frame.chunk))
  return text
}

function watch(state: MendState) {
  return {
    isDone: () => state.done,
    usage: () => state.usage && toUsage(state.usage),
    skipped: () => state.skipped,
  }
}

function toUsage(usage: Readonly<Record<string, unknown>>): Usage {
  const details = usage['prompt_tokens_details']
  return {
    inputTokens: countOf(usage['prompt_tokens']),
    outputTokens: countOf(usage['completion_tokens']),
    cachedInputTokens: isObject(details) ? countOf(details['cached_tokens']) : 0,
  }
}
