import { dialects } from '../../../src/translate/dialects.ts'
import { chatDialect } from '../../../src/translate/chat/dialect.ts'
import { expect } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import type { ProxyError } from '../../../src/errors.ts'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { ReplySeed } from '../../../src/translate/dialect.ts'
import type { TurnEvent } from '../../../src/translate/turn.ts'
import { dataOf, seedOf } from './fixture-streams.ts'

export interface Decoded {
  readonly events: readonly TurnEvent[]
  /** What the stream failed with, after the events. */
  readonly fault?: ProxyError
}

/** Runs upstream's bytes through decoder and turn decoder, the way the pipeline does. */
export function decodeStream(chunks: Iterable<Uint8Array>, seed = seedOf({ usage: true })): Decoded {
  const sse = createSseDecoder()
  const decoder = chatDialect.upstream.createDecoder(seed)
  const events: TurnEvent[] = []
  try {
    for (const chunk of chunks) for (const event of sse.push(chunk)) events.push(...decoder.push(event))
    for (const event of sse.end()) events.push(...decoder.push(event))
    events.push(...decoder.end())
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { events, fault: error.error }
  }
  return { events }
}

/** What a chat caller is sent for these events: the data of each SSE event. */
export function encodeStream(events: readonly TurnEvent[], seed: ReplySeed = seedOf({ usage: true })): string[] {
  const stream = dialects.chat.createTurnStream(seed)
  return dataOf(events.map((event) => stream.push(event)).join(''))
}

export function encodeFold(events: readonly TurnEvent[], seed: ReplySeed = seedOf({ usage: false })): unknown {
  const fold = dialects.chat.createTurnFold(seed)
  for (const event of events) fold.push(event)
  return fold.body()
}

/** The rules of `TurnEvent`: a start first, slots numbered as they are seen and of one kind, nothing after a close or a stop. */
export function expectTurnGrammar(events: readonly TurnEvent[]): void {
  const kinds = new Map<number, string>()
  const closed = new Set<number>()
  const signed = new Set<number>()
  expect(events[0]?.type).toBe('start')
  expect(events.at(-1)?.type).toBe('stop')
  expect(events.filter(({ type }) => type === 'start' || type === 'stop')).toHaveLength(2)
  for (const event of events) {
    if (!('slot' in event)) continue
    const { slot, type } = event
    expect(closed.has(slot), `slot ${slot} is closed`).toBe(false)
    if (type === 'part.close') {
      expect(kinds.has(slot)).toBe(true)
      closed.add(slot)
      continue
    }
    const kind = type.split('.')[0] ?? ''
    if (!kinds.has(slot)) expect(slot).toBe(kinds.size)
    if (type === 'tool.open') expect(kinds.has(slot)).toBe(false)
    if (type === 'tool.args') expect(kinds.get(slot)).toBe('tool')
    expect(kinds.get(slot) ?? kind).toBe(kind)
    expect(signed.has(slot), `slot ${slot} is signed`).toBe(false)
    if (type === 'think.sign') signed.add(slot)
    kinds.set(slot, kind)
  }
}
