import { expect, test } from 'vitest'
import { z } from 'zod'
import { checkValue } from '../../src/json/check-value.ts'

const schema = z.strictObject({
  text: z.string().min(1).max(3),
  mode: z.enum(['chat', 'agent']).optional(),
  steps: z.int().min(1).max(9).optional(),
  files: z
    .array(z.strictObject({ name: z.string() }))
    .max(1)
    .optional(),
  ratio: z.number('must be a ratio').optional(),
})

function problemOf(value: unknown): string {
  const checked = checkValue(schema, value)
  if (checked.ok) return 'none'
  const { path, kind, detail } = checked.problem
  return `${kind}: ${path.join('.')} ${detail}`
}

test.each([
  [{ text: 'a' }, 'none'],
  [{}, 'missing: text is missing'],
  [{ text: 1 }, 'invalid: text must be a string'],
  [{ text: null }, 'invalid: text must be a string'],
  [{ text: '' }, 'invalid: text must not be empty'],
  [{ text: 'abcd' }, 'invalid: text must have at most 3 characters'],
  [{ text: 'a', mode: 'talk' }, 'invalid: mode must be "chat" or "agent", got "talk"'],
  [{ text: 'a', steps: 1.5 }, 'invalid: steps must be a whole number'],
  [{ text: 'a', steps: 10 }, 'invalid: steps must be at most 9'],
  [{ text: 'a', files: [{}] }, 'missing: files.0.name is missing'],
  [{ text: 'a', files: [{ name: 'x', size: 1 }] }, 'unknown: files.0.size is unknown'],
  [{ text: 'a', ratio: 'half' }, 'invalid: ratio must be a ratio'],
  [[], 'invalid:  must be an object'],
])('names the first problem of %j', (value, problem) => {
  expect(problemOf(value)).toBe(problem)
})

test('names all unknown members beside another problem', () => {
  const checked = checkValue(schema, { txt: 'a', size: 2 })
  expect(checked).toMatchObject({ ok: false, problem: { kind: 'missing', unknown: [['txt'], ['size']] } })
})
