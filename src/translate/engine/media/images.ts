import type {
  CallerRequest,
  ConversationShape,
  UpstreamDialectId,
  EncodeContext,
  Recovery,
  UpstreamRefusal,
} from '../../dialect.ts'
import { parseDataUrl } from './data-url.ts'
import { refuseValue, toFieldPath } from '../request/invalid.ts'
import { mediaOf, type MediaPart, replaceMedia } from './media-parts.ts'
import { isObject, type JsonObject, objectsOf } from '../../../json/json.ts'
import { digest } from '../ids.ts'
import { modelFamily } from '../model-family.ts'
import type { MediaSource, Turn, TurnPart } from '../../turn.ts'
import { mediaOfTurn, partsOf, replaceInTurn } from './turn-media.ts'
import type { Warning, WarningCode } from '../../warning.ts'

interface ImageData {
  /** E.g. `image/png`. Undefined, like `sizeBytes`, for an image that upstream has to fetch. */
  readonly mediaType?: string | undefined
  readonly sizeBytes?: number | undefined
  /** Upstream would have to fetch it. */
  readonly isByAddress?: boolean
  /** Its bytes in base64, or its address. Undefined for an upload. */
  readonly content?: string | undefined
}

type RequestImage<Part = JsonObject> = MediaPart<Part> & ImageData

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
 * Fits a request to the image limits of its model and to what upstream refused. Replaces the oldest images of the history with a
 * text, as GitHub's own client does. Keeps images that the model has not seen yet, unless upstream has refused them.
 * @returns undefined if nothing has to change
 * @throws Fault `invalid_request` for new images that are too many, too large or of a type that the model does not take
 */
export function limitImages(
  request: CallerRequest,
  shape: ConversationShape,
  upstream: UpstreamDialectId,
  context: EncodeContext,
): { readonly request: CallerRequest; readonly warnings: readonly Warning[] } | undefined {
  if (!request.hasImage) return undefined
  const omitted = omittedImages(imagesOf(shape.itemsOf(request), shape.member), upstream, context)
  if (omitted === undefined) return undefined
  const { removed, warnings } = omitted
  return { request: shape.mapItems(request, replaceMedia(removed, shape.textType, OMITTED_IMAGE)), warnings }
}

/** As `limitImages`, for a caller of a dialect that no upstream speaks. Warnings name the item of an image. */
export function limitImagesInTurn(
  turn: Turn,
  upstream: UpstreamDialectId,
  context: EncodeContext,
): { readonly turn: Turn; readonly warnings: readonly Warning[] } | undefined {
  const omitted = omittedImages(imagesOfTurn(turn), upstream, context)
  return omitted && { turn: replaceInTurn(turn, omitted.removed, OMITTED_IMAGE), warnings: omitted.warnings }
}

/** @returns undefined if no image has to be left out */
function omittedImages<Part>(
  images: readonly RequestImage<Part>[],
  upstream: UpstreamDialectId,
  context: EncodeContext,
): { readonly removed: ReadonlySet<Part>; readonly warnings: readonly Warning[] } | undefined {
  const { model, learnedRefusals } = context
  const dropped = new Map<string, { readonly code: WarningCode; readonly images: RequestImage<Part>[] }>()
  const drop = (image: RequestImage<Part>, detail: string, code: WarningCode = 'dropped'): void => {
    const known = dropped.get(detail) ?? { code, images: [] }
    known.images.push(image)
    dropped.set(detail, known)
  }
  // The limits are Copilot's.
  const fitting = model.provider === 'codex' ? images : limited(images, upstream, context, drop)
  for (const image of fitting) {
    const refused = whyRefused(image, learnedRefusals)
    if (refused !== undefined) drop(image, refused, 'refused_upstream')
  }
  if (dropped.size === 0) return undefined
  return {
    removed: new Set([...dropped.values()].flatMap((each) => each.images.map(({ part }) => part))),
    warnings: [...dropped].map(([detail, { code, images: all }]) => ({
      code,
      field: all[0]?.path ?? 'images',
      detail: all.length === 1 ? detail : `${detail} (${all.length} images)`,
    })),
  }
}

