import { encodeData } from '../../sse/encode.ts'
import type { ReplySeed, TurnFold, TurnStream } from '../dialect.ts'
import { sealOpaque } from '../engine/opaque-envelope.ts'
import type { Citation, TurnEvent, TurnStop, Usage } from '../turn.ts'
import type { ChatAnnotation, ChatCompletionChunk, ChatDelta, ChatUsage, FinishReason } from './wire.ts'
import { foldChunk, startAnswer, toCompletion } from './fold.ts'
import {
  keepReasoning,
  noteReasoningDelta,
  type ReasoningNote,
  startReasoningNote,
  chatNotesIn,
} from './reply-notes.ts'
import { encodeUsage } from './usage.ts'

/** One chunk without the identity of the reply. */
interface Piece {
  /** Undefined for the chunk with usage and no choice. */
  readonly delta: ChatDelta | undefined
  readonly logprobs?: { readonly content: unknown[]; readonly refusal: null }
  readonly finish?: FinishReason
  readonly usage?: ChatUsage
}

interface ToolState {
  readonly index: number
  readonly kind: 'function' | 'custom'
  /** Something other than white space has come. */
  hasArguments: boolean
}

/** Owned by one stream, updated in place. */
interface EncodeState {
  readonly id: string
  readonly created: number
  model: string
  started: boolean
  readonly sendsUsage: boolean
  usage: Usage | undefined
  /** Calls that are not closed, by slot. */
  readonly tools: Map<number, ToolState>
  toolCount: number
  /** Length of the text so far, in UTF-16 units. Citations count from the start of their slot. */
  textLength: number
  readonly textStarts: Map<number, number>
  readonly note: ReasoningNote
  /** The JSON of a chunk before and after its delta; '' until the first chunk. */
  head: string
  tail: string
}

const endMark = encodeData('[DONE]')
const nothing: readonly Piece[] = []

/** Encodes a reply as chat chunks. The role waits for the first event with content. */
export function createChatTurnStream(seed: ReplySeed): TurnStream {
  const state = startEncode(seed, chatNotesIn(seed.notes.caller).wantsUsage)
  return {
    push(event) {
      let text = ''
      for (const piece of step(state, event)) {
        noteReasoningDelta(state.note, piece.delta)
        text += writePiece(state, piece)
      }
      return event.type === 'stop' ? text + endMark : text
    },
    remember: (memory) => keepReasoning(state.note, memory),
  }
}

/** Folds the chunks of the same reply into a body, which always has usage. */
export function createChatTurnFold(seed: ReplySeed): TurnFold {
  const state = startEncode(seed, true)
  const answer = startAnswer()
  return {
    push(event) {
      for (const piece of step(state, event)) {
        noteReasoningDelta(state.note, piece.delta)
        foldChunk(answer, toChunk(state, piece))
      }
    },
    body: () => toCompletion(answer),
    remember: (memory) => keepReasoning(state.note, memory),
  }
}

function startEncode({ id, createdSeconds, model }: ReplySeed, sendsUsage: boolean): EncodeState {
  return {
    id: `chatcmpl-${id}`,
    created: createdSeconds,
    model,
    started: false,
    sendsUsage,
    usage: undefined,
    tools: new Map(),
    toolCount: 0,
    textLength: 0,
    textStarts: new Map(),
    note: startReasoningNote(),
    head: '',
    tail: '',
  }
}

/** `toChunk` as JSON text. Most chunks of a reply differ only in their delta, so the text around it is cached. */
function writePiece(state: EncodeState, piece: Piece): string {
  const { delta, logprobs, finish } = piece
  if (delta === undefined || logprobs !== undefined || finish !== undefined) {
    return encodeData(JSON.stringify(toChunk(state, piece)))
  }
  if (state.head === '') {
    const text = encodeData(JSON.stringify(toChunk(state, { delta: {} })))
    // Search for the last match, because the model's name precedes it and may contain anything.
    const at = text.lastIndexOf('{}')
    state.head = text.slice(0, at)
    state.tail = text.slice(at + '{}'.length)
  }
  return state.head + JSON.stringify(delta) + state.tail
}

function toChunk(
  { id, created, model, sendsUsage }: EncodeState,
  { delta, logprobs, finish, usage }: Piece,
): ChatCompletionChunk {
  return {
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices:
      delta === undefined ? [] : [{ index: 0, delta, ...(logprobs && { logprobs }), finish_reason: finish ?? null }],
    ...(sendsUsage && { usage: usage ?? null }),
  }
}

