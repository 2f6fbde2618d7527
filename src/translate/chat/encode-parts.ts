import { refuseValue, toFieldPath } from '../parts/invalid.ts'
import type { FileSource, TurnPart } from '../turn.ts'
import type { ChatPart } from './wire-request.ts'

/** Content of a message that is not the assistant's: plain text as a string, which every backend takes. */
export function encodeParts(parts: readonly TurnPart[], path: string): string | ChatPart[] {
  const [only] = parts
  if (only === undefined) return ''
  if (parts.length === 1 && (only.type === 'text' || only.type === 'refusal')) return only.text
  return parts.map((part) => encodePart(part, path))
}

/**
 * @param path the item the part is of, as in `messages.3`
 * @throws Fault `invalid_request` for what upstream would have to fetch
 */
export function encodePart(part: TurnPart, path: string): ChatPart {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.text }
    case 'image':
      return {
        type: 'image_url',
        image_url: { url: imageUrl(part, path), ...(part.detail && { detail: part.detail }) },
      }
    case 'file':
      return { type: 'file', file: encodeFile(part.source, part.filename, path) }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
  }
}

function imageUrl({ source }: Extract<TurnPart, { type: 'image' }>, path: string): string {
  switch (source.type) {
    case 'base64':
      return toDataUrl(source.mediaType, source.data)
    case 'url':
      return source.url
    case 'file_id':
      return refuseSource(path, 'image file_id sources are not supported by this model')
  }
}

/** OpenAI wants a name beside the bytes. Source: OpenAI API reference, chat completions, file parts, 2026-11. */
function encodeFile(source: FileSource, filename: string | undefined, path: string) {
  switch (source.type) {
    case 'base64':
      return {
        filename: filename ?? (source.mediaType === 'application/pdf' ? 'document.pdf' : 'document'),
        file_data: toDataUrl(source.mediaType, source.data),
      }
    case 'url':
      return refuseSource(path, 'document url sources are not supported by this model')
    case 'file_id':
      return refuseSource(path, 'document file_id sources are not supported by this model')
  }
}

function refuseSource(path: string, detail: string): never {
  refuseValue(toFieldPath(path), detail, 'unsupported_value')
}

function toDataUrl(mediaType: string, data: string): string {
  return `data:${mediaType};base64,${data}`
}
