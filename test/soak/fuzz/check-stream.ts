import { isDeepStrictEqual } from 'node:util'
import { Fault } from '../../../src/errors.ts'
import type { ProxyError } from '../../../src/errors.ts'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { SseEvent } from '../../../src/sse/decode.ts'
import type { Dialect, ReplyFold, ReplySeed, ReplyStream, UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { dialects } from '../../../src/translate/dialects.ts'
import { translateCall } from '../../../src/translate/translated-call.ts'
import type { ReplyReader } from '../../../src/translate/translated-call.ts'
import { isObject, objectsOf, stringify } from '../../../src/json/json.ts'
import { contextOf, seedOf, upstreamNotesOf } from './contexts.ts'
import { dialectIds, parsed, streams, vocabulary } from './corpus.ts'
import { mutateJson, mutateText } from './mutate.ts'
import type { Edit } from './mutate.ts'
import { remembered } from '../../translate/turns.ts'

/** One reply: a stream of the corpus with its changes, and who reads it. */
export interface StreamCase {
  readonly upstream: number
  readonly caller: number
  readonly base: number
  /** Of the list of events: lost, doubled, moved, of another stream, cut off. */
  readonly listEdits: readonly Edit[]
  /** Of one event's data each: which event, and what is done to it. */
  readonly eventEdits: readonly (readonly [at: number, edits: readonly Edit[]])[]
  readonly seed: number
  /** Where the bytes are cut; none: the events go in as they are. */
  readonly cuts: readonly number[]
}

export function eventsOf({ upstream, base, listEdits, eventEdits }: StreamCase): readonly SseEvent[] {
  const all = streams[dialectIds[upstream % 3] ?? 'chat']
  let events = [...(all[base % all.length] ?? [])]
  for (const [at, edits] of eventEdits) {
    const place = at % events.length
    const event = events[place]
    if (event !== undefined) events[place] = edited(event, edits)
  }
  for (const [kind, place, pick] of listEdits) {
    const at = place % (events.length + 1)
    switch (kind % 6) {
      case 0:
        events.splice(at, 1)
        break
      case 1:
        events.splice(at, 0, ...events.slice(at, at + 1 + (pick % 3)))
        break
      case 2:
        events.splice(pick % (events.length + 1), 0, ...events.splice(at, 1))
        break
      case 3: {
        const other = streams[dialectIds[pick % 3] ?? 'chat']
        const from = other[(pick >> 2) % other.length] ?? []
        events.splice(at, 0, ...from.slice((pick >> 5) % (from.length + 1)).slice(0, 3))
        break
      }
      case 4:
        events = events.slice(0, at)
        break
      default:
        events.splice(at, 0, strayEvents[pick % strayEvents.length] ?? { event: '', data: '' })
    }
  }
  return events
}

const strayEvents: readonly SseEvent[] = [
  { event: '', data: '[DONE]' },
  { event: 'ping', data: '{"type":"ping"}' },
  { event: 'error', data: '{"error":{"message":"x","code":429}}' },
  { event: '', data: '' },
  { event: '', data: 'null' },
  { event: '', data: '[]' },
  { event: '', data: '{}' },
  { event: '__proto__', data: '{"type":"__proto__"}' },
  { event: 'message_stop', data: '{"type":"message_stop"}' },
  { event: 'response.completed', data: '{"type":"response.completed","response":{}}' },
  { event: '', data: '{"choices":[{"finish_reason":"stop"}]}' },
  { event: '', data: '{"choices":[{"delta":{"tool_calls":[{},{"index":1e9},{"index":-1,"id":1}]}}]}' },
]

function edited({ event, data }: SseEvent, edits: readonly Edit[]): SseEvent {
  if (parsed(data) === undefined || (edits[0]?.[0] ?? 0) % 20 === 19) return { event, data: mutateText(data, edits) }
  return { event, data: mutateJson(data, edits, vocabulary) }
}

/** How replies are read, of every caller by every upstream; what is special about a reply is in its seed. */
const readers: ReadonlyMap<string, ReplyReader> = new Map(
  dialectIds.flatMap((callerId) =>
    dialectIds.map((upstreamId): [string, ReplyReader] => {
      const caller = dialects[callerId]
      const messages = [{ role: 'user', content: 'x' }]
      const body = { model: 'm', max_tokens: 9, ...(callerId === 'responses' ? { input: 'x' } : { messages }) }
      const request = caller.decodeRequest(JSON.stringify(body))
      return [
        `${callerId} ${upstreamId}`,
        translateCall(caller, dialects[upstreamId].upstream, request, contextOf(1)).reader,
      ]
    }),
  ),
)

interface Emitted {
  readonly text: string
  readonly body: unknown
  readonly fault: ProxyError | undefined
}

/**
 * Reads the stream both ways, and what was written once more. Throws what is no answer, and where they disagree.
 * @returns whether the reply came to a good end
 */
export function checkStream(streamCase: StreamCase): boolean {
  const callerId = dialectIds[streamCase.caller % 3] ?? 'chat'
  const upstreamId = dialectIds[streamCase.upstream % 3] ?? 'chat'
  const reader = readers.get(`${callerId} ${upstreamId}`)
  if (reader === undefined) throw new Error('no such pair')
  const events = eventsOf(streamCase)
  const seed = seedOf(streamCase.seed, callerId, upstreamId)
  const caller = dialects[callerId]

  const streamed = runStream(caller, reader.createStream(seed), events)
  expectFrames(callerId, streamed)
  const folded = runFold(reader.createFold(seed), events)
  // Only one of them may have had to write the event that nobody can.
  if (isTooDeep(folded) || isTooDeep(streamed)) return false
  if (!isDeepStrictEqual(folded.fault, streamed.fault)) {
    throw new Error(`stream and body end differently: ${JSON.stringify([streamed.fault, folded.fault])}`)
  }
  // Compare only undamaged streams: our output for a damaged one is incomplete, and reading it again may normalise it further.
  const isWhole = streamCase.listEdits.length === 0 && streamCase.eventEdits.length === 0
  if (isWhole && streamed.fault === undefined) expectSame(callerId, seed, streamCase.seed, streamed.text, folded.body)
  if (streamCase.cuts.length > 0) expectCutsChangeNothing(caller, reader, seed, events, streamCase.cuts, streamed)
  return streamed.fault === undefined
}

function isTooDeep({ fault }: Emitted): boolean {
  return fault?.kind === 'upstream_unusable' && fault.detail.includes('nested')
}

function runStream(caller: Dialect, reply: ReplyStream, events: Iterable<SseEvent>): Emitted {
  let text = ''
  const fault = faultOf(() => {
    for (const event of events) {
      text += reply.push(event)
      if (reply.isDone()) break
    }
    text += reply.end()
  })
  if (fault === undefined) {
    remembered(reply)
  } else if (text !== '') text += (reply.fail ?? caller.errorEvent)(fault, 'req-1')
  JSON.stringify([caller.errorBody(fault ?? { kind: 'internal' }, 'req-1', 0), reply.usage(), reply.skipped()])
  return { text, body: undefined, fault }
}

function runFold(fold: ReplyFold, events: Iterable<SseEvent>): Emitted {
  let body: unknown
  const fault = faultOf(() => {
    for (const event of events) {
      fold.push(event)
      if (fold.isDone()) break
    }
    // As the pipeline writes it, which refuses what is nested too deeply.
    body = JSON.parse(stringify(fold.end()))
  })
  if (fault === undefined) remembered(fold)
  return { text: '', body, fault }
}

/** Upstream's faults alone: none of ours, and none of the caller's. */
function faultOf(run: () => void): ProxyError | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (!(error instanceof Fault) || !error.error.kind.startsWith('upstream_')) throw error
    return error.error
  }
}

