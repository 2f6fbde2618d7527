import { expect, test } from 'vitest'
import { decode, fold, readStream, stream, streamNames } from './fixture-streams.ts'

const golden = (folder: string, file: string) => `../../golden/${folder}/${file}`

const lines = (values: readonly string[]) => values.map((line) => `${line}\n`).join('')

test.each(streamNames)('streams %s to a caller of the same dialect', async (name) => {
  const { events, fault } = stream(readStream(name))
  // As they were written, so that a golden shows the very bytes.
  const texts = events.map(({ text }) => text)
  if (fault !== undefined) texts.push(JSON.stringify({ fault }))
  await expect(lines(texts)).toMatchFileSnapshot(golden('responses-responses', `${name}.jsonl`))
})

test.each(streamNames)('folds %s into a body', async (name) => {
  const folded = fold(readStream(name))
  const body = JSON.stringify(folded.body ?? folded, null, 2)
  await expect(`${body}\n`).toMatchFileSnapshot(golden('responses-fold', `${name}.json`))
})

test.each(streamNames)('decodes %s', async (name) => {
  const { events, fault } = decode(readStream(name))
  const texts = events.map((event) => JSON.stringify(event))
  if (fault !== undefined) texts.push(JSON.stringify({ fault }))
  await expect(lines(texts)).toMatchFileSnapshot(golden('responses-turn-events', `${name}.jsonl`))
})
