import type { CacheMark, TurnPart } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { refuseAt, type Place } from './place.ts'
import { tellTool } from './reminder.ts'
import { isBlock, type DocumentBlock, type ImageBlock, type MessagesBlock, type MessagesTool } from './wire-request.ts'

type Content = string | readonly MessagesBlock[] | null | undefined

/** The parts of a block's `content`; blocks that hold nothing to read are left out with a warning. */
export function decodeParts(content: Content, place: Place, warnings: Warning[]): readonly TurnPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (content ?? []).flatMap((block, at) => {
    const here = (): string => `${place()}.${at}`
    const parts = partsOfBlock(block, here, warnings)
    if (parts === undefined) warnings.push(unreadable(here))
    return parts ?? []
  })
}

/**
 * What a content block says; undefined for blocks that are no content.
 * @throws Fault `invalid_request` for sources that only Anthropic can read
 */
export function partsOfBlock(block: MessagesBlock, place: Place, warnings: Warning[]): readonly TurnPart[] | undefined {
  if (isBlock(block, 'text')) return [{ type: 'text', text: block.text, ...cacheOf(block) }]
  if (isBlock(block, 'image')) return [imagePart(block, place)]
  if (isBlock(block, 'document')) return documentParts(block, place, warnings)
  if (isBlock(block, 'search_result')) {
    warnCitations(block, place, warnings)
    const found = block.content.filter((inner) => isBlock(inner, 'text')).map(({ text }) => text)
    return [{ type: 'text', text: paragraphs([`${block.title}\n${block.source}`, ...found]), ...cacheOf(block) }]
  }
  if (isBlock(block, 'tool_reference')) {
    return [{ type: 'text', text: tellTool(block.tool_name), ...cacheOf(block) }]
  }
  return undefined
}

export function unreadable(place: Place): Warning {
  return { code: 'dropped', field: place(), detail: 'blocks of this type have no equivalent for this model' }
}

/** The mark of a block or tool, to be spread into what becomes of it. */
export function cacheOf({ cache_control: mark }: MessagesBlock | MessagesTool): { readonly cache?: CacheMark } {
  if (mark === undefined || mark === null) return {}
  return { cache: typeof mark.ttl === 'string' ? { ttl: mark.ttl } : {} }
}

/** Source: Anthropic documentation, vision, 2026-11; `image/jpg` is how some clients spell one of them. */
const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/jpg'])

function imagePart(block: ImageBlock, place: Place): TurnPart {
  const { type, media_type: mediaType, data, url } = block.source
  if (type === 'url') return { type: 'image', source: { type: 'url', url: url ?? '' }, ...cacheOf(block) }
  if (type !== 'base64') return refuseSource(type, () => `${place()}.source.type`)
  if (!IMAGE_TYPES.has(mediaType ?? '')) {
    refuseAt(() => `${place()}.source.media_type`, 'expected image/png, image/jpeg, image/gif or image/webp')
  }
  const source = { type: 'base64', mediaType: mediaType ?? '', data: data ?? '' } as const
  return { type: 'image', source, ...cacheOf(block) }
}

function documentParts(block: DocumentBlock, place: Place, warnings: Warning[]): readonly TurnPart[] {
  warnCitations(block, place, warnings)
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
      // A url is that of a PDF: there is no other source of that type.
      return [
        ...toText(context),
        { type: 'file', source: { type: 'url', url: source.url ?? '' }, ...pdfName(title, true), ...cache },
      ]
    case 'content': {
      const parts = [...toText(heading), ...decodeParts(source.content, () => `${place()}.source.content`, warnings)]
      const last = parts.pop()
      return last === undefined ? [] : [...parts, { ...last, ...cache }]
    }
    default:
      return refuseSource(source.type, () => `${place()}.source.type`)
  }
}

/** Citations of a caller's own documents point into them in ways that only Anthropic's models produce. */
function warnCitations(block: MessagesBlock, place: Place, warnings: Warning[]): void {
  const { citations } = block
  const asksForThem = typeof citations === 'object' && citations !== null && Reflect.get(citations, 'enabled') === true
  if (!asksForThem) return
  warnings.push({ code: 'dropped', field: `${place()}.citations`, detail: 'this model does not cite documents' })
}

function refuseSource(type: string, place: Place): never {
  const what = type === 'file' ? 'uploaded files are' : 'sources of this type are'
  return refuseAt(place, `${what} not available for this model, send the data itself`)
}

/** OpenAI tells the type of a file by its name. */
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
