import type {
  CallerRequest,
  ConversationShape,
  UpstreamDialectId,
  EncodeContext,
  EncodedRequest,
  Recovery,
  UpstreamRefusal,
} from './dialect.ts'
import { parseDataUrl } from './parts/data-url.ts'
import { refuseValue, toFieldPath } from './parts/invalid.ts'
import { mediaOf, type MediaPart, replaceMedia } from './parts/media-parts.ts'
import { isObject, type JsonObject } from '../json/json.ts'
import { parseObjectBytes } from './parts/json-body.ts'
import { spliceMembers } from '../json/json-members.ts'
import { modelFamily } from './parts/model-family.ts'
import type { Turn, TurnPart } from './turn.ts'
import type { Warning } from './warning.ts'

interface RequestImage extends MediaPart {
  /** E.g. `image/png`. Undefined, like `sizeBytes`, for an image that upstream has to fetch. */
  readonly mediaType?: string | undefined
  readonly sizeBytes?: number | undefined
  /** Upstream would have to fetch it. */
  readonly isByAddress?: boolean
}

/**
 * Images allowed in one request: the limits of GitHub's own client on Messages (20) and for Gemini (10), and the limit in
 * upstream's refusals on the other two routes (20). Source: docs/copilot-wire.md, "Images".
 */
function maxImages(upstream: UpstreamDialectId, { model }: EncodeContext): number {
  const official = upstream !== 'messages' && modelFamily(model).kind === 'gemini' ? 10 : 20
  // The catalogue often states far fewer images than upstream takes.
  return Math.max(official, model.imageLimits?.maxImages ?? 0)
}

/**
 * Fits a request to the image limits of its model. Replaces the oldest images of the history with a text, as GitHub's own
 * client does, and never an image that the model has not seen yet.
 * @returns undefined if nothing has to change
 * @throws Fault `invalid_request` for new images that are too many, too large or of a type that the model does not take
 */
export function limitImages(
  request: CallerRequest,
  shape: ConversationShape,
  upstream: UpstreamDialectId,
  context: EncodeContext,
): { readonly request: CallerRequest; readonly warnings: readonly Warning[] } | undefined {
  const { model } = context
  // The limits are Copilot's.
  if (!request.hasImage || model.provider === 'codex') return undefined
  const most = maxImages(upstream, context)
  const items = shape.itemsOf(request)
  const images = imagesOf(items, shape)
  const dropped = new Map<string, RequestImage[]>()
  const drop = (image: RequestImage, reason: string): void => {
    dropped.set(reason, [...(dropped.get(reason) ?? []), image])
  }
  const fitting = images.filter((image) => {
    const reason = refusalOf(image, context)
    if (reason === undefined) return true
    if (image.isNew) refuseValue(toFieldPath(image.path), `this image ${reason}`, 'invalid_value')
    drop(image, reason)
    return false
  })
  const tooMany = fitting.filter(({ isNew }) => isNew)[most]
  if (tooMany !== undefined) {
    const count = fitting.filter(({ isNew }) => isNew).length
    const detail = `${model.id} accepts at most ${most} images in one request, got ${count} new ones`
    refuseValue(toFieldPath(tooMany.path), detail, 'array_above_max_length')
  }
  for (const image of fitting.slice(0, Math.max(0, fitting.length - most)))
    drop(image, `exceeds the limit of ${most} images for ${model.id}`)
  if (dropped.size === 0) return undefined
  const removed = new Set([...dropped.values()].flat().map(({ part }) => part))
  return {
    request: shape.mapItems(request, replaceMedia(removed, shape.textType, PLACEHOLDER)),
    warnings: [...dropped].map(([reason, [first, ...others]]) => ({
      code: 'dropped',
      field: first?.path ?? shape.member,
      detail: `an image of the history ${reason}${others.length === 0 ? '' : ` (${others.length + 1} images)`}`,
    })),
  }
}

/** Maximum length of all images in a Turn of the agent, in base64: the limit for the attachments of one message. Characters. */
const maxTurnImages = 10 * 1024 * 1024

