import { z } from 'zod'
import { Fault } from '../errors.ts'
import { checkValue } from '../json/check-value.ts'
import { refuseProblem } from './engine/request/invalid.ts'
import { parseBody } from './engine/request/json-body.ts'

/** OpenAI's limit. Source: OpenAI API specification, CreateEmbeddingRequest. */
const maxInputs = 2048

/** Above any real request and far below what parser and serialiser bear. `maxValues` allows about 50 for each text. */
const limits = { maxDepth: 100, maxMembers: 100, maxValues: 100_000 }

/** Body of POST /v1/embeddings. Keys we do not read pass through; `input` is read by `decodeInput`. */
const embeddingsBody = z.looseObject(
  {
    model: z.string({ error: 'must be the name of a model' }).min(1, 'must be the name of a model'),
    input: z.unknown().optional(),
    encoding_format: z.enum(['float', 'base64'], { error: 'must be "float" or "base64"' }).nullish(),
    dimensions: z.int({ error: 'must be a whole number' }).positive('must be at least 1').nullish(),
  },
  { error: 'must be a JSON object' },
)

export interface EmbeddingsRequest {
  readonly model: string
  readonly inputs: readonly string[]
  readonly encoding: 'float' | 'base64'
  /** All other members that the caller sent, including `dimensions`. */
  readonly otherMembers: Readonly<Record<string, unknown>>
}

interface EmbeddingsModel {
  readonly id: string
  /** Texts in one upstream request. Undefined: not stated, so requests are not split. */
  readonly maxInputs?: number | undefined
}

/**
 * @param text the received body, JSON
 * @throws Fault `malformed_body`, `invalid_request`
 */
export function decodeEmbeddingsRequest(text: string): EmbeddingsRequest {
  const body = checkValue(embeddingsBody, parseBody(text, limits).value)
  if (!body.ok) refuseProblem(body.problem)
  const { model, input, encoding_format, dimensions, ...unread } = body.value
  return {
    model,
    inputs: decodeInput(input),
    encoding: encoding_format ?? 'float',
    otherMembers: { ...unread, ...(typeof dimensions === 'number' && { dimensions }) },
  }
}

/**
 * The texts to embed. OpenAI's API also takes token ids; Copilot refuses them with a bare `Bad Request`, so this refuses
 * them with an explanation. OpenAI's API refuses empty texts too.
 */
function decodeInput(input: unknown): readonly string[] {
  if (typeof input === 'string') return [decodeText(input, 'input')]
  if (!Array.isArray(input)) throw invalid('input', 'must be a string or an array of strings')
  if (input.length === 0) throw invalid('input', 'must not be an empty array')
  if (input.length > maxInputs) {
    throw invalid('input', `must have at most ${maxInputs} entries, got ${input.length}`)
  }
  return input.map((item, index) => decodeText(item, `input[${index}]`))
}

function decodeText(item: unknown, path: string): string {
  if (typeof item === 'number' || Array.isArray(item))
    throw invalid(path, 'must be a string: Copilot does not accept token ids')
  if (typeof item !== 'string') throw invalid(path, 'must be a string')
  if (item === '') throw invalid(path, 'must not be an empty string')
  return item
}

/**
 * The upstream bodies, JSON, to send in order: a request with more texts than the model takes is split. `input` is always
 * an array, because upstream refuses a string. `encoding_format` is omitted, because upstream does not reliably respect it;
 * `encodeEmbeddingsReply` encodes instead.
 */
export function encodeEmbeddingsBodies(request: EmbeddingsRequest, model: EmbeddingsModel): readonly string[] {
  return batches(request.inputs, model).map((input) =>
    JSON.stringify({ ...request.otherMembers, model: model.id, input }),
  )
}

function batches(inputs: readonly string[], model: EmbeddingsModel): readonly (readonly string[])[] {
  const size = model.maxInputs ?? inputs.length
  const count = Math.ceil(inputs.length / size)
  return Array.from({ length: count }, (_, batch) => inputs.slice(batch * size, (batch + 1) * size))
}

const tokens = z.number().int().nonnegative().nullish().catch(undefined)

/**
 * One upstream reply. `object`, `model` and each `index` may be missing. An invalid embedding cannot be repaired, so every
 * number is checked.
 */
const upstreamReply = z.looseObject({
  model: z.string().min(1).nullish().catch(undefined),
  data: z.array(
    z.looseObject({
      index: z.number().int().nullish(),
      embedding: z.custom<readonly number[]>((value) => Array.isArray(value) && value.every(Number.isFinite)),
    }),
  ),
  usage: z.looseObject({ prompt_tokens: tokens, total_tokens: tokens }).nullish().catch(undefined),
})

/** Reply body of POST /v1/embeddings, as OpenAI's API specifies it (CreateEmbeddingResponse). */
export interface EmbeddingsReply {
  readonly object: 'list'
  readonly data: readonly {
    readonly object: 'embedding'
    readonly index: number
    /** Numbers, or base64 of little-endian 32-bit floats. */
    readonly embedding: readonly number[] | string
  }[]
  readonly model: string
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number }
}

/**
 * Usage that upstream does not state counts as 0 and is never estimated.
 * @param replies in the order of `encodeEmbeddingsBodies`
 * @throws Fault `upstream_unusable` unless there is exactly one embedding for each text: callers pair them by index
 */
export function encodeEmbeddingsReply(
  request: EmbeddingsRequest,
  model: EmbeddingsModel,
  replies: readonly unknown[],
): EmbeddingsReply {
  const parsed = z.array(upstreamReply).safeParse(replies).data
  if (parsed === undefined) throw unusable('the reply has no list of embeddings')
  const vectors = batches(request.inputs, model).flatMap((input, batch) => inOrder(parsed[batch], input.length))
  const promptTokens = sum(parsed.map(({ usage }) => usage?.prompt_tokens ?? 0))
  const totalTokens = sum(parsed.map(({ usage }) => usage?.total_tokens ?? usage?.prompt_tokens ?? 0))
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: request.encoding === 'base64' ? toBase64(vector) : vector,
    })),
    model: parsed[0]?.model ?? model.id,
    usage: { prompt_tokens: promptTokens, total_tokens: totalTokens },
  }
}

/** The vectors of one reply, sorted by index. An entry without an index keeps its position. */
function inOrder(reply: z.infer<typeof upstreamReply> | undefined, expected: number): readonly (readonly number[])[] {
  const byIndex = new Map((reply?.data ?? []).map((entry, position) => [entry.index ?? position, entry.embedding]))
  const vectors = Array.from({ length: expected }, (_, index) => byIndex.get(index) ?? [])
  const isComplete = reply?.data.length === expected && vectors.every((vector) => vector.length > 0)
  if (!isComplete) throw unusable(`the provider did not answer with one embedding for each of ${expected} texts`)
  return vectors
}

function toBase64(vector: readonly number[]): string {
  const view = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [position, value] of vector.entries()) view.setFloat32(position * 4, value, true)
  return Buffer.from(view.buffer).toString('base64')
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function unusable(detail: string): Fault {
  return new Fault({ kind: 'upstream_unusable', detail })
}

function invalid(path: string, detail: string): Fault {
  return new Fault({ kind: 'invalid_request', path, detail })
}
