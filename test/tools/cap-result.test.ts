import { expect, it } from 'vitest'
import { capResult } from '../../src/tools/cap-result.ts'

it('keeps a small result unchanged', () => {
  const result = { content: 'a€', list: [1, { a: null }], isDone: true }
  expect(capResult(result, 1000)).toEqual(result)
})

it('cuts a text after a whole character', () => {
  const { content, truncated } = capResult({ content: '€'.repeat(100) }, 35)
  expect(content).toMatch(/^€{1,11}$/)
  expect(truncated).toBe(true)
})

it('cuts a list after a whole element', () => {
  const { files, truncated } = capResult({ files: ['one', 'two', 'three-is-long'], truncated: false }, 8 + 5 + 8)
  expect(files).toEqual(['one', 'two'])
  expect(truncated).toBe(true)
})

it('shortens a first element to the limit', () => {
  const { content } = capResult(
    {
      content: [
        { type: 'text', text: 'x'.repeat(1000) },
        { type: 'text', text: 'y' },
      ],
    },
    100,
  )
  expect(content).toEqual([{ type: 'text', text: expect.stringMatching(/^x{20,90}$/) }])
})

it('replaces values that are nested too deeply', () => {
  let deep: Record<string, unknown> = {}
  for (let depth = 0; depth < 10_000; depth += 1) deep = { deep }
  expect(capResult(deep, 1_000_000)['truncated']).toBe(true)
})