/**
 * Fits the images of a Turn of the agent to the limits of the model. Replaces images of the history with a text, the oldest
 * first, because an image that upstream refuses would fail every later request of its session.
 * @throws Fault `invalid_request` for images of the last message that are too many or too large
 */
export function limitTurnImages(turn: Turn, upstream: UpstreamDialectId, context: EncodeContext): Turn {
  const { model } = context
  if (model.provider === 'codex') return turn
  const most = maxImages(upstream, context)
  let count = 0
  let length = 0
  const fit = (part: TurnPart, isNew: boolean): TurnPart => {
    if (part.type !== 'image' || part.source.type !== 'base64') return part
    const { mediaType, data } = part.source
    const refusal = refusalOf({ mediaType, sizeBytes: Buffer.byteLength(data, 'base64') }, context)
    if (refusal !== undefined && isNew) refuseValue('', `this image ${refusal}`, 'invalid_value')
    const isTooMuch = count >= most || (!isNew && length + data.length > maxTurnImages)
    if (isTooMuch && isNew) {
      refuseValue('', `${model.id} accepts at most ${most} images in one request`, 'array_above_max_length')
    }
    if (refusal !== undefined || isTooMuch) return { type: 'text', text: PLACEHOLDER, cache: part.cache }
    count += 1
    length += data.length
    return part
  }
  const last = turn.items.length - 1
  // The newest first.
  const items = turn.items.map((_, at) => {
    const item = turn.items[last - at]
    if (item?.type !== 'message' || !item.parts.some(({ type }) => type === 'image')) return item
    return {
      ...item,
      parts: item.parts
        .toReversed()
        .map((part) => fit(part, at === 0))
        .toReversed(),
    }
  })
  return { ...turn, items: items.toReversed().filter((item) => item !== undefined) }
}

/** Why the model does not take the image; undefined if it does. */
function refusalOf(
  { mediaType, sizeBytes, isByAddress }: Pick<RequestImage, 'mediaType' | 'sizeBytes' | 'isByAddress'>,
  { model }: EncodeContext,
): string | undefined {
  // A local program that fetches what a conversation names would reach hosts that its user never chose.
  if (isByAddress === true) return 'is an address, which the provider does not fetch; send the bytes of the image'
  const { maxImageBytes, mediaTypes } = model.imageLimits ?? {}
  if (maxImageBytes !== undefined && sizeBytes !== undefined && sizeBytes > maxImageBytes) {
    return `has ${sizeBytes} bytes; ${model.id} accepts at most ${maxImageBytes}`
  }
  if (mediaTypes === undefined || mediaTypes.length === 0 || mediaType === undefined) return undefined
  // Some clients write `image/jpg`.
  const known = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
  return mediaTypes.includes(known)
    ? undefined
    : `has a type that ${model.id} does not accept; use ${mediaTypes.join(', ')}`
}

/**
 * Recovers from upstream's 413: the request without the images of its history. Undefined if the history has none.
 */
export function recoverFromSize(
  sent: EncodedRequest,
  shape: Pick<ConversationShape, 'member' | 'textType'>,
): Recovery | undefined {
  const detail = 'the request was too large; retried without the images of the history'
  return withoutImages(sent, shape, detail, (images) => images.filter(({ isNew }) => !isNew))
}

function withoutImages(
  sent: EncodedRequest,
  shape: Pick<ConversationShape, 'member' | 'textType'>,
  detail: string,
  choose: (images: readonly RequestImage[]) => readonly RequestImage[],
): Recovery | undefined {
  const source = parseObjectBytes(sent.body)
  const list = source?.value[shape.member]
  if (source === undefined || !Array.isArray(list)) return undefined
  const removed = choose(imagesOf(list.filter(isObject), shape))
  const [first] = removed
  if (first === undefined) return undefined
  const replace = replaceMedia(new Set(removed.map(({ part }) => part)), shape.textType, PLACEHOLDER)
  const kept = list.map((item: unknown) => (isObject(item) ? replace(item) : item))
  const counted = removed.length === 1 ? detail : `${detail} (${removed.length} images)`
  const warning: Warning = { code: 'refused_upstream', field: first.path, detail: counted }
  return {
    request: {
      ...sent,
      body: spliceMembers(source, new Map([[shape.member, kept]])),
      warnings: [...sent.warnings, warning],
    },
  }
}