/** @param drop called with the images that are left out */
function limited<Part>(
  images: readonly RequestImage<Part>[],
  upstream: UpstreamDialectId,
  context: EncodeContext,
  drop: (image: RequestImage<Part>, detail: string) => void,
): readonly RequestImage<Part>[] {
  const { model } = context
  const most = maxImages(upstream, context)
  const fitting = images.filter((image) => {
    const reason = refusalOf(image, context)
    if (reason === undefined) return true
    if (image.isNew) refuseValue(toFieldPath(image.path), `this image ${reason}`, 'invalid_value')
    drop(image, `an image of the history ${reason}`)
    return false
  })
  const tooMany = fitting.filter(({ isNew }) => isNew)[most]
  if (tooMany !== undefined) {
    const count = fitting.filter(({ isNew }) => isNew).length
    const detail = `${model.id} accepts at most ${most} images in one request, got ${count} new ones`
    refuseValue(toFieldPath(tooMany.path), detail, 'array_above_max_length')
  }
  const excess = Math.min(leaving(fitting.length, most), fitting.filter(({ isNew }) => !isNew).length)
  for (const image of fitting.slice(0, excess)) {
    drop(image, `an image of the history exceeds the limit of ${most} images for ${model.id}`)
  }
  return fitting.slice(excess)
}

/**
 * How many of the oldest images leave. They leave in blocks: one more at each turn would change the beginning of every request,
 * and upstream would read the whole history without its prompt cache.
 */
function leaving(count: number, most: number): number {
  const block = Math.max(1, Math.floor(most / 4))
  return count <= most ? 0 : Math.ceil((count - most) / block) * block
}

/** Maximum length of all images in a Turn of the agent, in base64: the limit for the attachments of one message. Characters. */
const maxTurnImages = 10 * 1024 * 1024

/**
 * Fits the images of a Turn of the agent to the limits of the model and to what upstream refused. Replaces images of the history
 * with a text, the oldest first, because an image that upstream refuses would fail every later request of its session.
 * @throws Fault `invalid_request` for images of the last message that are too many or too large
 */