function step(state: EncodeState, event: TurnEvent): readonly Piece[] {
  switch (event.type) {
    case 'start':
      if (event.model !== undefined) state.model = event.model
      state.usage = event.usage
      return nothing
    case 'text.delta':
      return event.text === '' && event.logprobs === undefined ? nothing : opened(state, textPiece(state, event), '')
    case 'refusal.delta':
      return event.text === '' ? nothing : opened(state, { delta: { refusal: event.text } })
    case 'think.delta':
      // Sends reasoning under Copilot's key and under DeepSeek's, which most clients read.
      return event.text === ''
        ? nothing
        : opened(state, { delta: { reasoning_text: event.text, reasoning_content: event.text } })
    case 'think.sign':
      return opened(state, { delta: { reasoning_opaque: sealOpaque(event.opaque) } })
    case 'tool.open':
      return opened(state, openTool(state, event))
    case 'tool.args':
      return argumentPieces(state, event.slot, event.text)
    case 'part.close':
      return closeTool(state, event.slot)
    case 'citation':
      return opened(state, { delta: { annotations: [toAnnotation(state, event.slot, event.citation)] } })
    case 'search':
    case 'search.open':
    case 'search.result':
      // Chat Completions cannot show a search; its results are in the citations.
      return nothing
    case 'usage':
      state.usage = event.usage
      return nothing
    case 'stop':
      return stopPieces(state, event.reason)
  }
}

/**
 * Adds the role before the first piece. As in OpenAI's streams, text begins with an empty text, and everything else
 * with null.
 */
function opened(state: EncodeState, piece: Piece, content: string | null = null): readonly Piece[] {
  if (state.started) return [piece]
  state.started = true
  return [{ delta: { role: 'assistant', content } }, piece]
}

function textPiece(state: EncodeState, { slot, text, logprobs }: Extract<TurnEvent, { type: 'text.delta' }>): Piece {
  if (!state.textStarts.has(slot)) state.textStarts.set(slot, state.textLength)
  state.textLength += text.length
  return { delta: { content: text }, ...(logprobs && { logprobs: { content: [...logprobs], refusal: null } }) }
}

function openTool(state: EncodeState, { slot, id, name, kind }: Extract<TurnEvent, { type: 'tool.open' }>): Piece {
  const index = state.toolCount
  state.toolCount += 1
  state.tools.set(slot, { index, kind, hasArguments: false })
  const body = kind === 'custom' ? { custom: { name, input: '' } } : { function: { name, arguments: '' } }
  return { delta: { tool_calls: [{ index, id, type: kind, ...body }] } }
}

function argumentPieces(state: EncodeState, slot: number, text: string): readonly Piece[] {
  const tool = state.tools.get(slot)
  if (tool === undefined || text === '') return nothing
  tool.hasArguments ||= text.trim() !== ''
  const { index, kind } = tool
  const body = kind === 'custom' ? { custom: { input: text } } : { function: { arguments: text } }
  return [{ delta: { tool_calls: [{ index, ...body }] } }]
}

/** A function call without arguments gets `{}`, because clients parse them. */
function closeTool(state: EncodeState, slot: number): readonly Piece[] {
  const tool = state.tools.get(slot)
  const pieces = tool?.kind === 'function' && !tool.hasArguments ? argumentPieces(state, slot, '{}') : nothing
  state.tools.delete(slot)
  return pieces
}

function toAnnotation(state: EncodeState, slot: number, { url, title, start, end }: Citation): ChatAnnotation {
  const from = state.textStarts.get(slot) ?? state.textLength
  return {
    type: 'url_citation',
    url_citation: {
      url,
      title,
      start_index: start === undefined ? state.textLength : from + start,
      end_index: end === undefined ? state.textLength : from + end,
    },
  }
}

const finishOf: Readonly<Record<TurnStop, FinishReason>> = {
  end: 'stop',
  stop_sequence: 'stop',
  tool_calls: 'tool_calls',
  max_tokens: 'length',
  context_full: 'length',
  content_filter: 'content_filter',
  // A chat caller cannot continue it.
  pause: 'length',
  compaction: 'stop',
}

function stopPieces(state: EncodeState, reason: TurnStop): readonly Piece[] {
  // A truncated call gets no arguments.
  const closing = reason === 'tool_calls' ? [...state.tools.keys()].flatMap((slot) => closeTool(state, slot)) : []
  const finish: Piece = { delta: {}, finish: finishOf[reason] }
  const end = [...closing, ...opened(state, finish, '')]
  return state.usage === undefined || !state.sendsUsage
    ? end
    : [...end, { delta: undefined, usage: encodeUsage(state.usage) }]
}
