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

/** Bytes. A head has the name of a part, of its file and of its type. */
const maxHead = 16 * 1024

/** The characters of RFC 2046. The parser of forms reads any others, and a second boundary, in its own way. */
const boundaryForm =
  /^multipart\/form-data(?:\s*;\s*charset=[\w-]+)?\s*;\s*boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'()+,./:=?-]{1,70}))\s*$/i

/**
 * Reads the form of POST /v1/images/edits. Upstream's own form has not been captured, so all parts are passed on.
 * @throws Fault `unsupported_media_type`, `malformed_body`, `invalid_request`
 */
export async function decodeImageEdit(bytes: Buffer, contentType: string | undefined): Promise<ImagesRequest> {
  const boundary = boundaryForm.exec(contentType ?? '')
  const mark = boundary?.[1] ?? boundary?.[2]
  if (contentType === undefined || mark === undefined) {
    throw new Fault({
      kind: 'unsupported_media_type',
      detail: 'send the images as multipart/form-data, with one boundary',
    })
  }
  checkParts(bytes, `--${mark}`)
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

/** A form of many parts, or with long heads, would keep the parser busy for minutes. @throws Fault `invalid_request` */
function checkParts(bytes: Buffer, mark: string): void {
  let count = 0
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + mark.length)) {
    count += 1
    const after = at + mark.length
    const isHeadLong = after + maxHead < bytes.length && !bytes.subarray(after, after + maxHead).includes('\r\n\r\n')
    if (count > maxParts) throw formRefusal(`the form must have at most ${maxParts} parts`)
    if (isHeadLong) throw formRefusal(`a part of the form has a head of more than ${maxHead / 1024} KB`)
  }
}

function formRefusal(detail: string): Fault {
  return new Fault({ kind: 'invalid_request', path: '', detail })
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
