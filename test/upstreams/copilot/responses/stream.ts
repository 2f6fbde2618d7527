import type { Answer } from '../../answer/answer.ts'
import { FAILURE_MESSAGE, namedFrame, outputTokens, readable } from '../../answer/frames.ts'
import type { Frames } from '../../answer/frames.ts'
import type { InferenceSubject } from '../../inference.ts'
import { issueOpaque, noise } from '../../answer/sealed-text.ts'
import { copilotUsage, quotaSnapshots } from '../usage.ts'
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
import { itemId } from '../../answer/sealed-text.ts'

type Subject = InferenceSubject<ResponsesRequest>

/**
 * Encodes the event stream of `/responses` with the quirks of the real one (docs/copilot-wire.md, "Responses stream"):
 * item ids that differ from event to event, ciphertexts that differ from frame to frame, `obfuscation`, `logprobs: []`,
 * `copilot_usage`, and a summary that older models send in the done event only.
 */
export function encodeOddResponses(answer: Answer, subject: Subject): Frames {
  const { call, request, model, markers } = subject
  const ids = createIds(call.number)
  const items = itemsOf(answer, subject)
  const content: string[] = []
  const push = (type: string, fields: Fields): void => {
    content.push(namedFrame({ type, sequence_number: content.length, ...fields }))
  }
  const effort = effortOf(request, model)
  const id = `resp_demo_${call.number}`
  const base = responseBase({ id, nowMs: call.nowMs, model: `${model.id}-demo`, effort }, request)
  const started = { ...base, ...IN_PROGRESS, copilot_usage: null }
  push('response.created', { response: started })
  push('response.in_progress', { response: started })
  for (const [at, item] of items.entries()) {
    push('response.output_item.added', { item: item.at(ids.next(), 'added'), output_index: at })
    for (const [type, fields] of item.events) {
      push(type, { ...fields, item_id: ids.next(), output_index: at, ...obfuscated(type, ids.count()) })
    }
    push('response.output_item.done', { item: item.at(ids.next(), 'done'), output_index: at })
  }
  const output = markers.others.has('sparse') ? [] : items.map((item) => item.at(ids.next(), 'completed'))
  const ending = endingOf(answer)
  const spent = spentOn(answer, subject)
  const cost = costOf(subject, spent)
  return {
    leadCount: 2,
    content,
    closing: [
      namedFrame({
        type: `response.${ending.status}`,
        sequence_number: content.length,
        copilot_quota_snapshots: quotaSnapshots(call.nowMs),
        // Real streams have the cost in either position. That the model determines the position is made up.
        ...(model.row.older !== true && cost),
        response: { ...base, ...ending, output, usage: usageOf(spent), ...(model.row.older === true && cost) },
      }),
    ],
    error: ({ sent, code = 'server_is_overloaded', isBare }) =>
      isBare
        ? namedFrame({ type: 'error', sequence_number: sent, code, message: FAILURE_MESSAGE, param: null })
        : namedFrame({
            type: 'response.failed',
            sequence_number: sent,
            response: { ...started, status: 'failed', error: { code, message: FAILURE_MESSAGE } },
          }),
  }
}

/** Tokens of an answer. `input` includes `cached`, and `output` includes `reasoning`. */
interface Spent {
  readonly input: number
  readonly cached: number
  readonly reasoning: number
  readonly output: number
}

interface Ids {
  /** Returns an id that no event has had. */
  readonly next: () => string
  /** Ids made so far. */
  readonly count: () => number
}

/** More than the events of one answer, so that two replies have different ids. */
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

/** Padding hides the length of a delta. */
function obfuscated(type: string, serial: number): Fields {
  return type.endsWith('.delta') ? { obfuscation: noise(serial, 4 + (serial % 12)) } : {}
}

function itemsOf(answer: Answer, subject: Subject): readonly Item[] {
  const { request, model, markers } = subject
  if (wantsCompaction(request)) return [compactionItem(subject)]
  const isSparse = markers.others.has('sparse')
  return [
    ...(effortOf(request, model) === 'none' ? [] : [reasoningItem(answer, subject)]),
    ...(answer.search === '' ? [] : [searchItem(answer.search)]),
    ...messageAndCalls(answer, answer.calls, {
      message: (status) => messageItem(answer, status),
      call: (call, status) => (isSparse ? withoutId(callItem(call, status)) : callItem(call, status)),
    }),
  ]
}

function withoutId(item: Item): Item {
  return { ...item, at: (id, moment) => ({ ...item.at(id, moment), id: undefined }) }
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
        encrypted_content: moment === 'added' ? foreign(number) : issueOpaque('reasoning', number, id),
      }),
      summary: moment === 'added' || text === '' ? [] : [part],
    }),
    events: text === '' || model.row.older === true ? [] : summaryEvents(pieces),
  }
}

/** Looks like a ciphertext, but no upstream accepts it. */
function foreign(number: number): string {
  return noise(number * 2 + 1, 480)
}

function compactionItem({ call: { number } }: Subject): Item {
  return {
    at: (id) => ({ id, type: 'compaction', encrypted_content: issueOpaque('compaction', number, id) }),
    events: [],
  }
}

function costOf({ model }: Subject, { input, cached, output }: Spent): Fields {
  return copilotUsage(model.row, { input: input - cached, cacheRead: cached, output })
}

/** For a model that reasons, at least one token is reasoning. */
function spentOn(answer: Answer, { request, model, conversation }: Subject): Spent {
  const { history, promptTokens } = conversation
  const reasoning = effortOf(request, model) === 'none' ? 0 : Math.max(1, answer.reasoning.length)
  const cached = cachedTokens(request, history, promptTokens)
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
