import type { Answer, AnswerCall } from '../../answer/answer.ts'
import { fragments } from '../../answer/frames.ts'
import type { ResponsesRequest } from './request.ts'

export type Fields = Readonly<Record<string, unknown>>

/** One item of an answer over `/responses`. */
export interface Item {
  /** The item in the frame of one moment, with that frame's id and ciphertext. */
  readonly at: (id: string, moment: Moment) => Fields
  /** The events between `output_item.added` and `.done`: type and fields of each, without item id and index. */
  readonly events: readonly ItemEvent[]
}

export type ItemEvent = readonly [type: string, fields: Fields]

/**
 * The event that contains the item. `added` and `completed` have ciphertexts too, but upstream accepts only that of
 * `done`.
 */
export type Moment = 'added' | 'done' | 'completed'

export interface Ending {
  readonly status: 'completed' | 'incomplete'
  readonly incomplete_details: { readonly reason: string } | null
}

export function endingOf({ finish }: Answer): Ending {
  switch (finish) {
    case 'length':
      return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    case 'content_filter':
      return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }
    case 'stop':
    case 'tool_calls':
      return { status: 'completed', incomplete_details: null }
  }
}

/** The message and the calls. An answer of calls only has no message. Only the last call can be incomplete. */
export function messageAndCalls<Made>(
  answer: Answer,
  calls: readonly AnswerCall[],
  make: {
    readonly message: (status: string) => Made
    readonly call: (call: AnswerCall, status: string) => Made
  },
): readonly Made[] {
  const { status } = endingOf(answer)
  const hasMessage = answer.text.length > 0 || answer.refusal.length > 0 || calls.length === 0
  return [
    ...(hasMessage ? [make.message(calls.length > 0 ? 'completed' : status)] : []),
    ...calls.map((call, at) => make.call(call, at < calls.length - 1 ? 'completed' : status)),
  ]
}

/** Events of one part of a reasoning summary. */
export function summaryEvents(pieces: readonly string[], index = 0): readonly ItemEvent[] {
  const position = { summary_index: index }
  const text = pieces.join('')
  return [
    ['response.reasoning_summary_part.added', { ...position, part: { type: 'summary_text', text: '' } }],
    ...pieces.map((delta): ItemEvent => ['response.reasoning_summary_text.delta', { ...position, delta }]),
    ['response.reasoning_summary_text.done', { ...position, text }],
    ['response.reasoning_summary_part.done', { ...position, part: { type: 'summary_text', text } }],
  ]
}

export function messageItem({ text, refusal, search }: Answer, status: string): Item {
  const isRefusal = refusal.length > 0
  const pieces = isRefusal ? refusal : text
  const whole = pieces.join('')
  const annotations = search === '' ? [] : annotationsOf(whole)
  const partOf = (shown: string): Fields =>
    isRefusal
      ? { type: 'refusal', refusal: shown }
      : { type: 'output_text', annotations: shown === '' ? [] : annotations, logprobs: [], text: shown }
  const kind = isRefusal ? 'response.refusal' : 'response.output_text'
  const position = { content_index: 0 }
  return {
    at: (id, moment) => ({
      id,
      type: 'message',
      status: moment === 'added' ? 'in_progress' : status,
      content: moment === 'added' ? [] : [partOf(whole)],
      role: 'assistant',
    }),
    events: [
      ['response.content_part.added', { ...position, part: partOf('') }],
      ...pieces.map((delta): ItemEvent => [
        `${kind}.delta`,
        { ...position, delta, ...(!isRefusal && { logprobs: [] }) },
      ]),
      ...annotations.map((annotation, at): ItemEvent => [
        'response.output_text.annotation.added',
        { ...position, annotation_index: at, annotation },
      ]),
      [`${kind}.done`, { ...position, ...(isRefusal ? { refusal: whole } : { text: whole, logprobs: [] }) }],
      ['response.content_part.done', { ...position, part: partOf(whole) }],
    ],
  }
}

/** Citations of the links in the text; of its beginning if it has no links. */
function annotationsOf(text: string): readonly Fields[] {
  const links = [...text.matchAll(/\(\[([^\]]*)\]\(([^)]*)\)\)/g)].map((match) => {
    const [link, title, url] = match
    return { type: 'url_citation', url, title, start_index: match.index, end_index: match.index + link.length }
  })
  if (links.length > 0) return links
  const end = Math.min(9, text.length)
  const url = 'https://example.com/simulated'
  return [{ type: 'url_citation', url, title: 'Simulated result', start_index: 0, end_index: end }]
}

export function callItem(call: AnswerCall, status: string): Item {
  const isCustom = call.kind === 'custom'
  const field = isCustom ? 'input' : 'arguments'
  const kind = isCustom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  return {
    at: (id, moment) => ({
      id,
      type: isCustom ? 'custom_tool_call' : 'function_call',
      status: moment === 'added' ? 'in_progress' : status,
      [field]: moment === 'added' ? '' : call.arguments,
      call_id: call.id,
      name: call.name,
      ...(call.namespace !== undefined && { namespace: call.namespace }),
    }),
    events: [
      ...fragments(call.arguments).map((delta): ItemEvent => [`${kind}.delta`, { delta }]),
      [`${kind}.done`, { [field]: call.arguments }],
    ],
  }
}

export function searchItem(query: string): Item {
  return {
    at: (id, moment) => ({
      id,
      type: 'web_search_call',
      status: moment === 'added' ? 'in_progress' : 'completed',
      ...(moment !== 'added' && { action: { type: 'search', query } }),
    }),
    events: ['in_progress', 'searching', 'completed'].map((step): ItemEvent => [
      `response.web_search_call.${step}`,
      {},
    ]),
  }
}

/** Whether the request ends with a `compaction_trigger`. */
export function wantsCompaction({ input = [] }: ResponsesRequest): boolean {
  return typeof input !== 'string' && input.at(-1)?.type === 'compaction_trigger'
}

// The members of the response object outside its items.

export const IN_PROGRESS = { status: 'in_progress', output: [], usage: null }

export interface ResponseSeed {
  readonly id: string
  readonly nowMs: number
  readonly model: string
  readonly effort: string
}

/** Members of the response object in every frame. Most repeat the request. */
export function responseBase({ id, nowMs, model, effort }: ResponseSeed, request: ResponsesRequest): Fields {
  return {
    id,
    object: 'response',
    created_at: Math.floor(nowMs / 1000),
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: {},
    model,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort, summary: request.reasoning?.summary ?? null },
    service_tier: 'default',
    temperature: 1,
    text: { format: request.text?.format ?? { type: 'text' }, verbosity: request.text?.verbosity ?? 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_p: 1,
    truncation: 'disabled',
    user: null,
  }
}

/** Cached tokens: half of the prompt if an earlier request had the same key. */
export function cachedTokens(
  request: ResponsesRequest,
  history: readonly { readonly by: string }[],
  promptTokens: number,
): number {
  const isCached = request['prompt_cache_key'] !== undefined && history.some(({ by }) => by === 'assistant')
  return isCached ? Math.floor(promptTokens / 2) : 0
}