/** Not about its `detail`, which is a setting. */
const ABOUT_IMAGE = /\bimages?\b|\b(?:input_)?image_url\b|\bvision\b/i
const ABOUT_DETAIL = /\bdetail\b/i

/** `messages.0.content.1.image.source`, `input[3].output[1]`: the part of a path that leads to the image. */
const IMAGE_PATH = /\b(?:messages|input)(?:\.\d+|\[\d+\])(?:(?:\.tool_result)?\.(?:content|output)(?:\.\d+|\[\d+\]))*/

/**
 * Recovers from upstream's 400 about an image: the request with a text in place of the image that upstream names, or of
 * all images that are not of the newest prompt. Such an image would fail every later request of its session. Undefined if
 * there is none, or if upstream refuses an image of the newest prompt.
 */
export function recoverFromImage(
  sent: EncodedRequest,
  shape: Pick<ConversationShape, 'member' | 'textType'>,
  { status, message }: UpstreamRefusal,
): Recovery | undefined {
  if ((status !== 400 && status !== 422) || !ABOUT_IMAGE.test(message) || ABOUT_DETAIL.test(message)) {
    return undefined
  }
  const path = IMAGE_PATH.exec(message)?.[0]
    .replaceAll('.tool_result', '')
    .replaceAll(/\[(\d+)\]/g, '.$1')
  return withoutImages(
    sent,
    shape,
    'the provider refused an image; retried without the images of the history',
    (images) => {
      const named = path === undefined ? [] : images.filter((image) => `${image.path}.`.startsWith(`${path}.`))
      return (named.length > 0 ? named : images).filter(({ isOfPrompt }) => !isOfPrompt)
    },
  )
}

/** Names the largest new images (of all images if none is new) for an error message; '' for none. */
export function describeLargest(request: CallerRequest, shape: ConversationShape): string {
  const sized = imagesOf(shape.itemsOf(request), shape).filter(({ sizeBytes }) => sizeBytes !== undefined)
  const unseen = sized.filter(({ isNew }) => isNew)
  return (unseen.length > 0 ? unseen : sized)
    .toSorted((one, other) => (other.sizeBytes ?? 0) - (one.sizeBytes ?? 0))
    .slice(0, 3)
    .map(({ path, sizeBytes = 0 }) => `${toFieldPath(path)} (${inMegabytes(sizeBytes)})`)
    .join(', ')
}

function inMegabytes(sizeBytes: number): string {
  return `${(sizeBytes / 2 ** 20).toFixed(2)} MB`
}

function imagesOf(
  items: readonly JsonObject[],
  { member }: Pick<ConversationShape, 'member'>,
): readonly RequestImage[] {
  const images: RequestImage[] = []
  for (const image of mediaOf(items, member, 'image')) images.push({ ...image, ...dataOf(image.part) })
  return images
}

const PLACEHOLDER = '[Image omitted to keep the request within the limits of the model.]'

function dataOf({ image_url: url, source }: JsonObject): Pick<RequestImage, 'mediaType' | 'sizeBytes' | 'isByAddress'> {
  if (isObject(source)) {
    const { media_type: mediaType, data } = source
    if (isAddress(source['url'])) return { isByAddress: true }
    if (typeof mediaType !== 'string' || typeof data !== 'string') return {}
    return { mediaType, sizeBytes: Buffer.byteLength(data, 'base64') }
  }
  const text = isObject(url) ? url['url'] : url
  if (isAddress(text)) return { isByAddress: true }
  const embedded = typeof text === 'string' ? parseDataUrl(text) : undefined
  return embedded === undefined
    ? {}
    : { mediaType: embedded.mediaType, sizeBytes: Buffer.byteLength(embedded.data, 'base64') }
}

function isAddress(url: unknown): boolean {
  return typeof url === 'string' && /^https?:/i.test(url)
}