export function limitAgentImages(asked: Turn, upstream: UpstreamDialectId, context: EncodeContext): Turn {
  const { model, learnedRefusals } = context
  const refused = imagesOfTurn(asked).filter((image) => whyRefused(image, learnedRefusals) !== undefined)
  const turn = replaceInTurn(asked, new Set(refused.map(({ part }) => part)), OMITTED_IMAGE)
  if (model.provider === 'codex') return turn
  const most = maxImages(upstream, context)
  const all = turn.items.flatMap(partsOf)
  const total = all.filter((part) => part.type === 'image' && part.source.type === 'base64').length
  const mostWithHistory = total - leaving(total, most)
  let count = 0
  let length = 0
  const fit = (part: TurnPart, isNew: boolean): TurnPart => {
    if (part.type !== 'image' || part.source.type !== 'base64') return part
    const { mediaType, data } = part.source
    const refusal = refusalOf({ mediaType, sizeBytes: Buffer.byteLength(data, 'base64') }, context)
    if (refusal !== undefined && isNew) refuseValue('', `this image ${refusal}`, 'invalid_value')
    const isTooMuch = isNew ? count >= most : count >= mostWithHistory || length + data.length > maxTurnImages
    if (isTooMuch && isNew) {
      refuseValue('', `${model.id} accepts at most ${most} images in one request`, 'array_above_max_length')
    }
    if (refusal !== undefined || isTooMuch) return { type: 'text', text: OMITTED_IMAGE, cache: part.cache }
    count += 1
    length += data.length
    return part
  }
  const last = turn.items.length - 1
  // The newest first.
  const items = turn.items.map((_, at) => {
    const item = turn.items[last - at]
    if (item === undefined || !partsOf(item).some(({ type }) => type === 'image')) return item
    const isPrompt = at === 0 && item.type === 'message'
    const parts = partsOf(item)
      .toReversed()
      .map((part) => fit(part, isPrompt))
      .toReversed()
    return item.type === 'message'
      ? { ...item, parts }
      : item.type === 'tool_result'
        ? { ...item, content: parts }
        : item
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

/** Learned refusals of one request. Images that the model has not seen yet stay, because the request was too large. */
const SEEN_IMAGES = 'images:seen'
/** The images of the newest prompt stay: the person can send it again without them. */
const UNPROMPTED_IMAGES = 'images:unprompted'

/** An image by its content, because upstream names a position in its own form of the conversation. */
function imageKey(content: string): string {
  return `image:${digest(content, 16)}`
}

const TOO_LARGE = 'the request was too large; retried without the images of the history'
const REFUSED = 'the provider refused an image; retried without the images of the history'

/** Undefined for an image that upstream did not refuse. */
function whyRefused(
  { content, isNew, isOfPrompt }: Pick<RequestImage, 'content' | 'isNew' | 'isOfPrompt'>,
  learned: ReadonlySet<string>,
): string | undefined {
  if (!isNew && learned.has(SEEN_IMAGES)) return TOO_LARGE
  if (isOfPrompt) return undefined
  if (learned.has(UNPROMPTED_IMAGES)) return REFUSED
  const isNamed =
    content !== undefined && [...learned].some((key) => key.startsWith('image:')) && learned.has(imageKey(content))
  return isNamed ? REFUSED : undefined
}

/** Upstream's 413: the images of the history leave. */
export const recoverFromSize: Recovery = {
  passing: [SEEN_IMAGES],
  warnings: [{ code: 'refused_upstream', field: 'images', detail: TOO_LARGE }],
}

/** Not about its `detail`, which is a setting. */
const ABOUT_IMAGE = /\bimages?\b|\b(?:input_)?image_url\b|\bvision\b/i
const ABOUT_DETAIL = /\bdetail\b/i

/** `messages.0.content.1.image.source`, `input[3].output[1]`: the part of a path that leads to the image. */
const IMAGE_PATH = /\b(?:messages|input)(?:\.\d+|\[\d+\])(?:(?:\.tool_result)?\.(?:content|output)(?:\.\d+|\[\d+\]))*/

/**
 * Upstream's 400 about an image: the image that it names leaves, or all images that are not of the newest prompt. Such an image
 * would fail every later request of its session.
 */
export function recoverFromImage(
  body: JsonObject,
  member: ConversationShape['member'],
  { status, message }: UpstreamRefusal,
): readonly Recovery[] {
  if ((status !== 400 && status !== 422) || !ABOUT_IMAGE.test(message) || ABOUT_DETAIL.test(message)) return []
  const path = IMAGE_PATH.exec(message)?.[0]
    .replaceAll('.tool_result', '')
    .replaceAll(/\[(\d+)\]/g, '.$1')
  const images = path === undefined ? [] : imagesOf(objectsOf(body[member]), member)
  const named = images.flatMap((image) =>
    `${image.path}.`.startsWith(`${path}.`) && image.content !== undefined ? [imageKey(image.content)] : [],
  )
  const warnings: readonly Warning[] = [{ code: 'refused_upstream', field: 'images', detail: REFUSED }]
  return [{ passing: named.length > 0 ? named : [UNPROMPTED_IMAGES], warnings }]
}

/** Names the largest new images (of all images if none is new) for an error message; '' for none. */
export function describeLargest(request: CallerRequest, shape: ConversationShape): string {
  const sized = imagesOf(shape.itemsOf(request), shape.member).filter(({ sizeBytes }) => sizeBytes !== undefined)
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

function imagesOf(items: readonly JsonObject[], member: string): readonly RequestImage[] {
  const images: RequestImage[] = []
  for (const image of mediaOf(items, member, 'image')) images.push({ ...image, ...dataOf(image.part) })
  return images
}

function imagesOfTurn(turn: Turn): readonly RequestImage<TurnPart>[] {
  const images: RequestImage<TurnPart>[] = []
  for (const image of mediaOfTurn(turn, 'image')) images.push({ ...image, ...dataOfSource(image.part.source) })
  return images
}

function dataOfSource(source: MediaSource): ImageData {
  if (source.type === 'base64') return dataOfBytes(source.mediaType, source.data)
  return source.type === 'url' ? { isByAddress: isAddress(source.url), content: source.url } : {}
}

export const OMITTED_IMAGE = '[Image omitted to keep the request within the limits of the model.]'

function dataOf({ image_url: url, source }: JsonObject): ImageData {
  if (isObject(source)) {
    const { media_type: mediaType, data, url: address } = source
    if (isAddress(address)) return { isByAddress: true, content: address }
    return typeof mediaType === 'string' && typeof data === 'string' ? dataOfBytes(mediaType, data) : {}
  }
  const text = isObject(url) ? url['url'] : url
  if (isAddress(text)) return { isByAddress: true, content: text }
  const embedded = typeof text === 'string' ? parseDataUrl(text) : undefined
  return embedded === undefined ? {} : dataOfBytes(embedded.mediaType, embedded.data)
}

function dataOfBytes(mediaType: string, content: string): ImageData {
  return { mediaType, content, sizeBytes: Buffer.byteLength(content, 'base64') }
}

function isAddress(url: unknown): url is string {
  return typeof url === 'string' && /^https?:/i.test(url)
}
