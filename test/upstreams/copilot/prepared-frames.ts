import { frame, namedFrame } from '../answer/frames.ts'
import { delayOf } from '../inference.ts'
import type { InferencePath, InferenceSubject } from '../inference.ts'
import { numberOf } from '../answer/markers.ts'
import type { CopilotRoutesDeps } from './answer-routes.ts'
import { streamReply } from '../http/outcome.ts'
import type { Outcome } from '../http/outcome.ts'
import { noise } from '../answer/sealed-text.ts'
import { itemId } from '../answer/sealed-text.ts'
import { copilotUsage, quotaHeaders } from './usage.ts'
import { isBench } from './models.ts'

/** Frames for measuring. They are encoded once per server, so that every reply has the same bytes. */
interface PreparedFrames {
  /**
   * One reply of `count` text events and the events around them, with `perWrite` text events in one piece. On
   * `/responses`, where every event differs, at most `MOST_NUMBERED`.
   */
  readonly pieces: (route: InferencePath, count: number, perWrite: number) => readonly Uint8Array[]
}

/** A dialect's text events: either all the same, or numbered. */
interface Prepared {
  readonly opening: Uint8Array
  readonly text: Uint8Array | ((at: number) => string)
  readonly closing: (count: number) => string
}

/** The most numbered events that are kept. */
const MOST_NUMBERED = 20_000

const TEXT = ' prepared'

function costOf(count: number) {
  return copilotUsage(
    { profile: 'gpt-5', price: { input: 125, cacheRead: 12.5, output: 1000 } },
    { input: 10, output: count },
  )
}

const CHAT_BASE = {
  created: 1_750_000_000,
  id: 'chatcmpl-demo-prepared',
  model: 'demo-bench-demo',
  object: 'chat.completion.chunk',
  system_fingerprint: 'fp_demo',
}

function chunk(delta: unknown, finish: string | null = null): unknown {
  return { choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }], ...CHAT_BASE }
}

/** Text events with a usual length and shape of GPT's. They need no normalising. */
const CHAT: Prepared = {
  opening: Buffer.from(frame(chunk({ content: '', role: 'assistant' }))),
  text: Buffer.from(frame(chunk({ content: TEXT }))),
  closing: (count) => {
    const usage = { prompt_tokens: 10, completion_tokens: count, total_tokens: count + 10 }
    return `${frame(chunk({}, 'stop'))}${frame({ ...CHAT_BASE, choices: [], usage, ...costOf(count) })}data: [DONE]\n\n`
  },
}

const MESSAGE = {
  id: 'msg_vrtx_demo_prepared',
  type: 'message',
  role: 'assistant',
  model: 'demo-bench-messages-demo',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 1 },
}

const MESSAGES: Prepared = {
  opening: Buffer.from(
    namedFrame({ type: 'message_start', message: MESSAGE }) +
      namedFrame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  ),
  text: Buffer.from(namedFrame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } })),
  closing: (count) => {
    const delta = { stop_reason: 'end_turn', stop_sequence: null }
    const usage = { input_tokens: 10, output_tokens: count }
    return `${namedFrame({ type: 'content_block_stop', index: 0 })}${namedFrame({ type: 'message_delta', delta, usage, ...costOf(count) })}${namedFrame({ type: 'message_stop' })}data: [DONE]\n\n`
  },
}

const RESPONSE = {
  id: 'resp_demo_prepared',
  object: 'response',
  created_at: 1_750_000_000,
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  model: 'demo-bench-responses-demo',
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
}

/** The number of events before the first text. */
const RESPONSE_OPENING = 4

/** Ids differ from event to event, as upstream's do. With equal ids, normalising would cost nothing. */
const RESPONSES: Prepared = {
  opening: Buffer.from(
    [
      eventFrame('response.created', 0, { response: { ...RESPONSE, status: 'in_progress', output: [] } }),
      eventFrame('response.in_progress', 1, { response: { ...RESPONSE, status: 'in_progress', output: [] } }),
      eventFrame('response.output_item.added', 2, {
        item: { id: itemId(0), type: 'message', status: 'in_progress', content: [], role: 'assistant' },
        output_index: 0,
      }),
      eventFrame('response.content_part.added', 3, {
        content_index: 0,
        item_id: itemId(1),
        output_index: 0,
        part: outputText(''),
      }),
    ].join(''),
  ),
  text: (at) =>
    eventFrame('response.output_text.delta', RESPONSE_OPENING + at, {
      content_index: 0,
      delta: TEXT,
      item_id: itemId(2 + at),
      logprobs: [],
      obfuscation: noise(at, 4 + (at % 12)),
      output_index: 0,
    }),
  closing: (count) => {
    const from = RESPONSE_OPENING + count
    const text = TEXT.repeat(count)
    const item = (id: number): unknown => ({
      id: itemId(id),
      type: 'message',
      status: 'completed',
      content: [outputText(text)],
      role: 'assistant',
    })
    const position = { content_index: 0, item_id: itemId(from), output_index: 0 }
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: count,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: count + 10,
    }
    return [
      eventFrame('response.output_text.done', from, { ...position, text, logprobs: [] }),
      eventFrame('response.content_part.done', from + 1, {
        ...position,
        item_id: itemId(from + 1),
        part: outputText(text),
      }),
      eventFrame('response.output_item.done', from + 2, { item: item(from + 2), output_index: 0 }),
      eventFrame('response.completed', from + 3, {
        response: { ...RESPONSE, status: 'completed', output: [item(from + 3)], usage, ...costOf(count) },
      }),
    ].join('')
  },
}

