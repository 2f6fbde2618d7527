import { encodeData } from '../../sse/encode.ts'
import type { ReplyFold, ReplySeed, ReplyStream } from '../dialect.ts'
import { foldChunk, startAnswer, toCompletion } from './fold.ts'
import { startMend } from './mend/mend-state.ts'
import type { Frame, MendState } from './mend/mend-state.ts'
import { endMend, stepMend } from './mend/mend.ts'
import { stringify } from '../parts/wire-json.ts'
import { noteReasoning, reasoningOf, startReasoningNote } from './reply-reasoning.ts'
import type { ReasoningNote } from './reply-reasoning.ts'
import { decodeUsage } from './usage.ts'

const endMark = encodeData('[DONE]')

/** Upstream's chunks, mended, with their original text wherever nothing had to be. */
export function createChatStream(seed: ReplySeed): ReplyStream {
  const state = startMend(seed, seed.wantsUsage)
  const note = startReasoningNote()
  return {
    push(event) {
      if (state.done) return ''
      const text = encode(stepMend(state, event), note)
      return state.done ? text + endMark : text
    },
    end: () => (state.done ? '' : encode(endMend(state), note) + endMark),
    ...watch(state, note),
  }
}

/** The chunks a streaming caller would have got, as one body; with usage, which a body always has. */
export function createChatFold(seed: ReplySeed): ReplyFold {
  const state = startMend(seed, true)
  const answer = startAnswer()
  const note = startReasoningNote()
  const fold = (frames: readonly Frame[]) => {
    for (const { chunk } of frames) {
      noteReasoning(note, chunk)
      foldChunk(answer, chunk)
    }
  }
  return {
    push: (event) => fold(stepMend(state, event)),
    end() {
      fold(endMend(state))
      return toCompletion(answer)
    },
    ...watch(state, note),
  }
}

function encode(frames: readonly Frame[], note: ReasoningNote): string {
  let text = ''
  for (const frame of frames) {
    noteReasoning(note, frame.chunk)
    text += encodeData(frame.text ?? stringify(frame.chunk))
  }
  return text
}

function watch(state: MendState, note: ReasoningNote) {
  return {
    isDone: () => state.done,
    usage: () => state.usage && decodeUsage(state.usage, state.copilotUsage),
    skipped: () => state.skipped,
    reasoning: () => reasoningOf(note),
  }
}