function framesOf(text: string): readonly SseEvent[] {
  const decoder = createSseDecoder()
  return [...decoder.push(Buffer.from(text)), ...decoder.end()]
}

/** Whole frames of JSON, the last of which says how it ended. */
function expectFrames(id: UpstreamDialectId, { text, fault }: Emitted): void {
  if (text === '') {
    if (fault === undefined) throw new Error('an answer without a word')
    return
  }
  if (!text.endsWith('\n\n')) throw new Error('the last frame is cut')
  const frames = framesOf(text)
  const types = frames.map(({ data }) => {
    if (data === '[DONE]') return '[DONE]'
    const value = JSON.parse(data) as { readonly type?: string; readonly error?: unknown }
    // As OpenAI's SDKs, which take `"error": 0` beside content for none.
    return id === 'chat' && Boolean(value.error) ? 'error' : value.type
  })
  const ends = types.filter((type) => endsOf[id].has(type ?? ''))
  const last = types.at(-1) ?? ''
  const wanted = fault === undefined ? wellEnded[id] : badlyEnded[id]
  if (!wanted.has(last)) throw new Error(`ended with ${last} after ${fault?.kind ?? 'no fault'}`)
  if (ends.length !== 1) throw new Error(`ended ${ends.length} times: ${ends.join(', ')}`)
}