function eventFrame(type: string, sequence: number, fields: Readonly<Record<string, unknown>>): string {
  return namedFrame({ type, sequence_number: sequence, ...fields })
}

function outputText(text: string): unknown {
  return { type: 'output_text', annotations: [], logprobs: [], text }
}

const PREPARED: Readonly<Record<InferencePath, Prepared>> = {
  '/chat/completions': CHAT,
  '/responses': RESPONSES,
  '/v1/messages': MESSAGES,
}

function createPreparedFrames(): PreparedFrames {
  const groups = new Map<InferencePath, ReadonlyGroups>()
  return {
    pieces: (route, count, perWrite) => {
      const { opening, text, closing } = PREPARED[route]
      const isNumbered = typeof text === 'function'
      const most = isNumbered ? Math.min(count, MOST_NUMBERED) : count
      const known = groups.get(route) ?? (isNumbered ? numbered(text) : alike(text))
      groups.set(route, known)
      return [opening, ...known(most, Math.max(1, Math.min(perWrite, most))), Buffer.from(closing(most))]
    },
  }
}

/** Returns the text events of a reply, grouped into pieces. */
type ReadonlyGroups = (count: number, perWrite: number) => readonly Uint8Array[]

/** Pieces with the same events share their bytes in memory. */
function alike(text: Uint8Array): ReadonlyGroups {
  const joined = new Map<number, Uint8Array>()
  const group = (size: number): Uint8Array => {
    const made = joined.get(size) ?? Buffer.concat(Array.from({ length: size }, () => text))
    joined.set(size, made)
    return made
  }
  return (count, perWrite) => {
    const pieces: Uint8Array[] = []
    for (let left = count; left > 0; left -= perWrite) pieces.push(group(Math.min(left, perWrite)))
    return pieces
  }
}

/** Makes each event when it is first needed, and keeps it. */
function numbered(text: (at: number) => string): ReadonlyGroups {
  const events: Uint8Array[] = []
  return (count, perWrite) => {
    while (events.length < count) events.push(Buffer.from(text(events.length)))
    if (perWrite === 1) return events.slice(0, count)
    const pieces: Uint8Array[] = []
    for (let at = 0; at < count; at += perWrite) {
      pieces.push(Buffer.concat(events.slice(at, Math.min(count, at + perWrite))))
    }
    return pieces
  }
}

/** The number of events if the prompt states none. */
const DEFAULT_PREPARED = 100

/** Sends prepared events for the models for measuring, and for prompts with `[demo:frames N PER-WRITE?]`. */
export function createPreparedReplies() {
  const prepared = createPreparedFrames()
  return (path: InferencePath, { call, model, markers }: InferenceSubject<unknown>): Outcome | undefined => {
    const asked = markers.others.get('frames')
    if (!isBench(model) && asked === undefined) return undefined
    const count = numberOf(asked?.[0], DEFAULT_PREPARED)
    const perWrite = numberOf(asked?.[1], call.pace.eventsPerWrite)
    return streamReply(prepared.pieces(path, count, perWrite), {
      headers: quotaHeaders(call.nowMs),
      delayMs: delayOf(markers),
    })
  }
}

/** The demo's routes with prepared events, for measuring. */
export function createPreparedRoutes(): NonNullable<CopilotRoutesDeps['checks']> {
  const reply = createPreparedReplies()
  const onRoute = (path: InferencePath) => ({
    markers: ['frames'],
    refuse: (subject: InferenceSubject<unknown>) => reply(path, subject),
  })
  return {
    chat: onRoute('/chat/completions'),
    responses: onRoute('/responses'),
    messages: onRoute('/v1/messages'),
  }
}
