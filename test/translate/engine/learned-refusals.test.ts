import { expect, test } from 'vitest'
import { editAt, removeAt, stepsOf } from '../../../src/translate/engine/learned-refusals.ts'

test.each([
  ['novelty', 'novelty'],
  ['tools.0.custom.x', 'tools * custom x'],
  ['tools.*.custom.x', 'tools * custom x'],
  ['input[33].content[0].x', 'input * content * x'],
  ['input[].content[].x', 'input * content * x'],
  ['a1.b2', 'a1 b2'],
  ['0.a', '* a'],
  ['a..b', 'a  b'],
])('the steps of %s', (path, steps) => {
  expect(stepsOf(path).join(' ')).toBe(steps)
})

test('replaces and removes values, and keeps what does not change', () => {
  const value = { input: [{ id: 1 }, { id: 2 }, 'text'], other: {} }
  const doubled = editAt(value, 'input[].id', (id) => Number(id) * 2)
  expect(doubled).toEqual({ input: [{ id: 2 }, { id: 4 }, 'text'], other: {} })
  expect(doubled['other']).toBe(value.other)
  expect(editAt(value, 'input[]', (item) => (item === 'text' ? undefined : item))).toEqual({
    input: [{ id: 1 }, { id: 2 }],
    other: {},
  })
  expect(editAt(value, 'input[]', (item) => item)).toBe(value)
})

test.each([
  [
    'everywhere of its kind',
    'tools.*.x',
    { tools: [{ x: 1, y: 1 }, { y: 2 }, { x: 3 }] },
    { tools: [{ y: 1 }, { y: 2 }, {}] },
  ],
  [
    'in the words of the Responses API',
    'input[3].content[0].x',
    { input: [{ content: [{ x: 1, y: 1 }] }, 'z'] },
    { input: [{ content: [{ y: 1 }] }, 'z'] },
  ],
  [
    'with the type of a tool that states none',
    'tools.*.custom.x',
    { tools: [{ x: 1 }, { type: 'custom', x: 1 }, { type: 'bash_20250124', x: 1 }] },
    { tools: [{}, { type: 'custom' }, { type: 'bash_20250124', x: 1 }] },
  ],
  [
    'below a mark',
    'system.*.cache_control.ephemeral.scope',
    { system: [{ type: 'text', cache_control: { type: 'ephemeral', scope: 'x' } }] },
    { system: [{ type: 'text', cache_control: { type: 'ephemeral' } }] },
  ],
  [
    'where the type is a key too',
    'content.*.text.citations',
    { content: [{ type: 'text', text: 'x', citations: null }] },
    { content: [{ type: 'text', text: 'x' }] },
  ],
  ['of a key that is called custom', 'custom.x', { custom: { x: 1, y: 1 } }, { custom: { y: 1 } }],
  ['of a key of the prototype', '__proto__.x', JSON.parse('{"__proto__":{"x":1}}'), JSON.parse('{"__proto__":{}}')],
])('takes a key out %s', (_, shape, before, after) => {
  const json = JSON.stringify(before)
  expect(removeAt(before, shape)).toEqual(after)
  expect(JSON.stringify(before)).toBe(json)
})

test.each(['x', 'tools.*.y', 'tools.x', 'tools.*.*.y', 'toString', '__proto__', 'tools.*.custom'])(
  'gives back the very value where %s is not in it',
  (shape) => {
    const value = { tools: [{ name: 'f' }, null, 1], n: 1 }
    expect(removeAt(value, shape)).toBe(value)
  },
)
