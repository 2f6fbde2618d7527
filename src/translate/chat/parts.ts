import { isFilled, isObject, objectOf } from '../../json/json.ts'
import { parseDataUrl, textOfFile, toDataUrl } from '../engine/media/data-url.ts'
import { refuseType, refuseValue, toFieldPath } from '../engine/request/invalid.ts'
import type { CacheMark, TurnPart } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { type ChatMessage, type ChatPart, PART_TYPES, partTypeOf } from './wire.ts'

/**
 * The content of a message of any role but `assistant`.
 * @param at the message's position in the caller's body
 * @throws Fault `invalid_request` for an unknown part, or for a source that cannot be read
 */
export function decodeParts(content: ChatMessage['content'], at: number): TurnPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (content ?? []).map((part, nth) => {
    const path = `messages[${at}].content[${nth}]`
    return (
      decodePart(part, path) ??
      refuseValue(`${path}.type`, `expected one of ${PART_TYPES.join(', ')}`, 'unsupported_value')
    )
  })
}

/** The content of an assistant message. A Turn holds only its text and refusals. */
export function decodeAssistantParts(content: ChatMessage['content'], at: number, warnings: Warning[]): TurnPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return (content ?? []).flatMap((part, nth): TurnPart[] => {
    const type = partTypeOf(part)
    // `check-messages.ts` has checked the payload of known types.
    if (type === 'text') return [{ type, text: String(part['text']), ...cacheOf(part) }]
    if (type === 'refusal') return [{ type, text: String(part['refusal']) }]
    const field = `messages.${at}.content.${nth}`
    warnings.push({ code: 'dropped', field, detail: 'assistant messages can only have text and refusals' })
    return []
  })
}

/** Content of a user or system message; text alone becomes a string, which every backend takes. */
export function encodeParts(parts: readonly TurnPart[], path: string): string | ChatPart[] {
  const [only] = parts
  if (only === undefined) return ''
  if (parts.length === 1 && (only.type === 'text' || only.type === 'refusal')) return only.text
  return parts.map((part) => encodePart(part, path))
}

/** The key of the Messages API (which many clients use here too), of Copilot or of OpenAI. */
export function cacheOf(marked: Readonly<Record<string, unknown>>): { cache: CacheMark } | undefined {
  const mark = marked['cache_control'] ?? marked['copilot_cache_control'] ?? marked['prompt_cache_breakpoint']
  if (!isObject(mark)) return undefined
  const { ttl } = mark
  return { cache: ttl === '5m' || ttl === '1h' ? { ttl } : {} }
}

function decodePart(part: ChatPart, path: string): TurnPart | undefined {
  switch (partTypeOf(part)) {
    case 'text':
      return { type: 'text', text: String(part['text']), ...cacheOf(part) }
    case 'refusal':
      return { type: 'text', text: String(part['refusal']), ...cacheOf(part) }
    case 'image_url':
      return decodeImage(part, path)
    case 'input_audio':
      return decodeAudio(part)
    case 'file':
      return decodeFile(part, path)
    default:
      return undefined
  }
}

/**
 * @param path of the part's item, for example `messages.3`
 * @throws Fault `invalid_request` for a source that upstream would have to fetch
 */
export function encodePart(part: TurnPart, path: string): ChatPart {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.text }
    case 'image': {
      const { source, detail } = part
      if (source.type === 'file_id') refuseSource('image', source.type, path)
      const url = source.type === 'url' ? source.url : toDataUrl(source)
      return { type: 'image_url', image_url: { url, ...(detail && { detail }) } }
    }
    case 'file': {
      const { source, filename } = part
      if (source.type !== 'base64') refuseSource('document', source.type, path)
      // OpenAI requires a name beside the bytes. Source: OpenAI API reference, chat completions, file parts, 2026-11.
      const name = filename ?? (source.mediaType === 'application/pdf' ? 'document.pdf' : 'document')
      return { type: 'file', file: { filename: name, file_data: toDataUrl(source) } }
    }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
  }
}

function decodeImage(part: ChatPart, path: string): TurnPart {
  const { url, detail } = memberOf(part, 'image_url')
  const written = String(url)
  const source = parseDataUrl(written)
  if (source === undefined && /^data:/i.test(written)) {
    refuseValue(`${path}.image_url.url`, 'expected a data: URL in base64, or an https: URL', 'invalid_value')
  }
  return {
    type: 'image',
    source: source === undefined ? { type: 'url', url: written } : { type: 'base64', ...source },
    ...(isFilled(detail) && { detail }),
    ...cacheOf(part),
  }
}

function decodeAudio(part: ChatPart): TurnPart {
  const { data, format } = memberOf(part, 'input_audio')
  return { type: 'audio', data: String(data), format: String(format) }
}

function decodeFile(part: ChatPart, path: string): TurnPart {
  const { file_data: written, file_id: id, filename } = memberOf(part, 'file')
  const common = { ...(isFilled(filename) && { filename }), ...cacheOf(part) }
  if (isFilled(id)) return { type: 'file', source: { type: 'file_id', id }, ...common }
  if (!isFilled(written)) refuseType(`${path}.file.file_data`, 'a data: URL', written)
  const source = parseDataUrl(written)
  if (source === undefined) {
    refuseValue(`${path}.file.file_data`, 'expected a data: URL such as data:application/pdf;base64,…', 'invalid_value')
  }
  const text = textOfFile(memberOf(part, 'file'))
  if (text !== undefined) return { type: 'text', text, ...cacheOf(part) }
  return { type: 'file', source: { type: 'base64', ...source }, ...common }
}

/** The payload of a part, which `check-messages.ts` has checked to be an object. */
function memberOf(part: ChatPart, key: string): Readonly<Record<string, unknown>> {
  return objectOf(part[key])
}

function refuseSource(what: 'image' | 'document', type: string, path: string): never {
  refuseValue(toFieldPath(path), `${what} ${type} sources are not supported by this model`, 'unsupported_value')
}
