import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { dialects } from '../../src/translate/dialects.ts'
import { translateCall } from '../../src/translate/translated-call.ts'
import { encodeContext, traits } from '../translate/turns.ts'
import { callers } from '../http/callers.ts'

const repeat = <Item>(count: number, make: (at: number) => Item): readonly Item[] =>
  Array.from({ length: count }, (_, at) => make(at))

const user = { role: 'user', content: 'a' }
const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
const properties = (count: number) => Object.fromEntries(repeat(count, (at) => [`p${at}`, { type: 'object' }]))

/** Bodies that are many of something small, by how many. */
const shapes: Readonly<Record<UpstreamDialectId, Readonly<Record<string, (count: number) => object>>>> = {
  chat: {
    messages: (count) => ({ messages: repeat(count, () => user) }),
    'text parts': (count) => ({
      messages: [{ role: 'user', content: repeat(count, () => ({ type: 'text', text: 'a' })) }],
    }),
    'calls of one message': (count) => ({
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: repeat(count, (at) => call(`c${at}`, 'f')) },
        ...repeat(count, (at) => ({ role: 'tool', tool_call_id: `c${at}`, content: 'a' })),
      ],
    }),
    'calls with one id': (count) => ({
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: repeat(count, () => call('c', 'f')) },
        ...repeat(count, () => ({ role: 'tool', tool_call_id: 'c', content: 'a' })),
      ],
    }),
    'tool names that have to be changed': (count) => ({
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: repeat(count, (at) => call(`c${at}`, `a name ${at}`)) },
        ...repeat(count, (at) => ({ role: 'tool', tool_call_id: `c${at}`, content: 'a' })),
      ],
    }),
    'properties of tools': (count) => ({
      messages: [user],
      tools: repeat(100, (at) => ({
        type: 'function',
        function: { name: `t${at}`, strict: true, parameters: { type: 'object', properties: properties(count / 100) } },
      })),
    }),
  },
  responses: {
    'input items': (count) => ({ input: repeat(count, () => user) }),
    'calls, then their outputs in reverse': (count) => ({
      input: [
        user,
        ...repeat(count, (at) => ({ type: 'function_call', call_id: `c${at}`, name: 'f', arguments: '{}' })),
        ...repeat(count, (at) => ({ type: 'function_call_output', call_id: `c${count - 1 - at}`, output: 'a' })),
      ],
    }),
  },
  messages: {
    'content blocks': (count) => ({
      max_tokens: 9,
      messages: [{ role: 'user', content: repeat(count, () => ({ type: 'text', text: 'a' })) }],
    }),
    'calls of one message': (count) => ({
      max_tokens: 9,
      messages: [
        user,
        {
          role: 'assistant',
          content: repeat(count, (at) => ({ type: 'tool_use', id: `c${at}`, name: 'f', input: {} })),
        },
        {
          role: 'user',
          content: repeat(count, (at) => ({ type: 'tool_result', tool_use_id: `c${at}`, content: 'a' })),
        },
      ],
    }),
  },
}

const model = traits('gpt-5-mini')

/** Processor time for one request, and how large it leaves. Ms, bytes. */
function cost(from: UpstreamDialectId, to: UpstreamDialectId, text: string) {
  const bytes = Buffer.from(text)
  const before = process.cpuUsage()
  let sent = 0
  try {
    const request = dialects[from].decodeRequest(text, { bytes })
    sent = translateCall(dialects[from], dialects[to].upstream, request, encodeContext(model)).request.body.length
  } catch (error) {
    expect(error).toBeInstanceOf(Fault)
  }
  const { user: usedUs, system } = process.cpuUsage(before)
  return { ms: (usedUs + system) / 1000, growth: sent / bytes.length }
}

const few = 500
const times = 16

describe.each(callers)('P14 %s', (from) => {
  test.each(Object.entries(shapes[from]))('P14 many %s cost in proportion', { timeout: 60_000 }, (_what, make) => {
    const bodyOf = (count: number) => JSON.stringify({ model: model.id, ...make(count) })
    for (const to of callers) {
      // The first ones pay for compiling.
      for (let round = 0; round < 3; round += 1) cost(from, to, bodyOf(few))
      const small = cost(from, to, bodyOf(few))
      const large = cost(from, to, bodyOf(few * times))
      // In proportion is 16, by the square 256; the floor keeps noise out of it.
      expect(large.ms / Math.max(small.ms, 1)).toBeLessThan(100)
      expect(large.growth).toBeLessThan(10)
    }
  })
})

const size = 1024 * 1024
const filled = (piece: string): string => piece.repeat(Math.ceil(size / piece.length)).slice(0, -1)

describe('P14 memory', () => {
  test.each([
    ['empty lists', `[${filled('[],')}]`],
    ['small objects', `[${filled('{"a":1},')}]`],
    ['lists in lists', `[${repeat(size / 200, () => `${'['.repeat(100)}${']'.repeat(100)}`).join(',')}]`],
    ['keys', `{${repeat(size / 14, (at) => `"k${at}":1`).join(',')}}`],
  ])('P14 a body of %s takes less than 50 times its size', (_what, value) => {
    const text = `{"model":"a","messages":[{"role":"user","content":"a"}],"metadata":${value}}`
    const bytes = Buffer.from(text)
    const before = process.memoryUsage()
    let request: unknown
    try {
      request = dialects.chat.decodeRequest(text, { bytes })
    } catch (error) {
      request = error
    }
    const after = process.memoryUsage()
    // With what is garbage by now: when that is collected is not this test's to say.
    const takenBytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
    expect(request).toBeDefined()
    expect(takenBytes / bytes.length).toBeLessThan(50)
  })
})
