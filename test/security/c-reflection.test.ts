import { describe, expect, test } from 'vitest'
import { jsonReply, streamReply } from '../upstreams/http/outcome.ts'
import type { Outcome } from '../upstreams/http/outcome.ts'
import { bodyOfPrompt, callers, dialectPaths } from '../http/callers.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy, ProxyOptions } from '../http/harness.ts'
import { canaries } from './canaries.ts'
import { answers, upstreams } from './upstream-answers.ts'

const { callerKey } = canaries
/** More of them than there are tokens in a day. */
const keys = [callerKey, ...Array.from({ length: 70 }, (_, i) => `made-up-key-of-caller-${i}`)]
const secured: ProxyOptions = { file: `server: { api-keys: ${JSON.stringify(keys)} }\n` }

/** Returns the replies to all callers, streaming and not, with all headers. */
async function askAll(proxy: Proxy, model: string): Promise<readonly string[]> {
  const replies: string[] = []
  for (const caller of callers) {
    for (const stream of [true, false]) {
      const body = bodyOfPrompt(caller, model, 'Hello', { stream })
      const reply = await proxy.send(dialectPaths[caller], { body, headers: { authorization: `Bearer ${callerKey}` } })
      replies.push(`${reply.status} ${JSON.stringify(reply.headers)} ${reply.text}`)
    }
  }
  return replies
}

const refusal = (status: number, message: string): Outcome => jsonReply(status, { error: { message } })
/** The cut goes through the key. */
const long = `${'x'.repeat(3970)}${callerKey}`

// Upstream gets no key of a caller, so it can only repeat what the caller sent. If an answer replaced it, a caller could find out
// the key of another by guesses.
describe.each(upstreams)('C08 $name that repeats a caller’s key', ({ dialect, model, options, answer, idHeader }) => {
  const { begin, say, finish, mark, fail } = answers[dialect]
  const whole = streamReply([...begin, say('"Hello"'), ...finish('Hello'), ...mark])

  test.each([
    ['a refusal', new RegExp(`^500 .*Refused: ${callerKey}`), refusal(500, `Refused: ${callerKey}`)],
    ['a refusal whose message is cut', /^400 .*x{3970}/, refusal(400, long)],
    ['an error in the middle whose message is cut', /x{3970}/, streamReply([...begin, say('"Hello"'), fail(long)])],
    [
      'a header of an answer',
      new RegExp(`^200 .*id of ${callerKey}.*Hello`, 's'),
      { ...whole, headers: { ...whole.headers, [idHeader]: `id of ${callerKey}` } },
    ],
  ] satisfies readonly (readonly [string, RegExp, Outcome])[])(
    'in %s passes it on as it is',
    async (_what, words, outcome) => {
      const proxy = await openProxy({ ...options, ...secured })
      answer(proxy, outcome, 6)
      const replies = await askAll(proxy, model)
      for (const text of replies) expect(text).toMatch(words)
    },
  )
})
