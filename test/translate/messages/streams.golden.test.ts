import { expect, test } from 'vitest'
import { decode, fold, readStream, sseOf, stream, streamNames } from './fixture-streams.ts'
import type { Decoded, Streamed } from './fixture-streams.ts'
import { bytes } from '../fixture-folder.ts'

const golden = (folder: string, file: string) => `../../golden/${folder}/${file}`

test.each(streamNames)('passes %s on to a Messages caller', async (name) => {
  const streamed = stream([bytes(readStream(name))])
  await expect(toLines(streamed)).toMatchFileSnapshot(golden('messages-messages', `${name}.jsonl`))
})

test.each(streamNames)('folds %s into a body', async (name) => {
  const folded = fold([bytes(readStream(name))])
  const body = JSON.stringify(folded.body ?? folded, null, 2)
  await expect(`${body}\n`).toMatchFileSnapshot(golden('messages-fold', `${name}.json`))
})

test.each(streamNames)('decodes %s into a turn', async (name) => {
  const decoded = decode([bytes(readStream(name))])
  await expect(toTurnLines(decoded)).toMatchFileSnapshot(golden('messages-turn-events', `${name}.jsonl`))
})

/** Data as it was written, so that a golden shows the very bytes; each is named after its type, or the name is shown. */
function toLines({ text, fault, skipped, usage }: Streamed): string {
  const lines = sseOf(text).map(({ event, data }) =>
    data.includes(`"type":"${event}"`) || data.includes(`"type": "${event}"`) ? data : JSON.stringify([event, data]),
  )
  return joinLines([...lines, JSON.stringify({ ...(fault && { fault }), ...(skipped > 0 && { skipped }), usage })])
}

function toTurnLines({ events, fault, skipped }: Decoded): string {
  const lines = events.map((event) => JSON.stringify(event))
  if (fault !== undefined || skipped > 0) lines.push(JSON.stringify({ fault, ...(skipped > 0 && { skipped }) }))
  return joinLines(lines)
}

function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}
