import { expect, test } from 'vitest'
import { dataOf, readStream, seedOf, stream, streamNames } from '../fixture-streams.ts'
import type { Streamed } from '../fixture-streams.ts'
import { bytes } from '../../fixture-folder.ts'

test.each(streamNames.filter((name) => /usage|gpt-text|gemini-tools|cot-after/.test(name)))(
  'streams %s to a caller that asks for no usage',
  async (name) => {
    const streamed = stream([bytes(readStream(name))], seedOf({ usage: false }))
    await expect(asLines(streamed)).toMatchFileSnapshot(`../../../golden/chat-chat-no-usage/${name}.jsonl`)
  },
)

/** Chunks as they were written, so that a golden shows the very bytes; other things as JSON. */
function asLines({ text, fault }: Streamed): string {
  const lines = dataOf(text).map((data) => (data === '[DONE]' ? JSON.stringify(data) : data))
  if (fault !== undefined) lines.push(JSON.stringify({ fault }))
  return lines.map((line) => `${line}\n`).join('')
}
