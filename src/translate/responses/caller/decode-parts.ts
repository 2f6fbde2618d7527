import { parseDataUrl } from '../../parts/data-url.ts'
import { isFilled, isObject, type JsonObject } from '../../../json/json.ts'
import type { CacheMark, MediaSource, TurnPart } from '../../turn.ts'
import type { Warning } from '../../warning.ts'

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

function decodeFile(part: JsonObject, cache: { readonly cache?: CacheMark }): TurnPart | undefined {
  const filename = isFilled(part['filename']) ? part['filename'] : undefined
  const source = fileSource(part, filename)
  if (source === undefined) return undefined
  const named = { ...(filename !== undefined && { filename }), ...cache }
  if (source.type !== 'base64' || !isText(source.mediaType)) return { type: 'file', source, ...named }
  const text = Buffer.from(source.data, 'base64').toString('utf8')
  return { type: 'text', text: filename === undefined ? text : `${filename}\n\n${text}`, ...cache }
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

function isText(mediaType: string): boolean {
  return mediaType.startsWith('text/') || mediaType === 'application/json'
}

function decodeAudio(audio: unknown): TurnPart | undefined {
  if (!isObject(audio)) return undefined
  const { data, format } = audio
  return isFilled(data) && isFilled(format) ? { type: 'audio', data, format } : undefined
}
