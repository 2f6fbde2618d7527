import type { Answer, AnswerCall } from '../answer.ts'
import { FAILURE_MESSAGE, fragments, outputTokens, readable } from '../habits/habit.ts'
import type { Frames } from '../habits/habit.ts'
import type { InferenceSubject } from '../inference.ts'
import { issueOpaque, itemId, noise } from '../opaque-text.ts'
import { copilotUsage, quotaSnapshots } from '../usage.ts'
import { eventFrame } from './frame.ts'
import { effortOf } from './request.ts'
import type { ResponsesRequest } from './request.ts'

type Subject = InferenceSubject<ResponsesRequest>
type Fields = Readonly<Record<string, unknown>>

/** One item of the answer. */
interface Item {
  /** The item in a frame: with that frame's id, and with that frame's ciphertext where it has one. */
  readonly at: (id: string, moment: Moment) => Fields
  /** What comes between `output_item.added` and `.done`: fields of each event, the item's id and place left out. */
  readonly events: readonly Fields[]
}

/** `added` and `completed` have ciphertexts too, which upstream does not take back. */
type Moment = 'added' | 'done' | 'completed'

/**
 * The event stream of `/responses` with what is peculiar about the real one (docs/copilot-wire.md, "Responses stream"):
 * item ids that differ from event to event, ciphertexts that differ from frame to frame, `obfuscation`, `logprobs: []`,
 * `copilot_usage`, and a summary that older models state at the end only.
 */
export function encodeResponses(answer: Answer, subject: Subject): Frames {
  const { call } = subject
  const ids = createIds(call.number)
  const items = itemsOf(answer, subject)
  const content: string[] = []
  const push = (type: string, fields: Fields): void => {
    content.push(eventFrame(type, content.length, fields))
  }
  const base = responseBase(subject)
  push('response.created', { response: { ...base, ...IN_PROGRESS } })
  push('response.in_progress', { response: { ...base, ...IN_PROGRESS } })
  for (const [at, item] of items.entries()) {
    push('response.output_item.added', { item: item.at(ids.next(), 'added'), output_index: at })
    for (const { type, ...fields } of item.events) {
      push(String(type), { ...fields, item_id: ids.next(), output_index: at, ...obfuscated(String(type), ids.count()) })
    }
    push('response.output_item.done', { item: item.at(ids.next(), 'done'), output_index: at })
  }
  const output = subject.markers.asked.has('sparse') ? [] : items.map((item) => item.at(ids.next(), 'completed'))
  const { status, reason } = endingOf(answer)
  const type = `response.${status}`
  const spent = spentOn(answer, subject)
  const cost = costOf(subject, spent)
  // Both places have been seen; that it goes by model is made up.
  const { isOlder } = subject.model
  return {
    leadCount: 2,
    content,
    closing: [
      eventFrame(type, content.length, {
        copilot_quota_snapshots: quotaSnapshots(call.nowMs),
        ...(!isOlder && cost),
        response: {
          ...base,
          status,
          incomplete_details: reason === '' ? null : { reason },
          output,
          usage: usageOf(spent),
          ...(isOlder && cost),
        },
      }),
    ],
    error: ({ sent, code = 'server_is_overloaded', isBare }) =>
      isBare
        ? eventFrame('error', sent, { code, message: FAILURE_MESSAGE, param: null })
        : eventFrame('response.failed', sent, {
            response: { ...base, ...IN_PROGRESS, status: 'failed', error: { code, message: FAILURE_MESSAGE } },
          }),
  }
}

/** The answer as one response object. */
export function wholeResponse(answer: Answer, subject: Subject): Fields {
  const ids = createIds(subject.call.number)
  const { status, reason } = endingOf(answer)
  const spent = spentOn(answer, subject)
  return {
    ...responseBase(subject),
    status,
    incomplete_details: reason === '' ? null : { reason },
    output: itemsOf(answer, subject).map((item) => item.at(ids.next(), 'done')),
    usage: usageOf(spent),
    ...costOf(subject, spent),
  }
}

