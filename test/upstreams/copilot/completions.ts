import { z } from 'zod'
import { invalidBody } from './failures.ts'
import { jsonReply, streamReply, textReply } from '../http/outcome.ts'
import type { Outcome } from '../http/outcome.ts'
import { parseJson } from '../../../src/json/json.ts'

/** Body of `POST /v1/engines/ENGINE/completions` (docs/copilot-wire.md, "Images and completions"). */
const completion = z.looseObject({
  prompt: z.string(),
  suffix: z.string(),
  max_tokens: z.int().positive(),
  n: z.int().min(1).max(10),
  stop: z.array(z.string()).optional(),
  stream: z.boolean(),
})

const engines = new Set(['gpt-41-copilot', 'gpt-4o-copilot', 'copilot-codex'])

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const choice = (text: string, index: number, finish_reason: string | null) => ({
  text,
  index,
  finish_reason,
  logprobs: null,
})

export function answerCompletions(engine: string, bodyText: string): Outcome {
  if (!engines.has(engine)) return textReply(404, 'engine not found')
  const parsed = completion.safeParse(parseJson(bodyText))
  if (!parsed.success) return invalidBody(`invalid completion request: ${parsed.error.issues[0]?.path.join('.') ?? ''}`)
  const { prompt, suffix, n, stop = [], stream } = parsed.data
  if (!stream) return jsonReply(400, { error: { message: 'non streaming requests are not supported by this proxy' } })
  const words = ['a', ' +', ' b', suffix === '' ? '\n' : '']
  const told = stop.length > 0 ? words.filter((word) => !stop.some((mark) => word.includes(mark))) : words
  const pieces = told.flatMap((word) =>
    Array.from({ length: n }, (_each, index) => event({ choices: [choice(word, index, null)] })),
  )
  const ends = Array.from({ length: n }, (_each, index) => event({ choices: [choice('', index, 'stop')] }))
  const counts = { prompt_tokens: Math.ceil(prompt.length / 4), completion_tokens: told.length * n }
  const usage = { ...counts, total_tokens: counts.prompt_tokens + counts.completion_tokens }
  return streamReply([...pieces, ...ends, event({ choices: [], usage }), 'data: [DONE]\n\n'])
}
