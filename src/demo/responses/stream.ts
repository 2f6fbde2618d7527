import type { Answer } from '../answer/answer.ts'
import { namedFrame, outputTokens, readable } from '../answer/frames.ts'
import type { Frames } from '../answer/frames.ts'
import type { InferenceSubject } from '../inference.ts'
import { issueOpaque } from '../answer/opaque-text.ts'
import {
  cachedTokens,
  callItem,
  endingOf,
  IN_PROGRESS,
  messageAndCalls,
  messageItem,
  responseBase,
  searchItem,
  summaryEvents,
  wantsCompaction,
} from './items.ts'
import type { Fields, Item } from './items.ts'
import { effortOf } from './request.ts'
import type { ResponsesRequest } from './request.ts'

type Subject = InferenceSubject<ResponsesRequest>

/** Tokens of an answer. `input` includes `cached`, and `output` includes `reasoning`. */
export interface Spent {
  readonly input: number
  readonly cached: number
  readonly reasoning: number
  readonly output: number
}

/** The differences between services with this dialect. */
interface Service {
  /** The model's name in replies. */
  readonly model: string
  /** The error object of a failure inside the stream. */
  readonly errorOf: (code: string) => Fields & { readonly message: string }
  /** Additional members of the last event: beside its response, and within it. */
  readonly last?: (spent: Spent) => { readonly beside: Fields; readonly within: Fields }
}

/**
 * Encodes the event stream of `/responses` without any backend's quirks. The proxy would normalise the quirks anyway.
 */
export function encodeResponses(answer: Answer, subject: Subject, { model, errorOf, last }: Service): Frames {
  const { call, request } = subject
  const content: string[] = []
  const push = (type: string, fields: Fields): void => {
    content.push(namedFrame({ type, sequence_number: content.length, ...fields }))
  }
  const effort = effortOf(request, subject.model)
  const base = responseBase({ id: `resp_demo_${call.number}`, nowMs: call.nowMs, model, effort }, request)
  const started = { ...base, ...IN_PROGRESS }
  push('response.created', { response: started })
  push('response.in_progress', { response: started })
  const items = itemsOf(answer, subject).map(({ at, events }, index) => ({
    id: `item_demo_${call.number}_${index}`,
    at,
    events,
  }))
  for (const [index, { id, at, events }] of items.entries()) {
    push('response.output_item.added', { output_index: index, item: at(id, 'added') })
    for (const [type, fields] of events) push(type, { item_id: id, output_index: index, ...fields })
    push('response.output_item.done', { output_index: index, item: at(id, 'done') })
  }
  const ending = endingOf(answer)
  const spent = spentOn(answer, subject)
  const more = last?.(spent)
  const output = items.map(({ id, at }) => at(id, 'completed'))
  return {
    leadCount: 2,
    content,
    closing: [
      namedFrame({
        type: `response.${ending.status}`,
        sequence_number: content.length,
        ...more?.beside,
        response: { ...base, ...ending, output, usage: usageOf(spent), ...more?.within },
      }),
    ],
    error: ({ sent, code = 'server_is_overloaded', isBare }) => {
      const error = errorOf(code)
      return isBare
        ? namedFrame({ type: 'error', sequence_number: sent, code, message: error.message, param: null })
        : namedFrame({
            type: 'response.failed',
            sequence_number: sent,
            response: { ...started, status: 'failed', error: { code, ...error } },
          })
    },
  }
}

function itemsOf(answer: Answer, subject: Subject): readonly Item[] {
  const { call, request, model } = subject
  if (wantsCompaction(request)) {
    const compaction = (id: string): string => issueOpaque('compaction', call.number, id)
    return [{ at: (id) => ({ id, type: 'compaction', encrypted_content: compaction(id) }), events: [] }]
  }
  return [
    ...(effortOf(request, model) === 'none' ? [] : [reasoningItem(answer, subject)]),
    ...(answer.search === '' ? [] : [searchItem(answer.search)]),
    ...messageAndCalls(answer, answer.calls, {
      message: (status) => messageItem(answer, status),
      call: callItem,
    }),
  ]
}

function reasoningItem(answer: Answer, { call, request }: Subject): Item {
  const isEncrypted = (request.include ?? []).includes('reasoning.encrypted_content')
  const pieces = request.reasoning?.summary === undefined ? [] : readable(answer)
  return {
    at: (id, moment) => ({
      id,
      type: 'reasoning',
      ...(isEncrypted && { encrypted_content: issueOpaque('reasoning', call.number, id) }),
      summary: moment === 'added' || pieces.length === 0 ? [] : [{ type: 'summary_text', text: pieces.join('') }],
    }),
    events: pieces.length === 0 ? [] : summaryEvents(pieces),
  }
}

/** For a model that reasons, at least one token is reasoning. */
export function spentOn(answer: Answer, { request, model, conversation }: Subject): Spent {
  const { history, promptTokens } = conversation
  const reasoning = effortOf(request, model) === 'none' ? 0 : Math.max(1, answer.reasoning.length)
  const cached = cachedTokens(request, history, promptTokens)
  return { input: promptTokens, cached, reasoning, output: outputTokens(answer) + reasoning }
}

export function usageOf({ input, cached, reasoning, output }: Spent): Fields {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}
