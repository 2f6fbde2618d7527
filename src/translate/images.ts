import type { CallerRequest, ConversationShape, DialectId, EncodeContext, EncodedRequest, Recovery } from './dialect.ts'
import { parseDataUrl } from './parts/data-url.ts'
import { refuseValue, toFieldPath } from './parts/invalid.ts'
import { isObject, type JsonObject } from './parts/is-object.ts'
import { scanMembers, spliceMembers } from './parts/json-members.ts'
import { modelFamily } from './parts/model-family.ts'
import { parseObject } from './parts/wire-json.ts'
import type { Warning } from './warning.ts'

interface PlacedImage {
  /** As warnings name it: `messages.3.content.1`. */
  readonly path: string
  readonly part: JsonObject
  /** Behind the last thing the model said: the model has not seen it yet. */
  readonly isNew: boolean
  /** `image/png`; undefined for an image that upstream would have to fetch, as is the size. */
  readonly mediaType?: string | undefined
  /** Decoded. */
  readonly sizeBytes?: number | undefined
}

/**
 * Images in one request. Source: docs/copilot-wire.md, "Images": what GitHub's own client keeps to (Messages 20,
 * Gemini 10), and what upstream says where it refuses more on the other two routes (20).
 */
function mostImages(upstream: DialectId, { model }: EncodeContext): number {
  const official = upstream !== 'messages' && modelFamily(model).kind === 'gemini' ? 10 : 20
  // The catalogue's number is far below what upstream takes: it counts only where it is the larger one.
  return Math.max(official, model.imageLimits?.maxImages ?? 0)
}

/**
 * The request within the image limits of its model. Of images that are too many the oldest of the history go, as in
 * GitHub's own client, each with a text in its place; what the model has not seen yet is never left out.
 * @returns undefined where nothing has to change
 * @throws Fault `invalid_request` for new images that are too many, too large or of a type the model does not take
 */
export function limitImages(
  request: CallerRequest,
  shape: ConversationShape,
  upstream: DialectId,
  context: EncodeContext,
): { readonly request: CallerRequest; readonly warnings: readonly Warning[] } | undefined {
  const { model } = context
  // The limits are Copilot's.
  if (!request.hasImage || model.provider === 'codex') return undefined
  const most = mostImages(upstream, context)
  const items = shape.itemsOf(request)
  const images = imagesOf(items, shape)
  const left = new Map<string, PlacedImage[]>()
  const leave = (image: PlacedImage, reason: string): void => {
    left.set(reason, [...(left.get(reason) ?? []), image])
  }
  const fitting = images.filter((image) => {
    const reason = unfitness(image, context)
    if (reason === undefined) return true
    if (image.isNew) refuseValue(toFieldPath(image.path), `this image ${reason}`, 'invalid_value')
    leave(image, reason)
    return false
  })
  const tooMany = fitting.filter(({ isNew }) => isNew)[most]
  if (tooMany !== undefined) {
    const count = fitting.filter(({ isNew }) => isNew).length
    const detail = `there are ${count} new images, and ${model.id} takes at most ${most} in one request: send fewer`
    refuseValue(toFieldPath(tooMany.path), detail, 'array_above_max_length')
  }
  for (const image of fitting.slice(0, Math.max(0, fitting.length - most)))
    leave(image, `is one of more than ${most}, which is all that ${model.id} takes in one request`)
  if (left.size === 0) return undefined
  const gone = new Set([...left.values()].flat().map(({ part }) => part))
  return {
    request: shape.mapItems(request, leaveOut(gone, shape)),
    warnings: [...left].map(([reason, [first, ...others]]) => ({
      code: 'dropped',
      field: first?.path ?? shape.member,
      detail: `an image of the history ${reason}${others.length === 0 ? '' : ` (${others.length + 1} images)`}`,
    })),
  }
}

/** Why the model does not take the image; undefined where it does. */
function unfitness({ mediaType, sizeBytes }: PlacedImage, { model }: EncodeContext): string | undefined {
  const { maxImageBytes, mediaTypes } = model.imageLimits ?? {}
  if (maxImageBytes !== undefined && sizeBytes !== undefined && sizeBytes > maxImageBytes) {
    return `has ${sizeBytes} bytes, and ${model.id} takes at most ${maxImageBytes}`
  }
  if (mediaTypes === undefined || mediaTypes.length === 0 || mediaType === undefined) return undefined
  // How some clients spell it.
  const known = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
  return mediaTypes.includes(known)
    ? undefined
    : `is of a type that ${model.id} does not take (${mediaTypes.join(', ')})`
}

/**
 * For upstream's 413: the request without the images of its history, of which every one costs a body its room. Undefined
 * where there are none: then what is new is too large.
 */
