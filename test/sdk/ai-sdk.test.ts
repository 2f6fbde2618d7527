import { APICallError, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai'
import { expect, test } from 'vitest'
import { openFor, promptsFor, thrownBy } from './client.ts'
import { judge } from './judge.ts'
import { codexKinds, kinds, titleOf } from './kinds.ts'
import type { ModelKind } from './kinds.ts'
import { aiSpeakers, providers } from './speakers/ai-sdk.ts'
import { some } from '../thorough.ts'

/** One model for each upstream dialect. */
const few = kinds.filter(({ model }) => ['gpt-5-mini', 'gpt-5.3-codex', 'claude-opus-4.7'].includes(model))

for (const [at, speaker] of aiSpeakers.entries()) {
  for (const kind of some(few, 3, at)) judge(speaker, kind)
}

const pairs = pairsOf(few)
const allPairs = pairsOf([...few, ...codexKinds])

function pairsOf(ofKinds: readonly ModelKind[]) {
  return providers.flatMap((provider) =>
    ofKinds.map((kind) => ({ provider, kind, model: kind.model, name: `${provider.name} with ${titleOf(kind)}` })),
  )
}

const readFile = (called: string[]) => ({
  read_file: tool({
    description: 'Reads a file',
    inputSchema: jsonSchema<{ path: string }>({
      type: 'object',
      properties: { path: { type: 'string' } },
      required: ['path'],
    }),
    execute: ({ path }) => {
      called.push(path)
      return `the file at ${path}`
    },
  }),
})

test.each(some(allPairs, 3))(
  '$name: several steps, with tools that are run in between',
  async ({ provider, kind, model }) => {
    const proxy = await openFor(kind)
    const called: string[] = []
    const request = {
      model: provider.model(proxy, model),
      tools: readFile(called),
      stopWhen: isStepCount(3),
      instructions: 'Be brief.',
      prompt: '[demo:tool read_file {"path":"a"}][demo:tool read_file {"path":"b"}] go',
      maxRetries: 0,
    }
    const plain = await generateText(request)
    expect(plain.text).toBe('The tool answered: the file at a\nthe file at b')
    expect(plain.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
    expect(called).toEqual(['a', 'b'])

    const streamed = streamText(request)
    const parts: string[] = []
    for await (const { type } of streamed.fullStream) parts.push(type)
    expect(await streamed.text).toBe(plain.text)
    expect(called).toEqual(['a', 'b', 'a', 'b'])
    expect(parts).not.toContain('error')
    expect(parts.filter((type) => type === 'tool-result')).toHaveLength(2)
    expect(parts.at(-1)).toBe('finish')
    for (const { body } of promptsFor(proxy, kind)) expect(body).toContain('Be brief.')
  },
)

test.each(some(allPairs, 3, 1))('$name: structured output', async ({ provider, kind, model }) => {
  const proxy = await openFor(kind)
  const { output } = await generateText({
    model: provider.model(proxy, model),
    prompt: 'Where?',
    maxRetries: 0,
    output: Output.object({
      schema: jsonSchema<{ city: string }>({
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      }),
    }),
  })
  expect(output).toEqual({ city: expect.any(String) })
})

test.each(some(pairs, 3, 2))(
  '$name: errors have their status, their words and whether to try again',
  async ({ provider, kind, model }) => {
    const proxy = await openFor(kind)
    for (const [marker, status, words, isRetryable] of [
      ['error 400', 400, 'simulated: the request body is not acceptable', false],
      ['error 401', 401, 'Invalid API key', false],
      ['error 429 7', 429, 'Sorry, you have exceeded your weekly rate limit.', true],
      ['error 500', 500, /internal server error/i, true],
      ['overflow', 400, /too long|exceeds the limit/, false],
    ] as const) {
      const request = { model: provider.model(proxy, model), prompt: `[demo:${marker}]`, maxRetries: 0 }
      const error = await thrownBy(generateText(request))
      expect(APICallError.isInstance(error), marker).toBe(true)
      expect(error).toMatchObject({ statusCode: status, message: expect.stringMatching(words), isRetryable })
      if (status === 429) expect(error).toMatchObject({ responseHeaders: { 'retry-after': '7' } })
    }
  },
)

test.each(some(allPairs, 3))(
  '$name: a failure in the middle of a stream is an error part',
  async ({ provider, kind, model }) => {
    const proxy = await openFor(kind)
    for (const marker of ['error-mid', 'cut', 'eof']) {
      let text = ''
      const errors: unknown[] = []
      const { fullStream } = streamText({
        model: provider.model(proxy, model),
        prompt: `[demo:${marker}] one two three four five six`,
        maxRetries: 0,
        onError: ({ error }) => {
          errors.push(error)
        },
      })
      for await (const part of fullStream) if (part.type === 'text-delta') text += part.text
      expect(text, marker).toMatch(/^Hello from/)
      expect(errors, marker).toHaveLength(1)
      expect(JSON.stringify(errors[0], Object.getOwnPropertyNames(errors[0])), marker).toMatch(
        /failed in the middle|is incomplete|overloaded/,
      )
    }
  },
)
