import { fc } from '../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { pairCalls } from '../../../src/translate/fit/pair-calls.ts'
import type { TurnItem } from '../../../src/translate/turn.ts'
import { formatWarning } from '../../../src/translate/warning.ts'

const user = (text: string): TurnItem => ({
  type: 'message',
  role: 'user',
  parts: [{ type: 'text', text }],
  path: 'messages.0',
})
const said = (text: string): TurnItem => ({
  type: 'message',
  role: 'assistant',
  parts: [{ type: 'text', text }],
  path: 'messages.0',
})
const call = (id: string): TurnItem => ({
  type: 'tool_call',
  kind: 'function',
  id,
  name: 'f',
  arguments: '{}',
  path: 'messages.1',
})
const result = (callId: string, content = 'r'): TurnItem => ({
  type: 'tool_result',
  callId,
  content,
  isError: false,
  path: 'messages.2',
})

/** Items in short: `call a`, `result a: r`, `result b!: …` for an error, else the role. */
function outline(items: readonly TurnItem[]): readonly string[] {
  return items.map((item) => {
    switch (item.type) {
      case 'tool_call':
        return `call ${item.id}`
      case 'tool_result':
        return `result ${item.callId}${item.isError ? '!' : ''}: ${JSON.stringify(item.content)}`
      case 'message':
        return item.role
      default:
        return item.type
    }
  })
}

function pair(items: readonly TurnItem[], maxIdLength = 64) {
  const paired = pairCalls(items, maxIdLength)
  return { items: outline(paired.items), warnings: paired.warnings.map(formatWarning) }
}

test('an id that is used again belongs to the call of the last turn, also where an earlier one has no result', () => {
  const items = [user('u'), call('a'), user('v'), call('a'), call('a'), result('a', '1'), result('a', '2'), user('w')]
  expect(pair(items)).toEqual({
    items: [
      'user',
      'call a',
      'result a!: "No result was provided for this tool call."',
      'user',
      'call a__2',
      'call a__3',
      'result a__2: "1"',
      'result a__3: "2"',
      'user',
    ],
    warnings: ['tool_result_synthesised;a'],
  })
})

test('a result too many does not take the place of a later one', () => {
  const items = [user('u'), call('a'), result('a', '1'), result('a', 'again'), call('a'), result('a', '2'), user('v')]
  expect(pair(items)).toEqual({
    items: ['user', 'call a', 'result a: "1"', 'call a__2', 'result a__2: "2"', 'user'],
    warnings: ['tool_result_orphan_dropped;a'],
  })
})

test('a history in order stays as it is, item by item', () => {
  const items = [user('u'), said('s'), call('a'), call('b'), result('a'), result('b'), user('v')]
  const paired = pairCalls(items, 64)
  expect(paired.items).toEqual(items)
  expect(paired.items.every((item, at) => item === items[at])).toBe(true)
  expect(paired.warnings).toEqual([])
})

test('a history without tools is not even copied', () => {
  const items = [user('u'), said('s')]
  expect(pairCalls(items, 64).items).toBe(items)
})

test('a missing result is made up, one without a call left out', () => {
  expect(pair([user('u'), call('a'), call('b'), result('a', 'ra'), result('zz'), user('next')])).toEqual({
    items: [
      'user',
      'call a',
      'call b',
      'result a: "ra"',
      'result b!: "No result was provided for this tool call."',
      'user',
    ],
    warnings: ['tool_result_orphan_dropped;zz', 'tool_result_synthesised;b'],
  })
})

test('calls that share an id get different ids, and so do their results, in order', () => {
  expect(
    pair([call('x'), call('x'), result('x', '1'), result('x', '2'), user('u'), call('x'), result('x', '3')]),
  ).toEqual({
    items: ['call x', 'call x__2', 'result x: "1"', 'result x__2: "2"', 'user', 'call x__3', 'result x__3: "3"'],
    warnings: [],
  })
})

test('an id that looks like a made-up one does not collide with it', () => {
  const { items } = pair([call('x__2'), call('x'), call('x'), result('x__2'), result('x'), result('x')])
  expect(items.slice(0, 3)).toEqual(['call x__2', 'call x', 'call x__3'])
})

describe('results that do not follow their call', () => {
  test('move to the end of the run of calls that they answer', () => {
    expect(pair([call('a'), user('hurry'), result('a'), said('done')])).toEqual({
      items: ['call a', 'result a: "r"', 'user', 'assistant'],
      warnings: ['tool_result_moved;a'],
    })
  })

  test('get no warning about moving if only orphans preceded them', () => {
    expect(pair([call('a'), result('zz'), result('a')]).warnings).toEqual(['tool_result_orphan_dropped;zz'])
  })

  test('before their call answer nothing', () => {
    expect(pair([result('a'), call('a')])).toEqual({
      items: ['call a', 'result a!: "No result was provided for this tool call."'],
      warnings: ['tool_result_orphan_dropped;a', 'tool_result_synthesised;a'],
    })
  })
})

test('ids are made legal and short, the same for call and result and on every turn', () => {
  const long = `call|${'x'.repeat(400)}`
  const once = pair([call(long), result(long)])
  expect(once.items[0]).toMatch(/^call call_x{50}_[0-9a-f]{8}$/)
  expect(once.items[1]).toBe(`result ${once.items[0]?.slice(5)}: "r"`)
  expect(pair([user('u'), call(long), result(long)]).items.slice(1)).toEqual(once.items)
})

test('in any order, each call has one result directly after its run, and no result is without a call', () => {
  const id = fc.constantFrom('a', 'b', 'c')
  const item = fc.oneof(
    id.map(call),
    id.map((callId) => result(callId)),
    fc.constant(user('u')),
    fc.constant(said('s')),
  )
  fc.assert(
    fc.property(fc.array(item, { maxLength: 30 }), (items) => {
      const open = new Set<string>()
      const seen = new Set<string>()
      for (const placed of pairCalls(items, 64).items) {
        if (placed.type === 'tool_call') {
          expect(seen.has(placed.id)).toBe(false)
          seen.add(placed.id)
          open.add(placed.id)
        } else if (placed.type === 'tool_result') {
          expect(open.delete(placed.callId)).toBe(true)
        } else if (placed.type === 'message' && placed.role === 'user') {
          expect(open.size).toBe(0)
        }
      }
      expect(open.size).toBe(0)
    }),
  )
})
