import { expect, test } from 'vitest'
import { times } from '../thorough.ts'
import { createSseDecoder } from '../../src/sse/decode.ts'
import type { SseEvent } from '../../src/sse/decode.ts'

// A generator of its own instead of fast-check's: a hundred thousand streams in a few seconds. What fails is named by its
// seed and the number of the stream, which make it again.

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_122)
const cases = times(100_000)

/** Numbers from 0 up to `below`, the same for the same seed (mulberry32). */
function randomNumbers(from: number): (below: number) => number {
  let state = from >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Everything the format knows, and bytes that belong to nothing: half a character, half a line end, a mark in the middle. */
const pieces: readonly Buffer[] = [
  'data: ',
  'data:',
  'data',
  'data: a\n\n',
  'data: {"a":1}\r\n\r\n',
  'event: e',
  'event:',
  'id: 1\n',
  'retry: 5\n',
  ': comment\n',
  ':',
  ' data: indented\n',
  ' \tevent: f\n',
  '{"error":1}',
  '{',
  '}',
  '"b":',
  'text',
  ' ',
  'größe 漢字 👩‍👩‍👧',
  '\ufeff',
  '\u2028',
  '\0',
  '[DONE]',
  '\n',
  '\n',
  '\n\n',
  '\r',
  '\r\n',
  '\r\r',
]
  .map((text) => Buffer.from(text))
  .concat(Buffer.from([0xff]), Buffer.from([0xe6, 0xbc]), Buffer.from([0xf0, 0x9f, 0x91]), Buffer.from([0x80]))

function randomStream(random: (below: number) => number): Buffer {
  return Buffer.concat(Array.from({ length: 1 + random(16) }, () => pieces[random(pieces.length)] ?? Buffer.alloc(0)))
}

function randomCuts(random: (below: number) => number, length: number): readonly number[] {
  // Now and then every byte for itself.
  if (random(64) === 0) return Array.from({ length }, (_, at) => at)
  return Array.from({ length: random(8) }, () => random(length + 1)).toSorted((a, b) => a - b)
}

function decode(wire: Buffer, cuts: readonly number[]): readonly SseEvent[] {
  const decoder = createSseDecoder()
  const events: SseEvent[] = []
  for (const [nth, start] of [0, ...cuts].entries()) events.push(...decoder.push(wire.subarray(start, cuts[nth])))
  events.push(...decoder.end())
  return events
}

function isSame(found: readonly SseEvent[], whole: readonly SseEvent[]): boolean {
  return (
    found.length === whole.length &&
    found.every(({ event, data }, nth) => event === whole[nth]?.event && data === whole[nth].data)
  )
}

test(
  `J07 ${cases} random streams give the same events however they are cut, seed ${seed}`,
  { timeout: 120_000 },
  () => {
    const random = randomNumbers(seed)
    let events = 0
    for (let nth = 0; nth < cases; nth += 1) {
      const wire = randomStream(random)
      const cuts = randomCuts(random, wire.length)
      const whole = decode(wire, [])
      events += whole.length
      if (isSame(decode(wire, cuts), whole)) continue
      expect.fail(`stream ${nth} of seed ${seed}: ${JSON.stringify({ wire: wire.toString('latin1'), cuts })}`)
    }
    // Else the property would hold of nothing.
    expect(events).toBeGreaterThan(cases / 2)
  },
)
