import { expect, test } from 'vitest'
import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { dialects } from '../../src/translate/dialects.ts'
import { translateCall } from '../../src/translate/translated-call.ts'
import { isCollected } from '../garbage.ts'
import { encodeContext, replySeed, traits } from './turns.ts'
import { some } from '../thorough.ts'

const model = traits('m')
const ids = ['chat', 'responses', 'messages'] as const satisfies readonly UpstreamDialectId[]

/** In a function of its own, so that nothing of the test holds the request. */
function open(caller: UpstreamDialectId, upstream: UpstreamDialectId) {
  const prompt = 'z'.repeat(100_000)
  const messages = [{ role: 'user', content: prompt }]
  const text = JSON.stringify({
    model: 'm',
    ...(caller === 'responses' ? { input: prompt } : { max_tokens: 9, messages }),
  })
  const request = dialects[caller].decodeRequest(text, { bytes: Buffer.from(text) })
  const exchange = translateCall(dialects[caller], dialects[upstream].upstream, request, encodeContext(model))
  const { notes, createStream } = exchange.reader
  return {
    stream: createStream(replySeed(model, { notes })),
    asked: new WeakRef(Object(request.body)),
    sent: new WeakRef(exchange.request.body),
  }
}

test.each(
  some(
    ids.flatMap((caller) => ids.map((upstream) => [caller, upstream] as const)),
    2,
  ),
)(
  'while an answer is made for %s from %s, the request is not held but where the answer may be paused',
  async (caller, upstream) => {
    const { stream, asked, sent } = open(caller, upstream)
    expect(await isCollected(asked)).toBe(true)
    expect(await isCollected(sent)).toBe(caller === upstream || upstream !== 'messages')
    expect(stream.isDone()).toBe(false)
  },
)
