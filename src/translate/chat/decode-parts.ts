import { parseDataUrl } from '../parts/data-url.ts'
import { refuseType, refuseValue } from '../parts/invalid.ts'
import { isFilled, isObject } from '../parts/wire-json.ts'
import type { CacheMark, TurnPart } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { PART_TYPES, partTypeOf } from './content-parts.ts'
import type { ChatMessage, ChatPart } from './wire-request.ts'

/**
 * The content of a message that is not the assistant's.
 * @param at the message's position in the caller's body
 * @throws Fault `invalid_request` for a part that is not known, or that names what nobody can fetch
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

/** The content of an assistant message: text and refusals. What else a caller put there has no place in a Turn. */
export function decodeAssistantParts(content: ChatMessage['content'], at: number, warnings: Warning[]): TurnPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return (content ?? []).flatMap((part, nth): TurnPart[] => {
    const type = partTypeOf(part)
    // `check-messages.ts` has seen to it that the payload of a known type is right.
    if (type === 'text') return [{ type, text: String(part['text']), ...cacheOf(part) }]
    if (type === 'refusal') return [{ type, text: String(part['refusal']) }]
    const field = `messages.${at}.content.${nth}`
    warnings.push({ code: 'dropped', field, detail: 'only text and refusals are taken from assistant messages' })
    return []
  })
}

/** A cache mark in the words of Messages (which many clients use here too), of Copilot or of OpenAI. */
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
  const rest = { ...(isFilled(filename) && { filename }), ...cacheOf(part) }
  if (isFilled(id)) return { type: 'file', source: { type: 'file_id', id }, ...rest }
  if (!isFilled(written)) refuseType(`${path}.file.file_data`, 'a data: URL', written)
  const source = parseDataUrl(written)
  if (source === undefined) {
    refuseValue(`${path}.file.file_data`, 'expected a data: URL such as data:application/pdf;base64,…', 'invalid_value')
  }
  if (!source.mediaType.startsWith('text/')) return { type: 'file', source: { type: 'base64', ...source }, ...rest }
  // A text document is text: no upstream but OpenAI's own takes it as a file.
  const text = Buffer.from(source.data, 'base64').toString('utf8')
  return { type: 'text', text: isFilled(filename) ? `${filename}\n\n${text}` : text, ...cacheOf(part) }
}

/** The payload of a part, an object as `check-messages.ts` has seen. */
function memberOf(part: ChatPart, key: string): Readonly<Record<string, unknown>> {
  const payload = part[key]
  return isObject(payload) ? payload : {}
}
