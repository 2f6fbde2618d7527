import { expect, test } from 'vitest'
import { decode, readStream, streamNames } from './fixture-streams.ts'

test.each(streamNames)('decodes %s', async (name) => {
  const { events, fault } = decode(readStream(name))
  const texts = events.map((event) => JSON.stringify(event))
  if (fault !== undefined) texts.push(JSON.stringify({ fault }))
  await expect(texts.map((line) => `${line}\n`).join('')).toMatchFileSnapshot(
    `../../golden/responses-turn-events/${name}.jsonl`,
  )
})
