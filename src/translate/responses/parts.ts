import { isTextType, parseDataUrl, textUnderName, toDataUrl } from '../engine/media/data-url.ts'
import { refuseValue, toFieldPath } from '../engine/request/invalid.ts'
import { isFilled, isObject, type JsonObject } from '../../json/json.ts'
import type { CacheMark, MediaSource, TurnPart } from '../turn.ts'
import type { Warning } from '../warning.ts'

/**
 * Decodes the parts of a message or of a tool's output. Items of stored replies come here too, so no member counts as
 * checked. Annotations are dropped, because they refer to the reply that had them.
 *
 * @param path of the parts, with dots
 * @param warnings gets one entry for each part that a Turn cannot hold
 */
export function decodeParts(content: unknown, path: string, warnings: Warning[]): readonly TurnPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.flatMap((part: unknown, at) => {
    const decoded = isObject(part) ? decodePart(part) : undefined
    if (decoded !== undefined) return [decoded]
    warnings.push({
      code: 'dropped',
      field: `${path}.${at}`,
      detail: 'only the provider that created this content accepts it',
    })
    return []
  })
}

function decodePart(part: JsonObject): TurnPart | undefined {
  const cache = cacheOf(part)
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return typeof part['text'] === 'string' ? { type: 'text', text: part['text'], ...cache } : undefined
    case 'refusal':
      return typeof part['refusal'] === 'string' ? { type: 'refusal', text: part['refusal'] } : undefined
    case 'input_image': {
      const source = imageSource(part)
      return source && { type: 'image', source, ...(isFilled(part['detail']) && { detail: part['detail'] }), ...cache }
    }
    case 'input_file':
      return decodeFile(part, cache)
    case 'input_audio':
      return decodeAudio(part['input_audio'])
    default:
      return undefined
  }
}

/**
 * Encodes a part of a user message, a developer message or a tool result.
 *
 * @param path of the item in warnings
 * @throws Fault `invalid_request` for audio and for uploaded files
 */
export function encodeInputPart(part: TurnPart, path: string): JsonObject {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'input_text', text: part.text }
    case 'image':
      return { type: 'input_image', image_url: urlOf(part.source, path), detail: part.detail ?? 'auto' }
    case 'file':
      return encodeFile(part.source, part.filename, path)
    case 'audio':
      return refuseValue(toFieldPath(path), 'audio is not supported by this model', 'unsupported_value')
  }
}

/** Encodes the parts of an assistant message, which contains only text. */
export function encodeOutputParts(parts: readonly TurnPart[], path: string, warnings: Warning[]): JsonObject[] {
  return parts.flatMap((part): JsonObject[] => {
    switch (part.type) {
      case 'text':
        return [{ type: 'output_text', text: part.text, annotations: [] }]
      case 'refusal':
        return [{ type: 'refusal', refusal: part.text }]
      case 'image':
      case 'file':
      case 'audio':
        warnings.push({ code: 'dropped', field: path, detail: `an assistant message cannot hold ${part.type} parts` })
        return []
    }
  })
}

/** Source: OpenAI API reference, responses, `prompt_cache_breakpoint`, 2026-11. */
function cacheOf({ prompt_cache_breakpoint: mark }: JsonObject): { readonly cache?: CacheMark } {
  return isObject(mark) ? { cache: {} } : {}
}

function imageSource({ image_url: url, file_id: id }: JsonObject): MediaSource | undefined {
  if (isFilled(url)) return urlSource(url)
  return isFilled(id) ? { type: 'file_id', id } : undefined
}

function urlSource(url: string): MediaSource {
  const embedded = parseDataUrl(url)
  return embedded === undefined ? { type: 'url', url } : { type: 'base64', ...embedded }
}

function urlOf(source: MediaSource, path: string): string {
  switch (source.type) {
    case 'base64':
      return toDataUrl(source)
    case 'url':
      return source.url
    case 'file_id':
      return refuseValue(
        toFieldPath(path),
        'this model cannot read uploaded files; send the content itself',
        'unsupported_value',
      )
  }
}

function decodeFile(part: JsonObject, cache: { readonly cache?: CacheMark }): TurnPart | undefined {
  const filename = isFilled(part['filename']) ? part['filename'] : undefined
  const source = fileSource(part, filename)
  if (source === undefined) return undefined
  const named = { ...(filename !== undefined && { filename }), ...cache }
  if (source.type !== 'base64' || !isTextType(source.mediaType)) return { type: 'file', source, ...named }
  return { type: 'text', text: textUnderName(source.data, filename), ...cache }
}

function encodeFile(source: MediaSource, name: string | undefined, path: string): JsonObject {
  if (source.type === 'url') return { type: 'input_file', file_url: source.url }
  const url = urlOf(source, path)
  const filename = source.type === 'base64' ? fileName(name, source.mediaType) : name
  return { type: 'input_file', ...(filename !== undefined && { filename }), file_data: url }
}

function fileSource(part: JsonObject, filename: string | undefined): MediaSource | undefined {
  const { file_data: data, file_url: url, file_id: id } = part
  // OpenAI documents a data: URL; bare base64 is accepted too.
  if (isFilled(data))
    return data.startsWith('data:') ? urlSource(data) : { type: 'base64', mediaType: mediaTypeOf(filename), data }
  if (isFilled(url)) return urlSource(url)
  return isFilled(id) ? { type: 'file_id', id } : undefined
}

function mediaTypeOf(filename: string | undefined): string {
  // PDF is the one type that every upstream with file input accepts.
  if (filename === undefined || filename.toLowerCase().endsWith('.pdf')) return 'application/pdf'
  return 'application/octet-stream'
}

/** Upstream recognises a PDF by its file extension, and document titles have none. */
function fileName(name: string | undefined, mediaType: string): string | undefined {
  if (mediaType !== 'application/pdf') return name
  if (name === undefined || name === '') return 'document.pdf'
  return name.slice(-4).toLowerCase() === '.pdf' ? name : `${name}.pdf`
}

function decodeAudio(audio: unknown): TurnPart | undefined {
  if (!isObject(audio)) return undefined
  const { data, format } = audio
  return isFilled(data) && isFilled(format) ? { type: 'audio', data, format } : undefined
}
