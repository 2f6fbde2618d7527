import { describe, expect, test } from 'vitest'
import { streamReply } from '../upstreams/http/outcome.ts'
import { bodyOfPrompt, callers, dialectPaths } from '../http/callers.ts'
import { openProxy } from '../http/harness.ts'
import { some } from '../thorough.ts'
import { envelopeOf, expectUnharmed } from './unharmed.ts'
import { answers, hear, textOf, upstreams } from './upstream-answers.ts'

const combinations = callers.flatMap((caller) =>
  upstreams.map((upstream) => ({ caller, upstream, name: upstream.name })),
)

/** Text in which everything occurs that framing could trip over. */
const oddText =
  '\u2028\u2029\u0085\u000b\u000c\r\n\r\ndata: [DONE]\n\nevent: error\ndata: {"error":{}}\n\n: no comment\nevent: message_stop\nid: 1\nretry: 1\u0000\u001b[31m\uFEFF\u200d👩‍👩‍👧‍👦é e\u0301 𝕏 \\n \\" </script> %0A \t end'

describe.each(some(combinations, 3))('a $caller caller of $name', ({ caller, upstream }) => {
  const { begin, say, finish, mark, fail } = answers[upstream.dialect]
  const path = dialectPaths[caller]
  const body = (stream: boolean): string => bodyOfPrompt(caller, upstream.model, 'Hello', { stream })

  /** What the caller hears of these pieces, streaming and not. */
  async function ask(pieces: readonly string[], change: Parameters<typeof streamReply>[1] = {}) {
    const proxy = await openProxy(upstream.options)
    upstream.answer(proxy, streamReply(pieces, change), 2)
    const streamed = await proxy.send(path, { body: body(true) })
    expect(streamed.status).toBe(200)
    const whole = await proxy.send(path, { body: body(false) })
    await expectUnharmed(proxy, streamed.text, whole.text)
    return { heard: hear(caller, streamed.text), streamed, whole }
  }

  /** Expects the text from before the failure and an error event in a stream, and neither in a non-streaming reply. */
  async function expectFailure(pieces: readonly string[], change?: Parameters<typeof streamReply>[1]) {
    const asked = await ask(pieces, change)
    expect(asked.heard).toMatchObject({ text: 'one two ', ending: 'failed' })
    expect(asked.streamed.text).not.toContain('[DONE]')
    expect(asked.whole.status).toBeGreaterThanOrEqual(500)
    expect(asked.whole.json()).toEqual(envelopeOf(path))
    return asked
  }

  const said = [...begin, say('"one "'), say('"two "')]

  test('E06 a connection that breaks in mid-answer is an error after the emitted text', async () => {
    const { whole } = await expectFailure(said, { ending: 'cut' })
    expect(whole.status).toBe(502)
  })

  test('E07 a stream that just ends is an error after the emitted text', async () => {
    const { whole } = await expectFailure(said)
    expect(whole.status).toBe(502)
  })

  test('E08 an answer that is finished but for the end mark is complete', async () => {
    const { heard, whole } = await ask([...said, ...finish('one two ')])
    expect(heard).toMatchObject({ text: 'one two ', ending: 'complete' })
    expect(textOf(caller, whole.text)).toBe('one two ')
  })

  test.each([
    ['cut short', '{"choices":[{"delta":{"content":"lost'],
    ['no JSON at all', 'lost'],
    ['spread over lines', '{"lost":\ndata: '],
  ])('E09 an event that is %s, between good ones, is an error and never passed on', async (_what, damage) => {
    const damaged = `data: ${damage}\n\n`
    const { streamed, whole } = await expectFailure([
      ...said,
      damaged,
      say('"three"'),
      ...finish('one two three'),
      ...mark,
    ])
    expect(whole.status).toBe(502)
    for (const { text } of [streamed, whole]) expect(text).not.toMatch(/lost|three/)
  })

  test('E10 an error that upstream reports in mid-answer is the dialect’s own, without credentials', async () => {
    const token = `tid=example-${'0'.repeat(40)};exp=1;sku=example:${'a'.repeat(64)}`
    const { streamed, whole } = await expectFailure([...said, fail(`the server broke: ${token}`), say('"three"')], {
      headers: { [upstream.idHeader]: 'UP:1' },
    })
    expect(streamed.headers[upstream.passedIdHeader]).toBe('UP:1')
    for (const { text } of [streamed, whole]) {
      expect(text).toContain('the server broke')
      expect(text).not.toMatch(/example-0|three/)
    }
  })

  test('E25 text that looks like framing arrives once, as text, wherever the bytes are cut', async () => {
    const bytes = Buffer.from(
      [...begin, say(JSON.stringify(oddText)), say('" and more"'), ...finish(`${oddText} and more`), ...mark].join(''),
    )
    for (const size of [7, 1024, bytes.length]) {
      const proxy = await openProxy(upstream.options)
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      )
      upstream.answer(proxy, streamReply(pieces), 2)
      const heard = hear(caller, (await proxy.send(path, { body: body(true) })).text)
      expect(heard).toMatchObject({ text: `${oddText} and more`, ending: 'complete' })
      expect(textOf(caller, (await proxy.send(path, { body: body(false) })).text)).toBe(`${oddText} and more`)
    }
  })

  test('E25 half a surrogate pair stays half of one, or becomes the mark for it, and harms nothing else', async () => {
    const lone = String.raw`"a\ud83d b"`
    const { heard, whole } = await ask([...begin, say(lone), ...finish('a\ud83d b'), ...mark])
    expect(heard.ending).toBe('complete')
    for (const text of [heard.text, String(textOf(caller, whole.text))]) expect(text).toMatch(/^a(?:\ud83d|\ufffd) b$/)
  })
})
