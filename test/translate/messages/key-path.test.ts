import { expect, test } from 'vitest'
import { shapeOf, withoutKey } from '../../../src/translate/messages/key-path.ts'

test.each([
  ['novelty', 'novelty'],
  ['tools.0.custom.eager_input_streaming', 'tools.*.custom.eager_input_streaming'],
  ['system.1.cache_control.ephemeral.scope', 'system.*.cache_control.ephemeral.scope'],
  ['thinking', 'thinking'],
  ['model', undefined],
  ['messages', undefined],
  ['messages.0', undefined],
  ['messages.0.content', undefined],
  ['messages.0.id', 'messages.*.id'],
  ['messages.0.content.0.text.text', undefined],
  ['tools.0.custom.name', undefined],
  ['', undefined],
  ['a..b', undefined],
  ['0.a', undefined],
])('the shape of %s', (path, shape) => {
  expect(shapeOf(path)).toBe(shape)
})

test.each([
  [
    'everywhere of its kind',
    'tools.*.x',
    { tools: [{ x: 1, y: 1 }, { y: 2 }, { x: 3 }] },
    { tools: [{ y: 1 }, { y: 2 }, {}] },
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
  expect(withoutKey(before, shape)).toEqual(after)
  expect(JSON.stringify(before)).toBe(json)
})

test.each(['x', 'tools.*.y', 'tools.x', 'tools.*.*.y', 'toString', '__proto__', 'tools.*.custom'])(
  'gives back the very value where %s is not in it',
  (shape) => {
    const value = { tools: [{ name: 'f' }, null, 1], n: 1 }
    expect(withoutKey(value, shape)).toBe(value)
  },
)
