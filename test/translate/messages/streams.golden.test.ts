import { expect, test } from 'vitest'
import { decode, readStream, stream, streamNames } from './fixture-streams.ts'
import type { Decoded } from './fixture-streams.ts'
import { bytes } from '../fixture-folder.ts'

test.each(streamNames)('decodes %s into a turn', async (name) => {
  const decoded = decode([bytes(readStream(name))])
  await expect(toTurnLines(decoded)).toMatchFileSnapshot(`../../golden/messages-turn-events/${name}.jsonl`)
})

test.each(streamNames)('counts the same usage of %s for a Messages caller', (name) => {
  const { usage } = stream([bytes(readStream(name))])
  const counted = decode([bytes(readStream(name))]).events.flatMap((event) =>
    'usage' in event ? (event.usage ?? []) : [],
  )
  expect(usage).toEqual(counted.at(-1))
})

test('counts the events that a Messages caller does not get', () => {
  expect(stream([bytes(readStream('unknown'))]).skipped).toBe(5)
})

function toTurnLines({ events, fault, skipped }: Decoded): string {
  const lines = events.map((event) => JSON.stringify(event))
  if (fault !== undefined || skipped > 0) lines.push(JSON.stringify({ fault, ...(skipped > 0 && { skipped }) }))
  return lines.map((line) => `${line}\n`).join('')
}
