import { z } from 'zod'
import { invalidBody, modelNotSupported, wrongEndpoint } from './failures.ts'
import type { DemoModels } from './catalogue-models.ts'
import { jsonReply } from '../http/outcome.ts'
import type { HeaderMap, Outcome } from '../http/outcome.ts'
import { parseJson } from '../../../src/json/json.ts'

/** Body of `POST /v1/images/generations` as GitHub's CLI sends it (docs/copilot-wire.md, "Images and completions"). */
const generation = z.looseObject({
  model: z.string(),
  prompt: z.string().min(1),
  n: z.int().min(1).max(10).optional(),
  stream: z.literal(false).optional(),
})

const path = '/v1/images/generations'
/** One transparent pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const nanoAiuPerImage = 4e9

export function answerImages(bodyText: string, models: DemoModels, nowMs: number, headers: HeaderMap): Outcome {
  const parsed = generation.safeParse(parseJson(bodyText))
  if (!parsed.success) return invalidBody(`invalid image request: ${parsed.error.issues[0]?.path.join('.') ?? ''}`)
  const { model: id, prompt, n = 1 } = parsed.data
  const model = models.find(id)
  if (model === undefined || !model.isEnabled) return modelNotSupported()
  if (!model.endpoints.includes(path)) return wrongEndpoint(model, path)
  const input = Math.ceil(prompt.length / 4)
  return jsonReply(
    200,
    {
      created: Math.floor(nowMs / 1000),
      data: Array.from({ length: n }, () => ({ b64_json: pixel })),
      usage: { input_tokens: input, output_tokens: n * 1056, total_tokens: input + n * 1056 },
      copilot_usage: { total_nano_aiu: n * nanoAiuPerImage },
    },
    headers,
  )
}
