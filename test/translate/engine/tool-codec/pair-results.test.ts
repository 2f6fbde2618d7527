import { describe, expect, test } from 'vitest'
import { dialects } from '../../../../src/translate/dialects.ts'
import type { UpstreamDialectId } from '../../../../src/translate/dialect.ts'
import { type JsonObject, objectsOf, objectOf } from '../../../../src/json/json.ts'
import { formatWarning } from '../../../../src/translate/warning.ts'
import { fc } from '../../../fast-check.ts'
import { encodeContext, traits } from '../../turns.ts'

// The same histories in each dialect, passed on. A step is a call `a`, a result `=a`, or words of the user `u`.

type Step = string

interface Wire {
  readonly model: string
  readonly history: (steps: readonly Step[]) => JsonObject
  /** The steps that upstream gets; a result that the proxy made up ends with `?`. */
  readonly read: (body: JsonObject) => readonly Step[]
}

const isResult = (step: Step): boolean => step.startsWith('=')
const made = (text: unknown): string => (String(text).includes('No result was provided') ? '?' : '')

const wires: Readonly<Record<UpstreamDialectId, Wire>> = {
  chat: {
    model: 'gpt-4.1',
    history: (steps) => ({
      messages: steps.map((step) => {
        if (step === 'u') return { role: 'user', content: 'u' }
        if (isResult(step)) return { role: 'tool', tool_call_id: step.slice(1), content: 'r' }
        const call = { id: step, type: 'function', function: { name: 'f', arguments: '{}' } }
        return { role: 'assistant', content: null, tool_calls: [call] }
      }),
    }),
    read: ({ messages }) =>
      objectsOf(messages).flatMap(({ role, tool_call_id: id, content, tool_calls: calls }) => {
        if (role === 'user') return 'u'
        if (role === 'tool') return `=${String(id)}${made(content)}`
        return objectsOf(calls).map((call) => String(call['id']))
      }),
  },
  messages: {
    model: 'claude-sonnet-4.5',
    history: (steps) => ({
      max_tokens: 9,
      messages: steps.map((step) => {
        if (step === 'u') return { role: 'user', content: 'u' }
        return isResult(step)
          ? { role: 'user', content: [{ type: 'tool_result', tool_use_id: step.slice(1), content: 'r' }] }
          : { role: 'assistant', content: [{ type: 'tool_use', id: step, name: 'f', input: {} }] }
      }),
    }),
    read: ({ messages }) =>
      objectsOf(messages).flatMap(({ content }) => {
        if (!Array.isArray(content)) return content === 'u' ? 'u' : []
        return objectsOf(content).flatMap(({ type, id, tool_use_id: callId, content: text }) => {
          if (type === 'tool_use') return String(id)
          return type === 'tool_result' ? `=${String(callId)}${made(text)}` : 'u'
        })
      }),
  },
  responses: {
    model: 'gpt-5.3-codex',
    history: (steps) => ({
      input: steps.map((step) => {
        if (step === 'u') return { role: 'user', content: 'u' }
        return isResult(step)
          ? { type: 'function_call_output', call_id: step.slice(1), output: 'r' }
          : { type: 'function_call', call_id: step, name: 'f', arguments: '{}' }
      }),
    }),
    read: ({ input }) =>
      objectsOf(input).map(({ type, call_id: id, output }) => {
        if (type === 'function_call') return String(id)
        return type === 'function_call_output' ? `=${String(id)}${made(output)}` : 'u'
      }),
  },
}

function pass(dialect: UpstreamDialectId, steps: readonly Step[]) {
  const { model, history, read } = wires[dialect]
  const text = JSON.stringify({ model: 'm', ...history(steps) })
  const request = dialects[dialect].decodeRequest(text)
  const passed = dialects[dialect].upstream.passRequest(request, encodeContext(traits(model)))
  const body: unknown = JSON.parse(String(passed?.body))
  return { steps: read(objectOf(body)), warnings: passed?.warnings.map(formatWarning) ?? [] }
}

describe.each(['chat', 'messages', 'responses'] as const)('a history of %s', (dialect) => {
  test.each<[string, readonly Step[]]>([
    ['right after its call', ['u', 'a', '=a', 'u']],
    ['after words', ['u', 'a', 'u', '=a', 'u']],
    ['turns later', ['u', 'a', 'u', 'b', '=b', 'u', '=a', 'u']],
    ['before its call', ['u', '=a', 'a', 'u']],
    ['after a second call with its id', ['u', 'a', 'u', 'a', '=a', 'u', '=a', 'u']],
  ])('keeps a result %s', (_, steps) => {
    const { steps: sent, warnings } = pass(dialect, steps)
    expect(sent.filter((step) => isResult(step) && !step.endsWith('?'))).toHaveLength(steps.filter(isResult).length)
    expect(sent.filter((step) => step.endsWith('?'))).toEqual([])
    expect(warnings.filter((warning) => !/^(?:tool_result_moved|adapted);/.test(warning))).toEqual([])
  })

  test.each<[string, readonly Step[], string]>([
    ['adds a result that is nowhere', ['u', 'a', 'u'], 'tool_result_synthesised;a'],
    ['drops a result whose call is nowhere', ['u', '=a', 'u'], 'tool_result_orphan_dropped;a'],
    ['drops a second result', ['u', 'a', '=a', '=a', 'u'], 'tool_result_orphan_dropped;a'],
  ])('%s', (_, steps, warning) => {
    const { steps: sent, warnings } = pass(dialect, steps)
    expect(warnings).toEqual([warning])
    const calls = sent.filter((step) => step !== 'u' && !isResult(step))
    expect(sent.filter(isResult)).toHaveLength(calls.length)
  })

  test('has one result for each call, made up only where the caller has none, whatever its order', () => {
    const step = fc.constantFrom('a', 'b', '=a', '=b', 'u')
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (middle) => {
        const steps = ['u', ...middle, 'u']
        const { steps: sent } = pass(dialect, steps)
        const calls = steps.filter((each) => each !== 'u' && !isResult(each))
        expect(sent.filter((each) => each !== 'u' && !isResult(each))).toHaveLength(calls.length)
        expect(sent.filter(isResult)).toHaveLength(calls.length)
        const missing = ['a', 'b'].map((id) => Math.max(0, count(steps, id) - count(steps, `=${id}`)))
        const madeUp = sent.filter((each) => each.endsWith('?'))
        expect(madeUp).toHaveLength(missing.reduce((sum, each) => sum + each, 0))
      }),
      { numRuns: 200 },
    )
  })

  test('pairs 20,000 calls with one id in linear time', () => {
    const many = [...Array.from({ length: 20_000 }, () => 'a'), ...Array.from({ length: 20_000 }, () => '=a'), 'u']
    expect(pass(dialect, ['u', ...many]).steps).toHaveLength(40_002)
  })
})

function count(steps: readonly Step[], step: Step): number {
  return steps.filter((each) => each === step).length
}
