import { messagesDialect } from '../../../src/translate/messages/dialect.ts'
import type { ProxyError } from '../../../src/errors.ts'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { SseEvent } from '../../../src/sse/decode.ts'
import type { ReplySeed } from '../../../src/translate/dialect.ts'
import type { TurnEvent } from '../../../src/translate/turn.ts'
import { caught } from '../faults.ts'
import { bytes, fixtureFolder, sse, typeOf } from '../fixture-folder.ts'
import { replySeed, traits } from '../turns.ts'

const streams = fixtureFolder('messages', typeOf)
export const { streamNames, readStream } = streams

/** An event as upstream sends it, named after its type. */
export function wireEvent(event: unknown): string {
  return streams.toWire(JSON.stringify(event))
}

export const seed: ReplySeed = replySeed(traits('claude-sonnet-4.6', { vendor: 'Anthropic' }), {
  id: 'seed-0001',
  requestedModel: 'claude-sonnet-4-6',
})

interface Outcome {
  readonly fault?: ProxyError
  readonly skipped: number
}

/** What a caller got: SSE text, and the failure it ended in. */
export interface Streamed extends Outcome {
  readonly text: string
  readonly usage: unknown
  readonly done: boolean
}

/** Runs upstream's bytes through decoder and reply, the way the pipeline does. */
export function stream(chunks: Iterable<Uint8Array>): Streamed {
  const reply = messagesDialect.upstream.createStream(seed)
  let text = ''
  const fault = caught(() => {
    for (const event of sse(chunks)) text += reply.push(event)
    text += reply.end()
  })
  return { text, ...fault, skipped: reply.skipped(), usage: reply.usage(), done: reply.isDone() }
}

export function fold(chunks: Iterable<Uint8Array>): { readonly body?: unknown; readonly fault?: ProxyError } {
  const reply = messagesDialect.upstream.createFold(seed)
  let body: unknown
  const fault = caught(() => {
    for (const event of sse(chunks)) reply.push(event)
    body = reply.end()
  })
  return 'fault' in fault ? fault : { body }
}

export interface Decoded extends Outcome {
  readonly events: readonly TurnEvent[]
}

export function decode(chunks: Iterable<Uint8Array>): Decoded {
  const decoder = messagesDialect.upstream.createDecoder(seed)
  const events: TurnEvent[] = []
  const fault = caught(() => {
    for (const event of sse(chunks)) events.push(...decoder.push(event))
    events.push(...decoder.end())
  })
  return { events, ...fault, skipped: decoder.skipped() }
}

/** A turn as a Messages caller reads it, streaming and not. */
export function encode(turn: readonly TurnEvent[], parts: Partial<ReplySeed> = {}) {
  const writer = messagesDialect.createTurnStream({ ...seed, ...parts })
  const text = turn.map((event) => writer.push(event)).join('')
  const whole = messagesDialect.createTurnFold({ ...seed, ...parts })
  for (const event of turn) whole.push(event)
  return { text, events: eventsOf(text), body: whole.body() }
}

/** The events of SSE text that we wrote, as they are: names and data. */
export function sseOf(text: string): readonly SseEvent[] {
  return createSseDecoder().push(bytes(text))
}

export interface ReadEvent {
  readonly type: string
  readonly index?: number
  readonly message?: Readonly<Record<string, unknown>>
  readonly content_block?: Readonly<Record<string, unknown>>
  readonly delta?: Readonly<Record<string, unknown>>
  readonly usage?: Readonly<Record<string, unknown>>
}

/** The events of SSE text that we wrote, as a client reads them; an event whose name is not its type fails. */
export function eventsOf(text: string): readonly ReadEvent[] {
  return sseOf(text).map(({ event, data }) => {
    const value: ReadEvent = JSON.parse(data)
    if (value.type !== event) throw new Error(`event ${event} says it is ${value.type}`)
    return value
  })
}
