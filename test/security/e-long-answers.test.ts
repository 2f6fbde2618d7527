import { some } from '../thorough.ts'
import { describe, expect, test } from 'vitest'
import { streamReply } from '../upstreams/http/outcome.ts'
import { bodyOfPrompt, callers, dialectPaths } from '../http/callers.ts'
import { openProxy } from '../http/harness.ts'
import { envelopeOf, expectUnharmed } from './unharmed.ts'
import { answers, upstreams } from './upstream-answers.ts'

const MiB = 1024 * 1024

const combinations = callers.flatMap((caller) =>
  upstreams.map((upstream) => ({ caller, upstream, name: upstream.name })),
)

/** JSON strings that say a text of a megabyte. */
const sayMegabytes = (count: number): string[] => Array.from({ length: count }, () => `"${'x'.repeat(MiB)}"`)

describe.each(some(combinations, 4, 1))('a $caller caller of $name', { timeout: 120_000 }, ({ caller, upstream }) => {
  const { begin, say, finish, mark } = answers[upstream.dialect]
  const path = dialectPaths[caller]

  test('an answer without an end is a 502 for a caller that does not stream', async () => {
    const proxy = await openProxy(upstream.options)
    // Upstream stays silent after these pieces, so the answer comes only if nobody waits for more.
    upstream.answer(proxy, streamReply([...begin, ...sayMegabytes(33).map(say)], { ending: 'hold' }))
    const { status, text, json } = await proxy.send(path, { body: bodyOfPrompt(caller, upstream.model, 'Hello') })
    expect(status).toBe(502)
    expect(json()).toEqual(envelopeOf(path))
    expect(text).toContain('longer than 32 MB')
    await expectUnharmed(proxy, text)
  })

  test('an answer of 8 MB arrives whole', async () => {
    const proxy = await openProxy(upstream.options)
    const whole = 'x'.repeat(8 * MiB)
    const pieces = [...begin, ...sayMegabytes(8).map(say), ...finish(whole), ...mark]
    upstream.answer(proxy, streamReply(pieces))
    const { status, text } = await proxy.send(path, { body: bodyOfPrompt(caller, upstream.model, 'Hello') })
    expect(status).toBe(200)
    expect(text).toContain(whole)
  })
})

test('a caller that streams gets a longer answer', { timeout: 120_000 }, async () => {
  const proxy = await openProxy()
  const { begin, say, finish, mark } = answers.chat
  proxy.demo.script('/chat/completions', {
    outcome: streamReply([...begin, ...sayMegabytes(40).map(say), ...finish(''), ...mark]),
  })
  const { status, text } = await proxy.send('/v1/chat/completions', {
    body: bodyOfPrompt('chat', 'gpt-4.1', 'Hello', { stream: true }),
  })
  expect(status).toBe(200)
  expect(text.length).toBeGreaterThan(40 * MiB)
  expect(text).toContain('[DONE]')
})
