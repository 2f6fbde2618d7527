import type { Answer, AnswerCall } from '../answer.ts'
import { fragments, outputTokens, readable } from '../habits/habit.ts'
import type { Frames } from '../habits/habit.ts'
import { noise } from '../opaque-text.ts'
import { effortOf } from '../responses/request.ts'
import { issueCiphertext } from './ciphertext.ts'
import { errorOfCode } from './failures.ts'
import { rateLimitEvent } from './limits.ts'
import type { CodexSubject } from './request.ts'

type Fields = Readonly<Record<string, unknown>>

/** One item of the answer. */
interface Item {
  /** The item as `output_item.added` shows it. */
  readonly opening: Fields
  readonly done: Fields
  /** What comes between the two: type and fields of each event, the item's id and place left out. */
  readonly events: readonly Event[]
}

type Event = readonly [type: string, fields: Fields]

/**
 * The event stream of `/responses` with the habits of docs/codex-wire.md, "Event stream": comments and asides, calls that
 * are open at once, a ciphertext that counts at the end only, a last event without output. The key API has none of these
 * but the calls. `[demo:sparse]`: items are whole in their `done` event and nowhere else.
 */
export function encodeCodex(answer: Answer, subject: CodexSubject): Frames {
  const { call, markers } = subject
  const isChatgpt = call.profile === 'chatgpt'
  const isSparse = markers.asked.has('sparse')
  const base = responseBase(subject)
  const content: string[] = []
  let sequence = 0
  const push = (type: string, fields: Fields): void => {
    content.push(eventFrame(type, { sequence_number: sequence, ...fields }))
    sequence += 1
  }
  const aside = (frame: string): void => {
    if (isChatgpt && call.settings.sendsAsides) content.push(frame)
  }

  aside(': keepalive\n\n')
  push('response.created', { response: { ...base, ...IN_PROGRESS } })
  push('response.in_progress', { response: { ...base, ...IN_PROGRESS } })
  aside(eventFrame('codex.rate_limits', rateLimitEvent(call.person, call.settings, call.nowMs)))
  const leadCount = content.length

  const items = itemsOf(answer, subject)
  const open = ([place, { opening }]: Placed): void => {
    push('response.output_item.added', { output_index: place, item: opening })
  }
  const event = ([place, { done }]: Placed, [type, fields]: Event): void => {
    push(type, { item_id: done['id'], output_index: place, ...fields })
  }
  const close = ([place, { done }]: Placed): void => {
    push('response.output_item.done', { output_index: place, item: done })
  }
  const placed: readonly Placed[] = [...items.entries()]
  for (const each of placed.filter(([, item]) => !isCall(item))) {
    if (!isSparse) {
      open(each)
      for (const one of each[1].events) event(each, one)
    }
    close(each)
    aside(eventFrame('response.metadata', { metadata: { demo: true } }))
  }
  const calls = placed.filter(([, item]) => isCall(item))
  for (const each of calls) open(isSparse ? [each[0], nameless(each[1])] : each)
  for (const [each, one] of isSparse ? [] : interleaved(calls)) event(each, one)
  for (const each of calls) close(each)
  aside(eventFrame('codex.response.metadata', { turn_state: `ts_demo_${call.number}` }))

  const { status, reason } = endingOf(answer)
  const last = {
    ...base,
    status,
    incomplete_details: reason === '' ? null : { reason },
    output: isChatgpt ? [] : items.map(({ done }) => done),
    usage: usageOf(answer, subject),
    ...(isChatgpt && { end_turn: answer.calls.length === 0 }),
  }
  return {
    leadCount,
    content,
    closing: [eventFrame(`response.${status}`, { sequence_number: sequence, response: last })],
    error: ({ sent, code = 'server_is_overloaded', isBare }) => {
      const number = content.slice(0, sent).filter((frame) => frame.includes('"sequence_number":')).length
      const wording = errorIn(code, subject)
      if (!isBare) {
        const response = { ...base, ...IN_PROGRESS, status: 'failed', error: { code, ...wording } }
        return eventFrame('response.failed', { sequence_number: number, response })
      }
      const bare = isChatgpt
        ? { status: STATUSES[code] ?? 400, error: wording }
        : { code, message: wording['message'], param: null }
      return eventFrame('error', { sequence_number: number, ...bare })
    },
  }
}

/** The answer as one response object, for those with a key who do not stream. */
export function wholeCodexResponse(answer: Answer, subject: CodexSubject): Fields {
  const { status, reason } = endingOf(answer)
  return {
    ...responseBase(subject),
    status,
    incomplete_details: reason === '' ? null : { reason },
    output: itemsOf(answer, subject).map(({ done }) => done),
    usage: usageOf(answer, subject),
  }
}

type Placed = readonly [place: number, item: Item]