export function recoverFromSize(
  sent: EncodedRequest,
  shape: Pick<ConversationShape, 'member' | 'textType'>,
): Recovery | undefined {
  const value = parseObject(sent.body.toString('utf8'))
  const list = value?.[shape.member]
  const scan = scanMembers(sent.body.toString('latin1'), {
    maxDepth: Infinity,
    maxMembers: Infinity,
    maxValues: Infinity,
  })
  if (value === undefined || !Array.isArray(list) || !scan.ok) return undefined
  const items = list.filter(isObject)
  const gone = imagesOf(items, shape).filter(({ isNew }) => !isNew)
  const [first] = gone
  if (first === undefined) return undefined
  const leave = leaveOut(new Set(gone.map(({ part }) => part)), shape)
  const kept = list.map((item: unknown) => (isObject(item) ? leave(item) : item))
  const warning: Warning = {
    code: 'refused_upstream',
    field: first.path,
    detail: `the request was too large, sent again without the ${gone.length} images of its history`,
  }
  return {
    request: {
      ...sent,
      body: spliceMembers({ bytes: sent.body, value, members: scan.members }, new Map([[shape.member, kept]])),
      warnings: [...sent.warnings, warning],
    },
  }
}

/** The largest images that the model has not seen yet, for a person who has to make one smaller. '' for none. */
export function describeLargest(request: CallerRequest, shape: ConversationShape): string {
  const sized = imagesOf(shape.itemsOf(request), shape).filter(({ sizeBytes }) => sizeBytes !== undefined)
  const fresh = sized.filter(({ isNew }) => isNew)
  return (fresh.length > 0 ? fresh : sized)
    .toSorted((one, other) => (other.sizeBytes ?? 0) - (one.sizeBytes ?? 0))
    .slice(0, 3)
    .map(({ path, sizeBytes = 0 }) => `${toFieldPath(path)} (${inMegabytes(sizeBytes)})`)
    .join(', ')
}

function inMegabytes(sizeBytes: number): string {
  return `${(sizeBytes / 2 ** 20).toFixed(2)} MB`
}

function imagesOf(items: readonly JsonObject[], { member }: Pick<ConversationShape, 'member'>): readonly PlacedImage[] {
  const start = startOfNew(items)
  const images: PlacedImage[] = []
  items.forEach((item, at) => {
    mapImages(item, `${member}.${at}`, (part, path) => {
      images.push({ path, part, isNew: at >= start, ...dataOf(part) })
      return part
    })
  })
  return images
}

/** Behind the last thing the model said; an answer that it is to continue ends what is new. */
function startOfNew(items: readonly JsonObject[]): number {
  const end = items.findLastIndex((item) => !isFromModel(item))
  return items.findLastIndex((item, at) => at < end && isFromModel(item)) + 1
}

function isFromModel({ role, type }: JsonObject): boolean {
  return role === 'assistant' || type === 'reasoning' || (typeof type === 'string' && type.endsWith('_call'))
}

/** Puts a text in the place of these images, under their cache marks. */
function leaveOut(gone: ReadonlySet<JsonObject>, { textType }: Pick<ConversationShape, 'textType'>) {
  return <Item extends JsonObject>(item: Item): Item =>
    mapImages(item, '', (part) => {
      if (!gone.has(part)) return part
      const marks = Object.entries(part).filter(([key]) => key.includes('cache_'))
      return { type: textType, text: PLACEHOLDER, ...Object.fromEntries(marks) }
    })
}

const PLACEHOLDER = '[An image stood here. It was left out to keep the request within the limits of the model.]'

type MapImage = (part: JsonObject, path: string) => JsonObject

/** Members that hold parts: of messages, tool results and documents, in the words of all three dialects. */
const holders = ['content', 'output', 'source'] as const

/** The very item where no image changes. */
function mapImages<Item extends JsonObject>(item: Item, path: string, map: MapImage): Item {
  const changed = holders.flatMap((holder): [string, unknown][] => {
    const held = item[holder]
    const mapped = mapHeld(held, `${path}.${holder}`, map)
    return mapped === held ? [] : [[holder, mapped]]
  })
  return changed.length === 0 ? item : { ...item, ...Object.fromEntries(changed) }
}

function mapHeld(held: unknown, path: string, map: MapImage): unknown {
  if (Array.isArray(held)) {
    const mapped = held.map((part: unknown, at) => mapPart(part, `${path}.${at}`, map))
    return mapped.every((part, at) => part === held[at]) ? held : mapped
  }
  return mapPart(held, path, map)
}

function mapPart(part: unknown, path: string, map: MapImage): unknown {
  if (!isObject(part)) return part
  return isImage(part) ? map(part, path) : mapImages(part, path, map)
}

/** Callers mix the spellings of the three dialects, and a chat part may leave out its type. */
const imageTypes: ReadonlySet<unknown> = new Set(['image_url', 'image', 'input_image', 'computer_screenshot'])

function isImage({ type, image_url: url }: JsonObject): boolean {
  return type === undefined || type === null ? url !== undefined && url !== null : imageTypes.has(type)
}

function dataOf({ image_url: url, source }: JsonObject): Pick<PlacedImage, 'mediaType' | 'sizeBytes'> {
  if (isObject(source)) {
    const { media_type: mediaType, data } = source
    if (typeof mediaType !== 'string' || typeof data !== 'string') return {}
    return { mediaType, sizeBytes: decodedSize(data) }
  }
  const text = isObject(url) ? url['url'] : url
  const embedded = typeof text === 'string' ? parseDataUrl(text) : undefined
  return embedded === undefined ? {} : { mediaType: embedded.mediaType, sizeBytes: decodedSize(embedded.data) }
}

/** Of base64, without decoding it. */
function decodedSize(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.floor((data.length * 3) / 4) - padding
}
