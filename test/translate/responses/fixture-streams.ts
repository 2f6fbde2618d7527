import { responsesDialect } from '../../../src/translate/responses/dialect.ts'
import type { ProxyError } from '../../../src/errors.ts'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { ReplySeed, TurnFold, TurnStream } from '../../../src/translate/dialect.ts'
import type { TurnEvent, Usage } from '../../../src/translate/turn.ts'
import { caught } from '../faults.ts'
import { bytes, fixtureFolder, sse, typeOf } from '../fixture-folder.ts'
import { remembered, replySeed, traits } from '../turns.ts'

const streams = fixtureFolder('responses', typeOf)
export const { streamNames, readStream, readLines } = streams

/** Streams whose events are all as OpenAI's API has them: nothing of them is normalised. */
export const rightStreams: readonly string[] = [
  'text',
  'phase',
  'reasoning',
  'reasoning-text',
  'quirk-03-empty-summary',
  'parallel-tools',
  'custom-tool',
  'refusal',
  'incomplete-arguments',
  'content-filter',
  'web-search',
  'logprobs',
  'unknown-events',
]

/** Events as upstream would write them, numbered where they are not. */
export function toStream(events: readonly object[]): string {
  return events.map((event, sequence_number) => streams.toWire(JSON.stringify({ sequence_number, ...event }))).join('')
}

export const seed: ReplySeed = replySeed(traits('gpt-5-mini', { vendor: 'Azure OpenAI' }))

export function seedWith(notes: Partial<ReplySeed['notes']>): ReplySeed {
  return { ...seed, notes: { ...seed.notes, ...notes } }
}

/** Any JSON: tests look anywhere into it, and what is not there fails them. */
// oxlint-disable-next-line typescript/no-explicit-any -- as said above
export type Json = any

/** An event a caller got. */
export interface Got {
  /** Of the `event:` line. */
  readonly name: string
  readonly text: string
  readonly event: Json
}

/** What a caller got: the events, and the failure the reply ended in. */
export interface Streamed {
  readonly text: string
  readonly events: readonly Got[]
  readonly fault?: ProxyError
  readonly skipped: number
  readonly usage: Usage | undefined
  readonly record: ReturnType<typeof remembered>['record']
}

/** Runs upstream's bytes through decoder and reply, and ends a reply that fails, as the pipeline does. */
export function stream(wire: string | readonly Uint8Array[], from = seed): Streamed {
  const reply = responsesDialect.upstream.createStream(from)
  let text = ''
  const outcome = caught(() => {
    for (const event of sse(chunksOf(wire))) {
      text += reply.push(event)
      if (reply.isDone()) return
    }
    text += reply.end()
  })
  if (outcome.fault !== undefined && text !== '') text += reply.fail?.(outcome.fault, 'req-1') ?? ''
  return {
    text,
    events: eventsOf(text),
    ...outcome,
    skipped: reply.skipped(),
    usage: reply.usage(),
    record: remembered(reply).record,
  }
}

export interface Folded {
  readonly body?: Json
  readonly fault?: ProxyError
}

export function fold(wire: string | readonly Uint8Array[], from = seed): Folded {
  const reply = responsesDialect.upstream.createFold(from)
  let body: unknown
  const outcome = caught(() => {
    for (const event of sse(chunksOf(wire))) reply.push(event)
    body = reply.end()
  })
  return 'fault' in outcome ? outcome : { body }
}

export interface Decoded {
  readonly events: readonly TurnEvent[]
  readonly fault?: ProxyError
  readonly skipped: number
}

/** Upstream's stream in the neutral model. */
export function decode(wire: string | readonly Uint8Array[], from = seed): Decoded {
  const decoder = responsesDialect.upstream.createDecoder(from)
  const events: TurnEvent[] = []
  const outcome = caught(() => {
    for (const event of sse(chunksOf(wire))) events.push(...decoder.push(event))
    events.push(...decoder.end())
  })
  return { events, ...outcome, skipped: decoder.skipped() }
}

/** What a caller gets of a reply in the neutral model. */
export function encode(events: readonly TurnEvent[], from = seed) {
  const reply = responsesDialect.createTurnStream(from)
  const folding = responsesDialect.createTurnFold(from)
  const text = pushAll(reply, folding, events)
  return { text, events: eventsOf(text), body: folding.body() as Json, reply, folding }
}

function pushAll(reply: TurnStream, folding: TurnFold, events: readonly TurnEvent[]): string {
  let text = ''
  for (const event of events) {
    text += reply.push(event)
    folding.push(event)
  }
  return text
}

/** The events in SSE text that we wrote. */
export function eventsOf(text: string): Got[] {
  return createSseDecoder()
    .push(bytes(text))
    .map(({ event: name, data }) => ({ name, text: data, event: JSON.parse(data) }))
}

function chunksOf(wire: string | readonly Uint8Array[]): readonly Uint8Array[] {
  return typeof wire === 'string' ? [bytes(wire)] : wire
}
