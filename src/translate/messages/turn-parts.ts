import { refuseValue, toFieldPath } from '../parts/invalid.ts'
import type { CacheMark, TurnPart } from '../turn.ts'
import { isBlank } from './reminder.ts'
import type { CacheControl, MessagesBlock } from './wire-request.ts'

/** Source: Anthropic documentation, vision, 2026-11. */
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

type Part<Type extends TurnPart['type']> = Extract<TurnPart, { type: Type }>

/**
 * A part as a content block, undefined for text of nothing but white space, which upstream refuses.
 * @param path of the item, as warnings name it
 * @throws Fault `invalid_request` for what Claude cannot be given
 */
export function partBlock(part: TurnPart, path: string): MessagesBlock | undefined {
  switch (part.type) {
    case 'text':
      return isBlank(part.text) ? undefined : { type: 'text', text: part.text, ...cacheControl(part.cache) }
    case 'refusal':
      return isBlank(part.text) ? undefined : { type: 'text', text: part.text }
    case 'image':
      return imageBlock(part, path)
    case 'file':
      return fileBlock(part, path)
    case 'audio':
      return refusePart(path, 'audio is not supported by Claude')
  }
}

export function partBlocks(parts: readonly TurnPart[], path: string): readonly MessagesBlock[] {
  return parts.map((part) => partBlock(part, path)).filter((block) => block !== undefined)
}

/** To be spread into the block it marks. Five minutes are the default, and the hour is the only other time there is. */
export function cacheControl(mark: CacheMark | undefined): { readonly cache_control?: CacheControl } {
  if (mark === undefined) return {}
  return { cache_control: { type: 'ephemeral', ...(isLong(mark.ttl) && { ttl: '1h' }) } }
}

/** OpenAI's longer time is twelve hours. */
function isLong(ttl: string | undefined): boolean {
  return ttl === '1h' || ttl === '12h'
}

function imageBlock({ source, cache }: Part<'image'>, path: string): MessagesBlock {
  switch (source.type) {
    case 'url':
      return { type: 'image', source: { type: 'url', url: source.url }, ...cacheControl(cache) }
    case 'file_id':
      return refusePart(path, 'uploaded images are not available for this model, send the image itself')
    case 'base64': {
      // How some clients spell it.
      const mediaType = source.mediaType === 'image/jpg' ? 'image/jpeg' : source.mediaType
      if (!IMAGE_TYPES.has(mediaType)) refusePart(path, 'images must be PNG, JPEG, GIF or WebP')
      return {
        type: 'image',
        source: { type: 'base64', media_type: mediaType, data: source.data },
        ...cacheControl(cache),
      }
    }
  }
}

/** Source: docs/copilot-wire.md, "messages, documents". */
function fileBlock({ source, filename, cache }: Part<'file'>, path: string): MessagesBlock | undefined {
  switch (source.type) {
    case 'url':
      return refusePart(path, 'document url sources are not supported by this model')
    case 'file_id':
      return refusePart(path, 'uploaded files are not available for this model, send the file itself')
    case 'base64':
      break
  }
  const { mediaType, data } = source
  if (mediaType === 'application/pdf') {
    return {
      type: 'document',
      source: { type: 'base64', media_type: mediaType, data },
      ...(filename !== undefined && filename !== '' && { title: filename }),
      ...cacheControl(cache),
    }
  }
  if (!isText(mediaType)) refusePart(path, 'files must be PDF or text')
  const text = Buffer.from(data, 'base64').toString('utf8')
  if (isBlank(text)) return undefined
  return { type: 'text', text: filename ? `${filename}\n\n${text}` : text, ...cacheControl(cache) }
}

function isText(mediaType: string): boolean {
  return mediaType.startsWith('text/') || mediaType === 'application/json'
}

/** @param path with dots, as warnings have it */
function refusePart(path: string, detail: string): never {
  refuseValue(path === '' ? '' : `${toFieldPath(path)}.content`, detail, 'unsupported_value')
}
