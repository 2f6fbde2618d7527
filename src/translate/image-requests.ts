import { z } from 'zod'
import { Fault } from '../errors.ts'
import { checkValue } from '../json/check-value.ts'
import { refuseProblem } from './engine/request/invalid.ts'
import { parseBody } from './engine/request/json-body.ts'
import { readCopilotUsage } from './engine/usage.ts'
import type { Usage } from './turn.ts'

/** A request to make or edit images, for the one upstream path that takes it. */
export interface ImagesRequest {
  /** Undefined: the caller names none. */
  readonly model: string | undefined
  readonly encode: (modelId: string) => Promise<EncodedImages>
}

interface EncodedImages {
  readonly body: string | Buffer
  readonly contentType: string
}

/** Far above any real request. */
const limits = { maxDepth: 100, maxMembers: 100, maxValues: 10_000 }

const modelName = z.string({ error: 'must be the name of a model' }).min(1, 'must be the name of a model')

/** Body of POST /v1/images/generations. All other keys pass through. Source: OpenAI API reference, images, 2026-11. */
const generationBody = z.looseObject(
  {
    model: modelName.nullish(),
    prompt: z.string({ error: 'must be a text' }).min(1, 'must not be empty'),
    stream: z.boolean({ error: 'must be true or false' }).nullish(),
  },
  { error: 'must be a JSON object' },
)

/** @throws Fault `malformed_body`, `invalid_request` */
export function decodeImageGeneration(text: string): ImagesRequest {
  const body = checkValue(generationBody, parseBody(text, limits).value)
  if (!body.ok) refuseProblem(body.problem)
  const { model, stream, partial_images: partial, ...members } = body.value
  if (stream === true) throw streamed()
  if (typeof partial === 'number' && partial > 0) throw streamed()
  return {
    model: model ?? undefined,
    encode: async (modelId) => ({
      body: JSON.stringify({ ...members, model: modelId, stream: false }),
      contentType: 'application/json',
    }),
  }
}

function streamed(): Fault {
  const detail = 'images are not streamed here; send the request without it'
  return new Fault({ kind: 'invalid_request', path: 'stream', detail, code: 'unsupported_value' })
}

/** OpenAI takes 16 images, a mask and about ten settings. */
const maxParts = 64

/**
 * Reads the form of POST /v1/images/edits. Upstream's own form has not been captured, so all parts are passed on.
 * @throws Fault `unsupported_media_type`, `malformed_body`, `invalid_request`
 */
export async function decodeImageEdit(bytes: Buffer, contentType: string | undefined): Promise<ImagesRequest> {
  const boundary = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(contentType ?? '')
  const mark = boundary?.[1] ?? boundary?.[2]
  if (contentType === undefined || mark === undefined) {
    throw new Fault({ kind: 'unsupported_media_type', detail: 'send the images as multipart/form-data' })
  }
  if (countOf(bytes, `--${mark}`) > maxParts) {
    throw new Fault({ kind: 'invalid_request', path: '', detail: `the form must have at most ${maxParts} parts` })
  }
  const form = await new Response(Uint8Array.from(bytes), { headers: { 'content-type': contentType } })
    .formData()
    .catch((cause: unknown) => {
      throw new Fault({ kind: 'malformed_body', detail: 'the body is not a valid form' }, { cause })
    })
  const model = form.get('model')
  if (model !== null && (typeof model !== 'string' || model === '')) {
    throw new Fault({ kind: 'invalid_request', path: 'model', detail: 'must be the name of a model' })
  }
  if (form.get('stream') === 'true') throw streamed()
  return {
    model: model ?? undefined,
    async encode(modelId) {
      form.set('model', modelId)
      const encoded = new Response(form)
      return {
        body: Buffer.from(await encoded.arrayBuffer()),
        contentType: encoded.headers.get('content-type') ?? 'multipart/form-data',
      }
    },
  }
}

/** Ends at `maxParts`, so that a large form of empty parts takes no time. */
function countOf(bytes: Buffer, mark: string): number {
  let count = 0
  for (let at = bytes.indexOf(mark); at !== -1 && count <= maxParts; at = bytes.indexOf(mark, at + mark.length))
    count += 1
  return count
}

const tokens = z.number().int().nonnegative().nullish().catch(undefined)

/** Reply of both paths; only what is read here. Source: official CLI 1.0.102, as captured. */
const imagesReply = z.looseObject({
  data: z.array(z.unknown()),
  usage: z.looseObject({ input_tokens: tokens, output_tokens: tokens }).nullish().catch(undefined),
})

/** @throws Fault `upstream_unusable` */
export function readImagesReply(reply: unknown): { readonly body: object; readonly usage: Usage } {
  const { data: body } = imagesReply.safeParse(reply)
  if (body === undefined) throw new Fault({ kind: 'upstream_unusable', detail: 'the reply has no list of images' })
  const { input_tokens: input, output_tokens: output } = body.usage ?? {}
  return {
    body,
    usage: {
      inputTokens: input ?? 0,
      outputTokens: output ?? 0,
      cachedInputTokens: 0,
      ...readCopilotUsage(body['copilot_usage']),
    },
  }
}
