import { z } from 'zod'
import type { UpstreamCall } from '../executors/executor.ts'
import { parseObject } from '../json/json.ts'
import { encodeData } from '../sse/encode.ts'
import { modelNotSupported, toFault } from './failures.ts'
import { parseMarkers } from './markers.ts'
import type { BodyScript } from './scripted-body.ts'
import type { Model } from '../models/model.ts'
import type { Fault } from '../errors.ts'

/** Answers the requests of Copilot that are no prompts. @throws Fault `upstream_status` */
export function answerJson(call: UpstreamCall, models: readonly Model[]): unknown {
  switch (call.path) {
    case '/v1/messages/count_tokens':
      return { input_tokens: Math.ceil(String(call.body).length / 4) }
    case '/embeddings':
      return answerEmbeddings(call, models)
    case '/v1/images/generations':
      return answerImages(call, models)
    case '/auto':
      return chooseModel(call, models)
    default:
      throw toFault({ provider: 'copilot' }, { status: 404, message: '404 page not found' })
  }
}

const longestVector = 1536

/** Source of all bodies here: docs/copilot-wire.md. */
const embeddings = z.looseObject({
  model: z.string(),
  input: z.array(z.string()).min(1).max(512),
  dimensions: z.int().min(1).max(longestVector).optional(),
})

function answerEmbeddings({ body }: UpstreamCall, models: readonly Model[]) {
  const { model: id, input, dimensions = longestVector } = read(embeddings, body)
  if (models.find((model) => model.id === id)?.type !== 'embeddings') throw modelNotSupported()
  const tokens = input.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0)
  return {
    data: input.map((text, index) => ({ object: 'embedding', index, embedding: unitVector(text, dimensions) })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

/** A vector of length 1. Equal texts get equal vectors; different texts get unrelated ones. */
function unitVector(text: string, dimensions: number): readonly number[] {
  // FNV-1a over UTF-16 units, then xorshift32, which needs a start other than 0.
  let state = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) state = Math.imul(state ^ text.charCodeAt(at), 0x01000193)
  state ||= 1
  const raw = Array.from({ length: dimensions }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state / 0x80000000
  })
  const length = Math.hypot(...raw)
  return raw.map((value) => Number((value / length).toFixed(8)))
}

const images = z.looseObject({
  model: z.string(),
  prompt: z.string().min(1),
  n: z.int().min(1).max(10).optional(),
})

/** One transparent pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const nanoAiuPerImage = 4e9

function answerImages({ path, body }: UpstreamCall, models: readonly Model[]) {
  const { model: id, prompt, n = 1 } = read(images, body)
  if (models.find((model) => model.id === id)?.endpoints.includes(path) !== true) throw modelNotSupported()
  const input = Math.ceil(prompt.length / 4)
  return {
    created: Math.floor(Date.now() / 1000),
    data: Array.from({ length: n }, () => ({ b64_json: pixel })),
    usage: { input_tokens: input, output_tokens: n * 1056, total_tokens: input + n * 1056 },
    copilot_usage: { total_nano_aiu: n * nanoAiuPerImage },
  }
}

const auto = z.looseObject({ prompt: z.string(), has_image: z.boolean().optional(), tier: z.string().optional() })

/** The models that the tiers of `auto` choose. */
const tiers: ReadonlyMap<string | undefined, string> = new Map([
  ['efficiency', 'gpt-5-mini'],
  ['balance', 'gpt-5.4'],
  ['intelligence', 'claude-sonnet-5'],
])

/** Upstream offers no way to extend a choice. */
const choiceSeconds = 24 * 60 * 60

/** Long prompts and images get another model than short prompts. */
function chooseModel({ body }: UpstreamCall, models: readonly Model[]) {
  const { prompt, has_image: hasImage = false, tier } = read(auto, body)
  const wanted = parseMarkers(prompt).asked.get('auto')?.[0]
  const id = wanted ?? tiers.get(tier) ?? (prompt.length > 200 || hasImage ? 'claude-sonnet-5' : 'gpt-5-mini')
  if (!models.some((model) => model.id === id)) throw modelNotSupported()
  return {
    session_token: `auto-demo-${id}`,
    expires_at: Math.floor(Date.now() / 1000) + choiceSeconds,
    selected_model: { id },
  }
}

const completion = z.looseObject({
  prompt: z.string(),
  suffix: z.string(),
  n: z.int().min(1).max(10),
  stop: z.array(z.string()).optional(),
})

/** Answers a request for code completions. Returns undefined if the request is for another route. */
export function answerCompletions({ path, body }: UpstreamCall): BodyScript | undefined {
  if (!/^\/v1\/engines\/[^/]+\/completions$/.test(path)) return undefined
  const { prompt, suffix, n, stop = [] } = read(completion, body)
  const words = ['a', ' +', ' b', suffix === '' ? '\n' : ''].filter((word) => !stop.some((mark) => word.includes(mark)))
  const ofAll = (text: string, reason: string | null) =>
    Array.from({ length: n }, (_each, index) =>
      encodeData(JSON.stringify({ choices: [{ text, index, finish_reason: reason, logprobs: null }] })),
    )
  const counts = { prompt_tokens: Math.ceil(prompt.length / 4), completion_tokens: words.length * n }
  const usage = { ...counts, total_tokens: counts.prompt_tokens + counts.completion_tokens }
  const pieces = [
    ...words.flatMap((word) => ofAll(word, null)),
    ...ofAll('', 'stop'),
    encodeData(JSON.stringify({ choices: [], usage })),
    encodeData('[DONE]'),
  ]
  return { pieces, delayMs: 0, ending: 'end' }
}

function read<Schema extends z.ZodType>(schema: Schema, body: UpstreamCall['body']): z.infer<Schema> {
  const parsed = schema.safeParse(parseObject(String(body)))
  if (parsed.success) return parsed.data
  throw refused(parsed.error)
}

function refused({ issues: [issue] }: z.ZodError): Fault {
  const message = `invalid request body: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`
  return toFault({ provider: 'copilot' }, { status: 400, message, code: 'invalid_request_body' })
}