interface Ids {
  /** An id that no event had yet. */
  readonly next: () => string
  /** Ids made so far. */
  readonly count: () => number
}

/** More events than an answer has: the ids of two replies differ. */
const IDS_PER_REPLY = 1_000_000

function createIds(reply: number): Ids {
  let made = 0
  return {
    next: () => {
      made += 1
      return itemId(reply * IDS_PER_REPLY + made)
    },
    count: () => made,
  }
}

/** Deltas are padded, so that their size does not tell what is in them. */
function obfuscated(type: string, serial: number): Fields {
  return type.endsWith('.delta') ? { obfuscation: noise(serial, 4 + (serial % 12)) } : {}
}

function endingOf({ finish }: Answer): { readonly status: 'completed' | 'incomplete'; readonly reason: string } {
  switch (finish) {
    case 'length':
      return { status: 'incomplete', reason: 'max_output_tokens' }
    case 'content_filter':
      return { status: 'incomplete', reason: 'content_filter' }
    case 'stop':
    case 'tool_calls':
      return { status: 'completed', reason: '' }
  }
}

// Items.

function itemsOf(answer: Answer, subject: Subject): readonly Item[] {
  const isReasoning = effortOf(subject.request, subject.model) !== 'none'
  const status = answer.finish === 'length' || answer.finish === 'content_filter' ? 'incomplete' : 'completed'
  const hasText = answer.text.length > 0 || answer.refusal.length > 0
  if (isCompaction(subject)) return [compactionItem(subject)]
  return [
    ...(isReasoning ? [reasoningItem(answer, subject)] : []),
    ...(answer.search === '' ? [] : [searchItem(answer.search)]),
    ...(hasText || answer.calls.length === 0
      ? [messageItem(answer, answer.calls.length > 0 ? 'completed' : status)]
      : []),
    ...answer.calls.map((call, at) => callItem(call, subject, at < answer.calls.length - 1 ? 'completed' : status)),
  ]
}

function reasoningItem(answer: Answer, { call: { number }, request, model }: Subject): Item {
  const isEncrypted = (request.include ?? []).includes('reasoning.encrypted_content')
  const wanted = request.reasoning?.summary
  const pieces = wanted === undefined ? [] : readable(answer)
  const text = pieces.join('')
  const part = { type: 'summary_text', text }
  return {
    at: (id, moment) => ({
      id,
      type: 'reasoning',
      ...(isEncrypted && {
        encrypted_content: moment === 'done' ? issueOpaque('reasoning', number, id) : foreign(number, moment),
      }),
      summary: moment === 'added' || text === '' ? [] : [part],
    }),
    events:
      text === '' || model.isOlder
        ? []
        : [
            {
              type: 'response.reasoning_summary_part.added',
              summary_index: 0,
              part: { type: 'summary_text', text: '' },
            },
            ...pieces.map((delta) => ({ type: 'response.reasoning_summary_text.delta', summary_index: 0, delta })),
            { type: 'response.reasoning_summary_text.done', summary_index: 0, text },
            { type: 'response.reasoning_summary_part.done', summary_index: 0, part },
          ],
  }
}

/** Reads like a ciphertext, and no upstream takes it back. */
function foreign(number: number, moment: Moment): string {
  return noise(number * 2 + Number(moment === 'added'), 480)
}

