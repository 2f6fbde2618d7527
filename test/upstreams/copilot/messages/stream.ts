import type { Answer, AnswerCall } from '../../answer/answer.ts'
import { FAILURE_MESSAGE, fragments, frameTemplate, namedFrame, outputTokens } from '../../answer/frames.ts'
import type { Frames } from '../../answer/frames.ts'
import type { InferenceSubject } from '../../inference.ts'
import { issueOpaque } from '../../answer/sealed-text.ts'
import { copilotUsage } from '../usage.ts'
import { blocksOf } from './request.ts'
import type { MessagesRequest } from './request.ts'

type Subject = InferenceSubject<MessagesRequest>
type Fields = Readonly<Record<string, unknown>>
/** One block of the answer: its start and the frames of its deltas. */
interface AnswerBlock {
  readonly start: Fields
  readonly deltas: readonly string[]
}

/**
 * Encodes Anthropic's event stream with Copilot's additions (docs/copilot-wire.md, "Messages stream"):
 * `copilot_annotations` beside a text, `copilot_usage` beside the usage, and a `[DONE]` that Anthropic does not send.
 */
export function encodeMessages(answer: Answer, subject: Subject): Frames {
  const blocks = blocksFor(answer, subject)
  const started = { ...messageBase(subject), content: [], stop_reason: null, stop_sequence: null }
  return {
    content: [
      namedFrame({ type: 'message_start', message: { ...started, usage: startUsage(subject) } }),
      namedFrame({ type: 'ping' }),
      ...blocks.flatMap(({ start, deltas }, index) =>
        [namedFrame({ type: 'content_block_start', index, content_block: start })].concat(
          deltas,
          namedFrame({ type: 'content_block_stop', index }),
        ),
      ),
    ],
    closing: [
      namedFrame({
        type: 'message_delta',
        delta: stopOf(answer),
        usage: usageOf(answer, subject),
        ...(subject.request.context_management !== undefined && { context_management: { applied_edits: [] } }),
        ...costOf(answer, subject),
      }),
      namedFrame({ type: 'message_stop' }),
    ],
    error: ({ code = 'overloaded_error' }) =>
      namedFrame({ type: 'error', error: { type: code, message: FAILURE_MESSAGE } }),
  }
}

function blocksFor(answer: Answer, subject: Subject): readonly AnswerBlock[] {
  const thought = answer.reasoning.length > 0 ? [thinkingBlock(answer, subject)] : []
  const pieces = [...answer.text, ...answer.refusal]
  const text = pieces.length > 0 ? [textBlock(pieces, thought.length)] : []
  const before = thought.length + text.length
  return [...thought, ...text, ...answer.calls.map((call, at) => toolBlock(call, before + at))]
}

function thinkingBlock({ reasoning, isRedacted }: Answer, subject: Subject): AnswerBlock {
  const { call, model, request } = subject
  const text = reasoning.join('')
  if (isRedacted) {
    const block = { type: 'redacted_thinking', data: issueOpaque('redacted', call.number, text) }
    return { start: block, deltas: [] }
  }
  const signature = issueOpaque('signature', call.number, text)
  // From version 4.7 on, Claude sends the text only to callers that ask for it.
  const display = request.thinking?.display ?? (model.version >= 4.7 ? 'omitted' : 'summarized')
  const shown = display === 'omitted' ? [] : reasoning
  const delta = frameTemplate((thinking) => blockDelta(0, { type: 'thinking_delta', thinking }), namedFrame)
  return {
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [...shown.map(delta), namedFrame(blockDelta(0, { type: 'signature_delta', signature }))],
  }
}

/** Made-up citations of public code. The last delta of every text has them. */
const ANNOTATIONS = {
  IPCodeCitations: [
    { start_index: 0, end_index: 5, license: 'mit', url: 'https://example.com/simulated', repository: 'demo/demo' },
  ],
}

function textBlock(pieces: readonly string[], index: number): AnswerBlock {
  const delta = frameTemplate((text) => blockDelta(index, { type: 'text_delta', text }), namedFrame)
  const last = { ...blockDelta(index, { type: 'text_delta', text: pieces.at(-1) }), copilot_annotations: ANNOTATIONS }
  return {
    start: { type: 'text', text: '' },
    deltas: [...pieces.slice(0, -1).map(delta), namedFrame(last)],
  }
}

function toolBlock({ id, name, arguments: text }: AnswerCall, index: number): AnswerBlock {
  const delta = frameTemplate((json) => blockDelta(index, { type: 'input_json_delta', partial_json: json }), namedFrame)
  return {
    start: { type: 'tool_use', id, name, input: {} },
    // The first piece is empty. It is the only piece of a call without arguments.
    deltas: ['', ...(text === '{}' ? [] : fragments(text))].map(delta),
  }
}

function blockDelta(index: number, delta: Fields) {
  return { type: 'content_block_delta', index, delta } as const
}

// The message around its blocks.

function messageBase({ call: { number }, model }: Subject): Fields {
  return { id: `msg_vrtx_demo_${number}`, type: 'message', role: 'assistant', model: `${model.id}-demo` }
}

function stopOf({ finish, stopText }: Answer): Fields {
  if (stopText !== '') return { stop_reason: 'stop_sequence', stop_sequence: stopText }
  switch (finish) {
    case 'stop':
      return { stop_reason: 'end_turn', stop_sequence: null }
    case 'length':
      return { stop_reason: 'max_tokens', stop_sequence: null }
    case 'tool_calls':
      return { stop_reason: 'tool_use', stop_sequence: null }
    case 'content_filter':
      return {
        stop_reason: 'refusal',
        stop_sequence: null,
        stop_details: { type: 'refusal', category: null, explanation: 'Simulated content filter.' },
      }
  }
}

interface Reads {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

/**
 * A prompt with cache marks writes half of itself to the cache. Later prompts of the conversation read half from it.
 * Anthropic counts cached tokens separately from the input.
 */
function readsOf({ request, conversation: { promptTokens } }: Subject): Reads {
  const half = Math.floor(promptTokens / 2)
  if (!hasMarks(request)) return { input: promptTokens, cacheRead: 0, cacheWrite: 0 }
  const isLater = request.messages.some(({ role }) => role === 'assistant')
  return { input: promptTokens - half, cacheRead: isLater ? half : 0, cacheWrite: isLater ? 0 : half }
}

function hasMarks({ system = [], tools = [], messages }: MessagesRequest): boolean {
  const blocks = [...(typeof system === 'string' ? [] : system), ...tools, ...messages.flatMap(blocksOf)]
  return blocks.some(({ cache_control: mark }) => mark !== undefined)
}

function startUsage(subject: Subject): Fields {
  const { input, cacheRead, cacheWrite } = readsOf(subject)
  return {
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: 0 },
    output_tokens: 1,
  }
}

function usageOf(answer: Answer, subject: Subject): Fields {
  const thinking = answer.reasoning.length
  return {
    ...startUsage(subject),
    output_tokens: outputTokens(answer) + thinking,
    output_tokens_details: { thinking_tokens: thinking },
  }
}

function costOf(answer: Answer, subject: Subject): Fields {
  const reads = readsOf(subject)
  return copilotUsage(subject.model.row, { ...reads, output: outputTokens(answer) + answer.reasoning.length })
}
