import { expect, test } from 'vitest'
import { decode, readStream, streamNames } from './fixture-streams.ts'
import type { Decoded } from './fixture-streams.ts'
import { bytes } from '../fixture-folder.ts'

test.each(streamNames)('decodes %s into a turn', async (name) => {
  const decoded = decode([bytes(readStream(name))])
  await expect(toTurnLines(decoded)).toMatchFileSnapshot(`../../golden/messages-turn-events/${name}.jsonl`)
})

function toTurnLines({ events, fault, skipped }: Decoded): string {
  const lines = events.map((event) => JSON.stringify(event))
  if (fault !== undefined || skipped > 0) lines.push(JSON.stringify({ fault, ...(skipped > 0 && { skipped }) }))
  return lines.map((line) => `${line}\n`).join('')
}