function messageItem({ text, refusal, search }: Answer, status: string): Item {
  const isRefusal = refusal.length > 0
  const pieces = isRefusal ? refusal : text
  const whole = pieces.join('')
  const annotations = search === '' ? [] : annotationsOf(whole)
  const partOf = (words: string): Fields =>
    isRefusal
      ? { type: 'refusal', refusal: words }
      : { type: 'output_text', annotations: words === '' ? [] : annotations, logprobs: [], text: words }
  const kind = isRefusal ? 'response.refusal' : 'response.output_text'
  return {
    at: (id, moment) => ({
      id,
      type: 'message',
      status: moment === 'added' ? 'in_progress' : status,
      content: moment === 'added' ? [] : [partOf(whole)],
      role: 'assistant',
    }),
    events: [
      { type: 'response.content_part.added', content_index: 0, part: partOf('') },
      ...pieces.map((delta) => ({
        type: `${kind}.delta`,
        content_index: 0,
        delta,
        logprobs: isRefusal ? undefined : [],
      })),
      ...annotations.map((each, at) => ({
        type: 'response.output_text.annotation.added',
        content_index: 0,
        annotation_index: at,
        annotation: each,
      })),
      isRefusal
        ? { type: `${kind}.done`, content_index: 0, refusal: whole }
        : { type: `${kind}.done`, content_index: 0, text: whole, logprobs: [] },
      { type: 'response.content_part.done', content_index: 0, part: partOf(whole) },
    ],
  }
}

function callItem(call: AnswerCall, { markers }: Subject, status: string): Item {
  const isCustom = call.kind === 'custom'
  const field = isCustom ? 'input' : 'arguments'
  const kind = isCustom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  return {
    at: (id, moment) => ({
      ...(!markers.asked.has('sparse') && { id }),
      type: isCustom ? 'custom_tool_call' : 'function_call',
      status: moment === 'added' ? 'in_progress' : status,
      [field]: moment === 'added' ? '' : call.arguments,
      call_id: call.id,
      name: call.name,
      ...(call.namespace !== undefined && { namespace: call.namespace }),
    }),
    events: [
      ...fragments(call.arguments).map((delta) => ({ type: `${kind}.delta`, delta })),
      { type: `${kind}.done`, [field]: call.arguments },
    ],
  }
}

/** The links of the text, or its first words where there are none. */
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

function searchItem(query: string): Item {
  return {
    at: (id, moment) => ({
      id,
      type: 'web_search_call',
      status: moment === 'added' ? 'in_progress' : 'completed',
      ...(moment !== 'added' && { action: { type: 'search', query } }),
    }),
    events: ['in_progress', 'searching', 'completed'].map((step) => ({ type: `response.web_search_call.${step}` })),
  }
}

/** The request ended with a `compaction_trigger`. */
function isCompaction({ request: { input = [] } }: Subject): boolean {
  return typeof input !== 'string' && input.at(-1)?.type === 'compaction_trigger'
}

function compactionItem({ call: { number } }: Subject): Item {
  return {
    at: (id) => ({ id, type: 'compaction', encrypted_content: issueOpaque('compaction', number, id) }),
    events: [],
  }
}

// The response around them.

const IN_PROGRESS = { status: 'in_progress', output: [], usage: null, copilot_usage: null }

/**
 * What every frame with a response says of it; most of it is the request's own. Of what the public schemas demand it
 * leaves out what Copilot does (docs/copilot-wire.md, "Responses stream").
 */
function responseBase({ call, request, model }: Subject): Fields {
  return {
    id: `resp_demo_${call.number}`,
    object: 'response',
    created_at: Math.floor(call.nowMs / 1000),
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: {},
    model: `${model.id}-demo`,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: effortOf(request, model), summary: request.reasoning?.summary ?? null },
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

interface Spent {
  readonly input: number
  readonly cached: number
  readonly reasoning: number
  readonly output: number
}

/** Half of a prompt that was sent before counts as read from the cache. */
function spentOn(answer: Answer, { request, model, conversation: { history, promptTokens } }: Subject): Spent {
  const isCached = request['prompt_cache_key'] !== undefined && history.some(({ by }) => by === 'assistant')
  const reasoning = effortOf(request, model) === 'none' ? 0 : Math.max(1, answer.reasoning.length)
  const cached = isCached ? Math.floor(promptTokens / 2) : 0
  return { input: promptTokens, cached, reasoning, output: outputTokens(answer) + reasoning }
}

function usageOf({ input, cached, reasoning, output }: Spent): Fields {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}

function costOf({ model }: Subject, { input, cached, output }: Spent): Fields {
  return copilotUsage(model.prices, { input: input - cached, cacheRead: cached, output })
}
