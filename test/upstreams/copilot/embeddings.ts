import { z } from 'zod'
import { invalidBody, modelNotSupported } from './failures.ts'
import { MODELS } from './models.ts'
import { jsonReply, textReply } from '../http/outcome.ts'
import type { HeaderMap, Outcome } from '../http/outcome.ts'
import { parseJson } from '../../../src/json/json.ts'

const FULL_DIMENSIONS = 1536
const MAX_INPUTS = 512

/** Body of `POST /embeddings`: `input` must be an array of strings (docs/copilot-wire.md, "Embeddings"). */
const embeddingsRequest = z.looseObject({
  model: z.string(),
  input: z.array(z.string()).min(1),
  dimensions: z.number().int().min(1).max(FULL_DIMENSIONS).optional(),
})

/**
 * Answers with one vector per input. Like upstream, the body has no top-level `object` and `model`, and malformed input
 * gets a bare `Bad Request`.
 */
export function answerEmbeddings(bodyText: string, headers: HeaderMap): Outcome {
  const parsed = embeddingsRequest.safeParse(parseJson(bodyText))
  if (!parsed.success) return textReply(400, 'Bad Request')
  const { model, input, dimensions = FULL_DIMENSIONS } = parsed.data
  if (MODELS.find(model)?.type !== 'embeddings') return modelNotSupported()
  if (input.length > MAX_INPUTS) {
    return invalidBody(`too many inputs: ${input.length} exceeds the limit of ${MAX_INPUTS}`)
  }
  const tokens = input.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0)
  return jsonReply(
    200,
    {
      data: input.map((text, index) => ({ index, embedding: unitVector(text, dimensions), object: 'embedding' })),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    },
    headers,
  )
}

/** A vector of length 1. Equal texts get equal vectors; different texts get unrelated ones. */
function unitVector(text: string, dimensions: number): readonly number[] {
  let state = hash(text)
  const raw = Array.from({ length: dimensions }, () => {
    // xorshift32: enough to look random, and the same on every machine.
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state / 0x80000000
  })
  const length = Math.hypot(...raw)
  return raw.map((value) => Number((value / length).toFixed(8)))
}

/** FNV-1a over UTF-16 units. Never 0, because xorshift would then return 0 for ever. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value === 0 ? 1 : value
}
