import { isTextType, textUnderName } from '../engine/media/data-url.ts'
import { imageTypeOf } from '../engine/media/image-type.ts'
import { refuseValue, toFieldPath } from '../engine/request/invalid.ts'
import type { CacheMark, TurnPart } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { toolReferenceText } from './content.ts'
import { isBlock } from './wire.ts'
import type { Block, CacheControl, MessagesBlock, MessagesTool } from './wire.ts'

type Content = string | readonly MessagesBlock[] | null | undefined

/** The parts of a block's `content`; unreadable blocks are left out with a warning. */
export function decodeParts(content: Content, field: LazyField, warnings: Warning[]): readonly TurnPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (content ?? []).flatMap((block, at) => {
    const innerField = (): string => `${field()}.${at}`
    const parts = partsOfBlock(block, innerField, warnings)
    if (parts === undefined) warnings.push(unreadable(innerField))
    return parts ?? []
  })
}

/**
 * The parts of a content block; undefined for blocks that are not content.
 * @throws Fault `invalid_request` for sources that only Anthropic can read
 */
export function partsOfBlock(
  block: MessagesBlock,
  field: LazyField,
  warnings: Warning[],
): readonly TurnPart[] | undefined {
  if (isBlock(block, 'text')) return [{ type: 'text', text: block.text, ...cacheOf(block) }]
  if (isBlock(block, 'image')) return [imagePart(block, field)]
  if (isBlock(block, 'document')) return documentParts(block, field, warnings)
  if (isBlock(block, 'search_result')) {
    warnCitations(block, field, warnings)
    const texts = block.content.filter((inner) => isBlock(inner, 'text')).map(({ text }) => text)
    return [{ type: 'text', text: paragraphs([`${block.title}\n${block.source}`, ...texts]), ...cacheOf(block) }]
  }
  if (isBlock(block, 'tool_reference')) {
    return [{ type: 'text', text: toolReferenceText(block.tool_name), ...cacheOf(block) }]
  }
  return undefined
}

/**
 * @param path of the item, as warnings name it
 * @throws Fault `invalid_request` for content that Claude does not take
 */
function partBlock(part: TurnPart, path: string): MessagesBlock {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...cacheControl(part.cache) }
    case 'refusal':
      return { type: 'text', text: part.text }
    case 'image':
      return imageBlock(part, path)
    case 'file':
      return fileBlock(part, path)
    case 'audio':
      return refusePart(path, 'audio is not supported by Claude')
  }
}

export function partBlocks(parts: readonly TurnPart[], path: string): readonly MessagesBlock[] {
  return parts.map((part) => partBlock(part, path))
}

export function unreadable(field: LazyField): Warning {
  return { code: 'dropped', field: field(), detail: 'this model has no equivalent of this block type' }
}

/** The cache mark of a block or tool, to be spread into a part or tool of the turn. */
export function cacheOf({ cache_control: mark }: MessagesBlock | MessagesTool): { readonly cache?: CacheMark } {
  if (mark === undefined || mark === null) return {}
  return { cache: typeof mark.ttl === 'string' ? { ttl: mark.ttl } : {} }
}

/** The cache mark as a member to spread into a block. Anthropic offers five minutes (the default) and one hour. */
export function cacheControl(mark: CacheMark | undefined): { readonly cache_control?: CacheControl } {
  if (mark === undefined) return {}
  // OpenAI's longer lifetime is twelve hours.
  return { cache_control: { type: 'ephemeral', ...((mark.ttl === '1h' || mark.ttl === '12h') && { ttl: '1h' }) } }
}

/** Source: Anthropic documentation, vision, 2026-11. */
const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Some clients write `image/jpg`. */
function usualType(mediaType: string | null | undefined): string {
  return mediaType === 'image/jpg' ? 'image/jpeg' : (mediaType ?? '')
}

function imagePart(block: Block<'image'>, field: LazyField): TurnPart {
  const { type, media_type: mediaType, data, url } = block.source
  if (type === 'url') return { type: 'image', source: { type: 'url', url: url ?? '' }, ...cacheOf(block) }
  if (type !== 'base64') return refuseSource(type, () => `${field()}.source.type`)
  if (!IMAGE_TYPES.has(usualType(mediaType))) {
    refuseAt(() => `${field()}.source.media_type`, 'expected image/png, image/jpeg, image/gif or image/webp')
  }
  const source = { type: 'base64', mediaType: mediaType ?? '', data: data ?? '' } as const
  return { type: 'image', source, ...cacheOf(block) }
}

