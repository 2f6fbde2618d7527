import type { Answer } from '../answer/answer.ts'
import { namedFrame, outputTokens, readable } from '../answer/frames.ts'
import type { Frames } from '../answer/frames.ts'
import { noise } from '../answer/sealed-text.ts'
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
} from '../copilot/responses/items.ts'
import type { Fields, Item, ItemEvent, Moment } from '../copilot/responses/items.ts'
import { effortOf } from '../copilot/responses/request.ts'
import { issueCiphertext } from './ciphertext.ts'
import { errorOfCode } from './failures.ts'
import { windowsOf } from './limits.ts'
import type { PlanUse, Window } from './limits.ts'
import type { CodexPerson } from './tokens.ts'
import { contextOf } from './request.ts'
import type { CodexSubject } from './request.ts'

/** An item, and the prefix of its id. */
type PrefixedItem = readonly [prefix: string, item: Item]

/** An item with its id, which is the same in every event, and its index in the output. */
interface PlacedItem extends Item {
  readonly id: string
  readonly index: number
  readonly isCall: boolean
}

/**
 * Encodes the event stream of `/responses` with the quirks of docs/codex-wire.md, "Event stream": comments and extra
 * events, interleaved calls, a ciphertext that is valid in its last event only, and a final event without output. The
 * key API has interleaved calls only. `[demo:sparse]`: an item is complete in its `done` event and nowhere else.
 */
export function encodeCodex(answer: Answer, subject: CodexSubject): Frames {
  const { call, markers } = subject
  const isChatgpt = call.api === 'chatgpt'
  const isSparse = markers.others.has('sparse')
  const base = baseOf(subject)
  const content: string[] = []
  let sequence = 0
  const push = (type: string, fields: Fields): void => {
    content.push(namedFrame({ type, sequence_number: sequence, ...fields }))
    sequence += 1
  }
  const aside = (frame: string): void => {
    if (isChatgpt && call.settings.sendsAsides) content.push(frame)
  }

  aside(': keepalive\n\n')
  push('response.created', { response: { ...base, ...IN_PROGRESS } })
  push('response.in_progress', { response: { ...base, ...IN_PROGRESS } })
  aside(namedFrame({ type: 'codex.rate_limits', ...rateLimitEvent(call.person, call.settings, call.nowMs) }))
  const leadCount = content.length

  const items = itemsOf(answer, subject)
  const open = ({ id, index, at }: PlacedItem, change: Fields = {}): void => {
    push('response.output_item.added', { output_index: index, item: { ...at(id, 'added'), ...change } })
  }
  const event = ({ id, index }: PlacedItem, [type, fields]: ItemEvent): void => {
    const padding = type.endsWith('.delta') ? { obfuscation: noise(sequence, 4 + (sequence % 12)) } : {}
    push(type, { item_id: id, output_index: index, ...fields, ...padding })
  }
  const close = ({ id, index, at }: PlacedItem): void => {
    push('response.output_item.done', { output_index: index, item: at(id, 'done') })
  }
  for (const item of items.filter(({ isCall }) => !isCall)) {
    if (!isSparse) {
      open(item)
      for (const each of item.events) event(item, each)
    }
    close(item)
    aside(namedFrame({ type: 'response.metadata', metadata: { demo: true } }))
  }
  const calls = items.filter(({ isCall }) => isCall)
  // In a sparse stream, the `done` event is the first one with the name.
  for (const item of calls) open(item, isSparse ? { name: '' } : {})
  for (const [item, each] of isSparse ? [] : interleaved(calls)) event(item, each)
  for (const item of calls) close(item)
  aside(namedFrame({ type: 'codex.response.metadata', turn_state: `ts_demo_${call.number}` }))

  const ending = endingOf(answer)
  const last = {
    ...base,
    ...ending,
    output: isChatgpt ? [] : items.map(({ id, at }) => at(id, 'completed')),
    usage: usageOf(answer, subject),
    ...(isChatgpt && { end_turn: answer.calls.length === 0 }),
  }
  return {
    leadCount,
    content,
    closing: [namedFrame({ type: `response.${ending.status}`, sequence_number: sequence, response: last })],
    error: ({ sent, code = 'server_is_overloaded', isBare }) => {
      const number = content.slice(0, sent).filter((frame) => frame.includes('"sequence_number":')).length
      const error = errorOfCode(code, contextOf(subject))
      if (!isBare) {
        const response = { ...base, ...IN_PROGRESS, status: 'failed', error: { code, ...error } }
        return namedFrame({ type: 'response.failed', sequence_number: number, response })
      }
      const bare = isChatgpt
        ? { status: STATUSES[code] ?? 400, error }
        : { code, message: error['message'], param: null }
      return namedFrame({ type: 'error', sequence_number: number, ...bare })
    },
  }
}

