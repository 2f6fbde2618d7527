import { encodeData } from '../../../sse/encode.ts'
import type { ReplyFold, ReplySeed, ReplyStream } from '../../dialect.ts'
import { stringify } from '../../../json/json.ts'
import type { ReplyMemory } from '../../reply-memory.ts'
import { foldChunk, startAnswer, toCompletion } from '../fold.ts'
import { keepReasoning, noteReasoning, startReasoningNote } from '../reply-reasoning.ts'
import type { ReasoningNote } from '../reply-reasoning.ts'
import { decodeUsage, wantsUsage } from '../usage.ts'
import { normaliseEnd, normaliseEvent } from './normalise/normaliser.ts'
import { startNormaliser } from './normalise/state.ts'
import type { NormalisedChunk, NormaliserState } from './normalise/state.ts'

const endMark = encodeData('[DONE]')

/** Upstream's chunks, normalised; those that conform keep their text. */
export function createChatStream(seed: ReplySeed): ReplyStream {
  const state = startNormaliser(seed, wantsUsage(seed.notes.upstream))
  const note = startReasoningNote()
  return {
    push(event) {
      if (state.done) return ''
      const text = encode(normaliseEvent(state, event), note)
      return state.done ? text + endMark : text
    },
    end: () => (state.done ? '' : encode(normaliseEnd(state), note) + endMark),
    ...observers(state, note),
  }
}

/** Folds the chunks of the same reply into a body, which always has usage. */
export function createChatFold(seed: ReplySeed): ReplyFold {
  const state = startNormaliser(seed, true)
  const answer = startAnswer()
  const note = startReasoningNote()
  const fold = (chunks: readonly NormalisedChunk[]) => {
    for (const { chunk } of chunks) {
      noteReasoning(note, chunk)
      foldChunk(answer, chunk)
    }
  }
  return {
    push: (event) => fold(normaliseEvent(state, event)),
    end() {
      fold(normaliseEnd(state))
      return toCompletion(answer)
    },
    ...observers(state, note),
  }
}

function encode(chunks: readonly NormalisedChunk[], note: ReasoningNote): string {
  let text = ''
  for (const { chunk, text: original } of chunks) {
    noteReasoning(note, chunk)
    text += encodeData(original ?? stringify(chunk))
  }
  return text
}

function observers(state: NormaliserState, note: ReasoningNote) {
  return {
    isDone: () => state.done,
    usage: () => state.usage && decodeUsage(state.usage, state.copilotUsage),
    skipped: () => state.skipped,
    remember: (memory: ReplyMemory) => keepReasoning(note, memory),
  }
}