const wellEnded = {
  chat: new Set(['[DONE]']),
  messages: new Set(['message_stop']),
  responses: new Set(['response.completed', 'response.incomplete']),
}
const badlyEnded = { chat: new Set(['error']), messages: new Set(['error']), responses: new Set(['response.failed']) }
const endsOf = {
  chat: new Set(['[DONE]', 'error']),
  messages: new Set(['message_stop', 'error']),
  responses: new Set(['response.completed', 'response.incomplete', 'response.failed']),
}

/** The body is what our own stream amounts to when it is read as upstream's would be. */
function expectSame(callerId: UpstreamDialectId, seed: ReplySeed, pick: number, text: string, body: unknown): void {
  const notes = { ...seed.notes, tools: new Map(), stop: [], upstream: upstreamNotesOf(callerId, pick) }
  const { fault, body: again } = runFold(dialects[callerId].upstream.createFold({ ...seed, notes }), framesOf(text))
  if (fault !== undefined) throw new Error(`our own stream is refused: ${JSON.stringify(fault)}`)
  const [one, other] = [comparable(callerId, body), comparable(callerId, again)]
  if (!isDeepStrictEqual(one, other)) {
    throw new Error(`stream and body differ\n${JSON.stringify(one)}\n${JSON.stringify(other)}`)
  }
}

/**
 * Leaves out usage, which a stream states only on request; the finish reason of a chat answer, because reading it again
 * normalises `stop` beside tool calls; and the place and content of search results: a stream writes them last, because
 * upstream states the pages only with the citations of the text.
 */
function comparable(id: UpstreamDialectId, body: unknown): unknown {
  if (!isObject(body)) return body
  const { usage: _usage, ...rest } = body
  if (id === 'responses') return rest
  if (id === 'messages') {
    const content = objectsOf(body['content'])
    const answer = content.filter((block) => block['type'] !== 'web_search_tool_result')
    return { ...rest, content: answer, searchResults: content.length - answer.length }
  }
  return { ...rest, choices: objectsOf(body['choices']).map(({ finish_reason: _reason, ...choice }) => choice) }
}

function expectCutsChangeNothing(
  caller: Dialect,
  reader: ReplyReader,
  seed: ReplySeed,
  events: readonly SseEvent[],
  cuts: readonly number[],
  whole: Emitted,
): void {
  const wire = events.map(({ event, data }) => (event === '' ? '' : `event: ${event}\n`) + `data: ${data}\n\n`).join('')
  const bytes = Buffer.from(wire)
  const at = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b)
  const decoder = createSseDecoder()
  const read: SseEvent[] = []
  for (const [nth, start] of [0, ...at].entries())
    read.push(...decoder.push(bytes.subarray(start, at[nth] ?? bytes.length)))
  read.push(...decoder.end())
  // Data with line ends of its own reads differently on the wire; that is no matter of cuts.
  if (!isDeepStrictEqual(read, events)) return
  const cut = runStream(caller, reader.createStream(seed), read)
  if (cut.text !== whole.text) throw new Error('a cut changed the reply')
}