/** Interleaves the events of the calls. */
function interleaved(calls: readonly PlacedItem[]): readonly (readonly [PlacedItem, ItemEvent])[] {
  const most = Math.max(0, ...calls.map(({ events }) => events.length))
  const turns: (readonly [PlacedItem, ItemEvent])[] = []
  for (let at = 0; at < most; at += 1) {
    for (const call of calls) {
      const event = call.events[at]
      if (event !== undefined) turns.push([call, event])
    }
  }
  return turns
}

/** The HTTP status of each failure if it occurs before the stream. */
const STATUSES: Readonly<Record<string, number>> = {
  server_is_overloaded: 503,
  slow_down: 503,
  server_error: 500,
  usage_limit_reached: 429,
  usage_not_included: 429,
  rate_limit_exceeded: 429,
}

function itemsOf(answer: Answer, subject: CodexSubject): readonly PlacedItem[] {
  const { call, request, model } = subject
  const idOf = (prefix: string, index: number): string =>
    `${prefix}_demo${String(call.number).padStart(12, '0')}${String(index).padStart(4, '0')}`
  const made: readonly PrefixedItem[] = wantsCompaction(request)
    ? [['cmp', compactionItem(subject)]]
    : [
        ...(effortOf(request, model) === 'none' ? [] : [prefixed('rs', reasoningItem(answer, subject))]),
        ...(answer.search === '' ? [] : [prefixed('ws', searchItem(answer.search))]),
        ...messageAndCalls<PrefixedItem>(answer, answer.calls, {
          message: (status) => prefixed('msg', inFinalPhase(messageItem(answer, status))),
          call: (each, status) => prefixed(each.kind === 'custom' ? 'ctc' : 'fc', callItem(each, status)),
        }),
      ]
  return made.map(([prefix, { at, events }], index) => ({
    at,
    events,
    id: idOf(prefix, index),
    index,
    isCall: prefix === 'fc' || prefix === 'ctc',
  }))
}

function prefixed(prefix: string, item: Item): PrefixedItem {
  return [prefix, item]
}

function inFinalPhase(item: Item): Item {
  return { ...item, at: (id, moment) => ({ ...item.at(id, moment), phase: 'final_answer' }) }
}

function reasoningItem(answer: Answer, { call, request }: CodexSubject): Item {
  const isEncrypted = (request.include ?? []).includes('reasoning.encrypted_content')
  const pieces = request.reasoning?.summary === undefined ? [] : readable(answer)
  const half = Math.ceil(pieces.length / 2)
  // If there are enough pieces, the summary has two parts.
  const parts = [pieces.slice(0, half), pieces.slice(half)].filter((part) => part.length > 0)
  const summary = parts.map((part) => ({ type: 'summary_text', text: part.join('') }))
  return {
    at: (id, moment) => ({
      id,
      type: 'reasoning',
      ...(isEncrypted && { encrypted_content: ciphertextAt(moment, 'reasoning', id, call) }),
      summary: moment === 'added' ? [] : summary,
    }),
    events: parts.flatMap(summaryEvents),
  }
}

function compactionItem({ call }: CodexSubject): Item {
  return {
    at: (id, moment) => ({ id, type: 'compaction', encrypted_content: ciphertextAt(moment, 'compaction', id, call) }),
    events: [],
  }
}

/** The first event has a ciphertext from before the reasoning, which upstream does not accept back. */
function ciphertextAt(
  moment: Moment,
  kind: 'reasoning' | 'compaction',
  id: string,
  { number, account }: CodexSubject['call'],
): string {
  return moment === 'added' ? noise(number, 480) : issueCiphertext(kind, number, { account, id })
}

// The members of the response object outside its items.

function baseOf({ call, request, model }: CodexSubject): Fields {
  const id = `resp_demo${call.api === 'chatgpt' ? '' : 'key'}${String(call.number).padStart(12, '0')}`
  const effort = request.reasoning?.effort ?? model.defaultEffort
  return {
    ...responseBase({ id, nowMs: call.nowMs, model: model.slug, effort }, request),
    background: false,
    max_tool_calls: null,
    prompt_cache_key: request['prompt_cache_key'] ?? null,
    safety_identifier: 'user-demo',
    store: false,
    top_logprobs: 0,
  }
}

function usageOf(answer: Answer, { request, conversation: { history, promptTokens } }: CodexSubject): Fields {
  const reasoning = Math.max(1, answer.reasoning.length)
  const output = outputTokens(answer) + reasoning
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens(request, history, promptTokens), cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: promptTokens + output,
  }
}

/** The rate limits as an event of the stream. */
function rateLimitEvent({ plan }: CodexPerson, use: PlanUse, nowMs: number): Record<string, unknown> {
  const { primary, secondary } = windowsOf(use, nowMs)
  return {
    plan_type: plan,
    rate_limits: { allowed: true, limit_reached: false, primary: inEvent(primary), secondary: inEvent(secondary) },
    credits: null,
    metered_limit_name: null,
  }
}

function inEvent({ usedPercent, windowMinutes, resetAt }: Window): Record<string, number> {
  return { used_percent: usedPercent, window_minutes: windowMinutes, reset_at: resetAt }
}