type Part<Type extends TurnPart['type']> = Extract<TurnPart, { type: Type }>

function imageBlock({ source, cache }: Part<'image'>, path: string): MessagesBlock {
  switch (source.type) {
    case 'url':
      return { type: 'image', source: { type: 'url', url: source.url }, ...cacheControl(cache) }
    case 'file_id':
      return refusePart(path, 'this model cannot read uploaded images; send the image itself')
    case 'base64': {
      const mediaType = imageTypeOf(source.data) ?? usualType(source.mediaType)
      if (!IMAGE_TYPES.has(mediaType)) refusePart(path, 'images must be PNG, JPEG, GIF or WebP')
      return {
        type: 'image',
        source: { type: 'base64', media_type: mediaType, data: source.data },
        ...cacheControl(cache),
      }
    }
  }
}

function documentParts(block: Block<'document'>, field: LazyField, warnings: Warning[]): readonly TurnPart[] {
  warnCitations(block, field, warnings)
  const { source, title, context } = block
  const cache = cacheOf(block)
  const heading = paragraphs([title, context])
  switch (source.type) {
    case 'text':
      return [{ type: 'text', text: paragraphs([heading, source.data]), ...cache }]
    case 'base64': {
      const { media_type: mediaType, data } = source
      const file = { type: 'base64', mediaType: mediaType ?? '', data: data ?? '' } as const
      const filename = pdfName(title, mediaType === 'application/pdf')
      return [...toText(context), { type: 'file', source: file, ...filename, ...cache }]
    }
    case 'url':
      // A url source is always a PDF.
      return [
        ...toText(context),
        { type: 'file', source: { type: 'url', url: source.url ?? '' }, ...pdfName(title, true), ...cache },
      ]
    case 'content': {
      const parts = [...toText(heading), ...decodeParts(source.content, () => `${field()}.source.content`, warnings)]
      const last = parts.pop()
      return last === undefined ? [] : [...parts, { ...last, ...cache }]
    }
    default:
      return refuseSource(source.type, () => `${field()}.source.type`)
  }
}

/** Source: docs/copilot-wire.md, "messages, documents". */
function fileBlock({ source, filename, cache }: Part<'file'>, path: string): MessagesBlock {
  switch (source.type) {
    case 'url':
      return refusePart(path, 'document url sources are not supported by this model')
    case 'file_id':
      return refusePart(path, 'this model cannot read uploaded files; send the file itself')
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
  if (!isTextType(mediaType)) refusePart(path, 'files must be PDF or text')
  return { type: 'text', text: textUnderName(data, filename), ...cacheControl(cache) }
}

/** Only Anthropic's models cite locations in a caller's documents. */
function warnCitations(block: MessagesBlock, field: LazyField, warnings: Warning[]): void {
  const { citations } = block
  const asksForThem = typeof citations === 'object' && citations !== null && Reflect.get(citations, 'enabled') === true
  if (!asksForThem) return
  warnings.push({ code: 'dropped', field: `${field()}.citations`, detail: 'this model does not cite documents' })
}

function refuseSource(type: string, field: LazyField): never {
  const what = type === 'file' ? 'uploaded files are' : 'sources of this type are'
  return refuseAt(field, `${what} not available for this model, send the data itself`)
}

/** OpenAI reads the type of a file from its name. */
function pdfName(title: string | null | undefined, isPdf: boolean): { readonly filename?: string } {
  if (title === undefined || title === null || title === '') return {}
  return { filename: !isPdf || /\.pdf$/i.test(title) ? title : `${title}.pdf` }
}

function toText(text: string | null | undefined): readonly TurnPart[] {
  return text === undefined || text === null || text === '' ? [] : [{ type: 'text', text }]
}

function paragraphs(texts: readonly (string | null | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text !== null && text !== '').join('\n\n')
}

/**
 * Formats the path of a value with dots, as warnings do: `messages.3.content.0`. Called only for a warning or an error.
 */
export type LazyField = () => string

/** @throws Fault `invalid_request` for content that no upstream of another dialect accepts */
export function refuseAt(field: LazyField, detail: string): never {
  refuseValue(toFieldPath(field()), detail, 'unsupported_value')
}

/** @param path of the item, as in warnings */
function refusePart(path: string, detail: string): never {
  refuseAt(() => (path === '' ? '' : `${path}.content`), detail)
}