function isCall({ done }: Item): boolean {
  return done['type'] === 'function_call' || done['type'] === 'custom_tool_call'
}

/** The name stands in the `done` event for the first time. */
function nameless(item: Item): Item {
  return { ...item, opening: { ...item.opening, name: '' } }
}

/** One event of each call in turn. */
function interleaved(calls: readonly Placed[]): readonly (readonly [Placed, Event])[] {
  const most = Math.max(0, ...calls.map(([, { events }]) => events.length))
  const turns: (readonly [Placed, Event])[] = []
  for (let at = 0; at < most; at += 1) {
    for (const each of calls) {
      const one = each[1].events[at]
      if (one !== undefined) turns.push([each, one])
    }
  }
  return turns
}

/** Named twice, as everywhere in this dialect. */
function eventFrame(type: string, fields: Fields): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

/** Status that a failure would have had before the stream. */
const STATUSES: Readonly<Record<string, number>> = {
  server_is_overloaded: 503,
  slow_down: 503,
  server_error: 500,
  usage_limit_reached: 429,
  usage_not_included: 429,
  rate_limit_exceeded: 429,
}

function errorIn(code: string, { call: { profile, nowMs, person }, model }: CodexSubject): Fields {
  return errorOfCode(code, { profile, nowMs, model: model.slug, plan: person.plan })
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

function itemsOf(answer: Answer, subject: CodexSubject): readonly Item[] {
  const { call, request, markers } = subject
  const status = answer.finish === 'length' || answer.finish === 'content_filter' ? 'incomplete' : 'completed'
  const idOf = (prefix: string, place: number): string =>
    `${prefix}_demo${String(call.number).padStart(12, '0')}${String(place).padStart(4, '0')}`
  const input = typeof request.input === 'string' ? [] : (request.input ?? [])
  if (input.at(-1)?.type === 'compaction_trigger') return [compactionItem(idOf('cmp', 0), subject)]
  const items: Item[] = []
  const add = (prefix: string, make: (id: string) => Item): void => {
    items.push(make(idOf(prefix, items.length)))
  }
  if (effortOf(request, subject.model) !== 'none') add('rs', (id) => reasoningItem(id, answer, subject))
  if (answer.search !== '') add('ws', (id) => searchItem(id, answer.search))
  if (answer.text.length > 0 || answer.refusal.length > 0 || answer.calls.length === 0) {
    add('msg', (id) => messageItem(id, answer, answer.calls.length > 0 ? 'completed' : status))
  }
  const calls = markers.asked.has('wrapper') && answer.calls.length > 0 ? [wrapped(answer.calls)] : answer.calls
  for (const [at, each] of calls.entries()) {
    const end = at < calls.length - 1 ? 'completed' : status
    add(each.kind === 'custom' ? 'ctc' : 'fc', (id) => callItem(id, each, end))
  }
  return items
}

/** A wrapper that nobody declared (docs/codex-wire.md, "Request body"). */
function wrapped(calls: readonly AnswerCall[]): AnswerCall {
  const uses = calls.map(({ name, arguments: text }) => ({
    recipient_name: `functions.${name}`,
    // Arguments of an answer are JSON, unless a marker cut them off or the tool takes plain text.
    parameters: parsedOr(text),
  }))
  const [first] = calls
  return {
    id: first?.id ?? 'call_demo',
    kind: 'function',
    name: 'parallel',
    arguments: JSON.stringify({ tool_uses: uses }),
  }
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function reasoningItem(id: string, answer: Answer, { call, request }: CodexSubject): Item {
  const isEncrypted = (request.include ?? []).includes('reasoning.encrypted_content')
  const pieces = request.reasoning?.summary === undefined ? [] : readable(answer)
  const half = Math.ceil(pieces.length / 2)
  // One item has several parts where there is enough to say.
  const parts = [pieces.slice(0, half), pieces.slice(half)].filter((part) => part.length > 0)
  const shown = parts.map((part) => ({ type: 'summary_text', text: part.join('') }))
  const sealed = issueCiphertext('reasoning', call.number, { account: call.account, id })
  return {
    // What stands here is a snapshot from before the thought, which upstream does not take back.
    opening: { id, type: 'reasoning', ...(isEncrypted && { encrypted_content: noise(call.number, 480) }), summary: [] },
    done: { id, type: 'reasoning', ...(isEncrypted && { encrypted_content: sealed }), summary: shown },
    events: parts.flatMap(summaryEvents),
  }
}

function summaryEvents(pieces: readonly string[], at: number): readonly Event[] {
  const text = pieces.join('')
  const deltas = pieces.map((delta): Event => [
    'response.reasoning_summary_text.delta',
    { summary_index: at, delta, obfuscation: padding(at) },
  ])
  return [
    ['response.reasoning_summary_part.added', { summary_index: at, part: { type: 'summary_text', text: '' } }],
    ...deltas,
    ['response.reasoning_summary_text.done', { summary_index: at, text }],
    ['response.reasoning_summary_part.done', { summary_index: at, part: { type: 'summary_text', text } }],
  ]
}

/** Deltas are padded, so that their size does not tell what is in them. */
function padding(serial: number): string {
  return noise(serial, 4 + (serial % 12))
}

function messageItem(id: string, { text, refusal, search }: Answer, status: string): Item {
  const isRefusal = refusal.length > 0
  const pieces = isRefusal ? refusal : text
  const whole = pieces.join('')
  const annotations =
    search === ''
      ? []
      : [
          {
            type: 'url_citation',
            url: 'https://example.com/simulated',
            title: 'Simulated result',
            start_index: 0,
            end_index: Math.min(9, whole.length),
          },
        ]
  const partOf = (words: string): Fields =>
    isRefusal
      ? { type: 'refusal', refusal: words }
      : { type: 'output_text', annotations: words === '' ? [] : annotations, logprobs: [], text: words }
  const kind = isRefusal ? 'response.refusal' : 'response.output_text'
  const frame = { id, type: 'message', role: 'assistant', phase: 'final_answer' }
  return {
    opening: { ...frame, status: 'in_progress', content: [] },
    done: { ...frame, status, content: [partOf(whole)] },
    events: [
      ['response.content_part.added', { content_index: 0, part: partOf('') }],
      ...pieces.map((delta, at): Event => [
        `${kind}.delta`,
        { content_index: 0, delta, ...(!isRefusal && { logprobs: [] }), obfuscation: padding(at) },
      ]),
      ...annotations.map((annotation, at): Event => [
        'response.output_text.annotation.added',
        { content_index: 0, annotation_index: at, annotation },
      ]),
      [`${kind}.done`, { content_index: 0, ...(isRefusal ? { refusal: whole } : { text: whole, logprobs: [] }) }],
      ['response.content_part.done', { content_index: 0, part: partOf(whole) }],
    ],
  }
}

function callItem(id: string, call: AnswerCall, status: string): Item {
  const isCustom = call.kind === 'custom'
  const field = isCustom ? 'input' : 'arguments'
  const kind = isCustom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  const frame = {
    id,
    type: isCustom ? 'custom_tool_call' : 'function_call',
    call_id: call.id,
    name: call.name,
    ...(call.namespace !== undefined && { namespace: call.namespace }),
  }
  return {
    opening: { ...frame, status: 'in_progress', [field]: '' },
    done: { ...frame, status, [field]: call.arguments },
    events: [
      ...fragments(call.arguments).map((delta, at): Event => [`${kind}.delta`, { delta, obfuscation: padding(at) }]),
      [`${kind}.done`, { [field]: call.arguments }],
    ],
  }
}

function searchItem(id: string, query: string): Item {
  const frame = { id, type: 'web_search_call' }
  return {
    opening: { ...frame, status: 'in_progress' },
    done: { ...frame, status: 'completed', action: { type: 'search', query } },
    events: ['in_progress', 'searching', 'completed'].map((step): Event => [`response.web_search_call.${step}`, {}]),
  }
}

function compactionItem(id: string, { call: { number, account } }: CodexSubject): Item {
  const sealed = issueCiphertext('compaction', number, { account, id })
  return {
    opening: { id, type: 'compaction', encrypted_content: noise(number, 480) },
    done: { id, type: 'compaction', encrypted_content: sealed },
    events: [],
  }
}

// The response around them.

const IN_PROGRESS = { status: 'in_progress', output: [], usage: null }

/** What every frame with a response says of it; most of it is the request's own. */
function responseBase({ call, members, request, model }: CodexSubject): Fields {
  return {
    id: `resp_demo${call.profile === 'chatgpt' ? '' : 'key'}${String(call.number).padStart(12, '0')}`,
    object: 'response',
    created_at: Math.floor(call.nowMs / 1000),
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: {},
    model: model.slug,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt_cache_key: members['prompt_cache_key'] ?? null,
    reasoning: {
      effort: request.reasoning?.effort ?? model.defaultEffort,
      summary: request.reasoning?.summary ?? null,
    },
    safety_identifier: 'user-demo',
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: request.text?.format ?? { type: 'text' }, verbosity: request.text?.verbosity ?? 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    user: null,
  }
}

/** Half of a prompt that was sent before, under the same key, counts as read from the cache. */
function usageOf(answer: Answer, { members, conversation: { history, promptTokens } }: CodexSubject): Fields {
  const isCached = members['prompt_cache_key'] !== undefined && history.some(({ by }) => by === 'assistant')
  const cached = isCached ? Math.floor(promptTokens / 2) : 0
  const reasoning = Math.max(1, answer.reasoning.length)
  const output = outputTokens(answer) + reasoning
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: promptTokens + output,
  }
}
