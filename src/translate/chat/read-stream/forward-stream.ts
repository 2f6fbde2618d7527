import { encodeData } from '../../../sse/encode.ts'
import type { ReplyFold, ReplySeed, ReplyStream } from '../../dialect.ts'
import { isFilled, isObject, stringify } from '../../../json/json.ts'
import type { ReplyMemory } from '../../reply-memory.ts'
import { foldChunk, startAnswer, toCompletion } from '../fold.ts'
import { keepReasoning, noteReasoning, startReasoningNote, type ReasoningNote, chatNotesIn } from '../reply-notes.ts'
import { decodeUsage } from '../usage.ts'
import { normaliseEnd, normaliseEvent } from './normaliser.ts'
import { startNormaliser } from './state.ts'
import type { NormalisedChunk, NormaliserState } from './state.ts'

const endMark = encodeData('[DONE]')

/** Upstream's chunks, normalised; those that conform keep their text. */
export function createChatStream(seed: ReplySeed): ReplyStream {
  const { wantsUsage, reasoningContent } = chatNotesIn(seed.notes.upstream)
  const state = startNormaliser(seed, wantsUsage)
  const note = startReasoningNote()
  return {
    push(event) {
      if (state.done) return ''
      const text = encode(readable(reasoningContent, normaliseEvent(state, event)), note)
      return state.done ? text + endMark : text
    },
    end: () => (state.done ? '' : encode(readable(reasoningContent, normaliseEnd(state)), note) + endMark),
    ...observers(state, note),
  }
}

/** Folds the chunks of the same reply into a body, which always has usage. */
export function createChatFold(seed: ReplySeed): ReplyFold {
  const { reasoningContent } = chatNotesIn(seed.notes.upstream)
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
    push: (event) => fold(readable(reasoningContent, normaliseEvent(state, event))),
    end() {
      fold(readable(reasoningContent, normaliseEnd(state)))
      return toCompletion(answer)
    },
    ...observers(state, note),
  }
}

/** Repeats Copilot's readable reasoning as `reasoning_content`, for callers that read it there. */
function readable(wanted: boolean, chunks: readonly NormalisedChunk[]): readonly NormalisedChunk[] {
  return wanted ? chunks.map(withReasoningContent) : chunks
}

function withReasoningContent(normalised: NormalisedChunk): NormalisedChunk {
  const { choices } = normalised.chunk
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  const delta = isObject(choice) ? choice['delta'] : undefined
  if (!isObject(choice) || !isObject(delta)) return normalised
  const { reasoning_text: text, reasoning_content: given } = delta
  if (!isFilled(text) || isFilled(given)) return normalised
  const changed = { ...choice, delta: { ...delta, reasoning_content: text } }
  return { chunk: { ...normalised.chunk, choices: [changed] }, text: undefined }
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
