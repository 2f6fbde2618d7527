import { isObject, type JsonObject, isGiven } from '../../../json/json.ts'

/** Kinds of parts that not every route and model takes. */
export type MediaKind = 'image' | 'document'

/** Callers mix the type names of the three dialects. */
const kinds: ReadonlyMap<unknown, MediaKind> = new Map([
  ['image_url', 'image'],
  ['image', 'image'],
  ['input_image', 'image'],
  ['computer_screenshot', 'image'],
  ['file', 'document'],
  ['input_file', 'document'],
  ['document', 'document'],
])

/** Returns the kind of a part. Undefined for other parts and for documents of plain text, which every route takes. */
function mediaKindOf(part: JsonObject): MediaKind | undefined {
  const { type, image_url: url, file } = part
  // A chat part may lack its type.
  const isUntyped = type === undefined || type === null
  const kind = isUntyped ? (isGiven(url) ? 'image' : isGiven(file) ? 'document' : undefined) : kinds.get(type)
  return kind === 'document' && isText(part) ? undefined : kind
}

/** Whether the decoders of all dialects make the document a text. */
function isText({ source, file, file_data: inItem }: JsonObject): boolean {
  if (isObject(source)) return source['type'] === 'text' || source['type'] === 'content'
  const data = isObject(file) ? file['file_data'] : inItem
  return typeof data === 'string' && data.startsWith('data:text/')
}

/** The kinds of parts in a conversation, tool results included. */
export function findMedia(items: readonly JsonObject[]): { readonly hasImage: boolean; readonly hasDocument: boolean } {
  const found = new Set<MediaKind>()
  for (const item of items) {
    mapMedia(item, '', (part, kind) => {
      found.add(kind)
      return part
    })
    if (found.size === 2) break
  }
  return { hasImage: found.has('image'), hasDocument: found.has('document') }
}

/** @param path of the part with dots, as warnings name it: `messages.3.content.1` */
type MapMedia = (part: JsonObject, kind: MediaKind, path: string) => JsonObject

/** Members with parts, in messages, tool results and documents of all three dialects. */
const holders = ['content', 'output', 'source'] as const

/** Maps the images and documents of an item. Returns the same item if none changes. */
function mapMedia<Item extends JsonObject>(item: Item, path: string, map: MapMedia): Item {
  const changed = holders.flatMap((holder): [string, unknown][] => {
    const held = item[holder]
    if (typeof held !== 'object' || held === null) return []
    const mapped = mapHeld(held, `${path}.${holder}`, map)
    return mapped === held ? [] : [[holder, mapped]]
  })
  return changed.length === 0 ? item : { ...item, ...Object.fromEntries(changed) }
}

function mapHeld(held: object, path: string, map: MapMedia): unknown {
  if (!Array.isArray(held)) return mapPart(held, path, map)
  const mapped = held.map((part: unknown, at) => mapPart(part, `${path}.${at}`, map))
  return mapped.every((part, at) => part === held[at]) ? held : mapped
}

function mapPart(part: unknown, path: string, map: MapMedia): unknown {
  if (!isObject(part)) return part
  const kind = mediaKindOf(part)
  return kind === undefined ? mapMedia(part, path, map) : map(part, kind, path)
}

/** An image or a document, and where it is. */
export interface MediaPart<Part = JsonObject> {
  /** Position as warnings name it: `messages.3.content.1`. */
  readonly path: string
  readonly part: Part
  /** Whether the part comes after the last answer of the model, which therefore has not seen it yet. */
  readonly isNew: boolean
  /** Whether the part belongs to the newest prompt. The person can send that prompt again without it. */
  readonly isOfPrompt: boolean
}

/** @param member of the request that holds the items */
export function mediaOf(items: readonly JsonObject[], member: string, wanted: MediaKind): readonly MediaPart[] {
  const start = startOfNew(items)
  const prompt = items.findLastIndex(({ role }) => role === 'user')
  const found: MediaPart[] = []
  items.forEach((item, at) => {
    const isNew = at >= start
    const isPrompt = isNew && at === prompt && !holdsResults(item)
    mapMedia(item, `${member}.${at}`, (part, kind, path) => {
      // The parts of a tool result are deeper.
      if (kind === wanted) found.push({ path, part, isNew, isOfPrompt: isPrompt && path.split('.').length === 4 })
      return part
    })
  })
  return found
}

/** Whether `chat/items.ts` made the message for the images of tool results. */
function holdsResults({ content }: JsonObject): boolean {
  const first: unknown = Array.isArray(content) ? content[0] : undefined
  return isObject(first) && String(first['text']).startsWith(IMAGES_OF_RESULT)
}

/** Chat takes no images in tool results. They follow in a user message, whose first text begins with this. */
export const IMAGES_OF_RESULT = 'Images returned by tool call '

/** Index after the model's last output. A trailing prefill, which the model is to continue, does not count. */
function startOfNew(items: readonly JsonObject[]): number {
  const end = items.findLastIndex((item) => !isFromModel(item))
  return items.findLastIndex((item, at) => at < end && isFromModel(item)) + 1
}

function isFromModel({ role, type }: JsonObject): boolean {
  return role === 'assistant' || type === 'reasoning' || (typeof type === 'string' && type.endsWith('_call'))
}

/** Replaces parts with a text of this type that keeps their cache marks. */
export function replaceMedia(removed: ReadonlySet<JsonObject>, textType: string, text: string) {
  return <Item extends JsonObject>(item: Item): Item =>
    mapMedia(item, '', (part) => {
      if (!removed.has(part)) return part
      const marks = Object.entries(part).filter(([key]) => key.includes('cache_'))
      return { type: textType, text, ...Object.fromEntries(marks) }
    })
}
