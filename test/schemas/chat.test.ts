import { expect, test } from 'vitest'
import type { Emitted } from './emitted.ts'
import { hasSpecs, openSpec, skipNote } from './spec.ts'
import { verdictOn } from './verdict.ts'
import type { Exception } from './verdict.ts'

const exceptions: readonly Exception[] = [
  {
    what: [
      'chunk/system_fingerprint: must be string',
      'chunk/choices/#/delta/role: must be string',
      'chunk/choices/#/delta/role: must be equal to one of the allowed values',
    ],
    pairs: ['chat over chat'],
    reason: 'Copilot writes null for a member that is absent, and its events go on as they came',
  },
  {
    what: ['chunk/choices/#/delta/tool_calls/#/type: must be equal to one of the allowed values'],
    pairs: ['chat over chat', 'chat over responses', 'chat over messages'],
    reason: 'the schema of a chunk has no custom tools; that of a completion has, and so has the package `openai`',
  },
]

function judgeWith({ violations }: ReturnType<typeof openSpec>) {
  return ({ from, value }: Emitted): readonly string[] => {
    const isError = 'error' in value
    const name = isError ? 'error' : from === 'event' ? 'chunk' : 'completion'
    return violations(schemas[name], value).map(({ path, message }) => `${name}${path}: ${message}`)
  }
}

const schemas = {
  chunk: 'CreateChatCompletionStreamResponse',
  completion: 'CreateChatCompletionResponse',
  error: 'ErrorResponse',
} as const

test.skipIf(!hasSpecs)(
  `what chat callers get is what OpenAI’s schemas describe${skipNote}`,
  { timeout: 60_000 },
  async () => {
    const verdict = await verdictOn('chat', judgeWith(openSpec('openai')), exceptions)
    expect(verdict).toEqual({ unexpected: [], unused: [] })
  },
)

test.skipIf(!hasSpecs)(`a chunk without its model is not what they describe${skipNote}`, () => {
  const judge = judgeWith(openSpec('openai'))
  const chunk = { id: 'x', object: 'chat.completion.chunk', created: 1, choices: [] }
  expect(judge({ from: 'event', name: '', status: 200, value: { ...chunk, model: 'm' } })).toEqual([])
  expect(judge({ from: 'event', name: '', status: 200, value: chunk })).toEqual([
    "chunk: must have required property 'model'",
  ])
})
