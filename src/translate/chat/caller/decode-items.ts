import { isSealed, openOpaque } from '../../parts/opaque-envelope.ts'
import { isFilled, isObject } from '../../../json/json.ts'
import type { CacheMark, Opaque, TurnItem, TurnPart } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { type ChatMessage, type ChatPart, PART_TYPES, partTypeOf } from '../wire.ts'
import { parseDataUrl, textOfFile } from '../../parts/data-url.ts'
import { refuseType, refuseValue } from '../../parts/invalid.ts'

/**
 * Decodes messages in order. An assistant message becomes reasoning, a message and calls.
 * @param messages without the deprecated `function_call` and role `function`
 * @param positions of the messages in the caller's body
 * @throws Fault `invalid_request` as `decodeParts`
 */
export function decodeItems(messages: readonly ChatMessage[], positions: readonly number[]) {
  const items: TurnItem[] = []
  const warnings: Warning[] = []
  let named: number | undefined
  messages.forEach((message, nth) => {
    const at = positions[nth] ?? nth
    // The `name` of a tool message repeats the name of the tool.
    if (message.role !== 'tool' && isFilled(message['name'])) named ??= at
    decodeMessage(message, at, items, warnings)
  })
  if (named !== undefined) {
    const field = `messages.${named}.name`
    warnings.push({ code: 'dropped', field, detail: 'the API of the provider does not support names of participants' })
  }
  return { items, warnings }
}

function decodeMessage(message: ChatMessage, at: number, items: TurnItem[], warnings: Warning[]): void {
  const path = `messages.${at}`
  switch (message.role) {
    case 'system':
    case 'developer':
      items.push({ type: 'message', role: 'system', path, parts: decodeMarked(message, at) })
      break
    case 'user':
      items.push({ type: 'message', role: 'user', path, parts: decodeMarked(message, at) })
      break
    case 'assistant':
      decodeAssistant(message, at, items, warnings)
      break
    case 'tool':
    case 'function':
      items.push({
        type: 'tool_result',
        path,
        callId: message.tool_call_id ?? '',
        content: typeof message.content === 'string' ? message.content : decodeParts(message.content, at),
        isError: false,
        ...cacheOf(message),
      })
      break
  }
}

/** The parts of a message; a cache mark on the message moves to the last part. */
function decodeMarked(message: ChatMessage, at: number): TurnPart[] {
  const parts = decodeParts(message.content, at)
  markLast(parts, cacheOf(message))
  return parts
}

function markLast(parts: TurnPart[], mark: ReturnType<typeof cacheOf>): void {
  const last = parts.at(-1)
  if (mark === undefined || last === undefined || last.type === 'audio' || last.type === 'refusal') return
  parts[parts.length - 1] = { ...last, ...mark }
}

function decodeAssistant(message: ChatMessage, at: number, items: TurnItem[], warnings: Warning[]): void {
  const path = `messages.${at}`
  decodeReasoning(message, path, items, warnings)
  const parts = decodeAssistantParts(message.content, at, warnings)
  if (isFilled(message['refusal'])) parts.push({ type: 'refusal', text: message['refusal'] })
  const calls = message.tool_calls ?? []
  const mark = cacheOf(message)
  if (calls.length === 0) markLast(parts, mark)
  if (parts.length > 0) items.push({ type: 'message', role: 'assistant', path, parts })
  if (isObject(message['audio'])) {
    warnings.push({ code: 'dropped', field: `${path}.audio`, detail: 'audio of earlier answers cannot be sent back' })
  }
  for (const [nth, call] of calls.entries()) {
    const { id, type, function: called, custom } = call
    const isCustom = type === 'custom'
    const body = isCustom ? custom : called
    if (!isObject(body)) continue
    const text = String(isCustom ? body['input'] : body['arguments'])
    items.push({
      type: 'tool_call',
      kind: isCustom ? 'custom' : 'function',
      path,
      id,
      name: String(body['name']),
      arguments: isCustom || text.trim() !== '' ? text : '{}',
      ...(nth === calls.length - 1 && mark),
    })
  }
}

/** Keys of readable reasoning, by origin: Copilot, DeepSeek, OpenRouter. */
const reasoningKeys = ['reasoning_text', 'reasoning_content', 'reasoning'] as const

function decodeReasoning(message: ChatMessage, path: string, items: TurnItem[], warnings: Warning[]): void {
  const text = reasoningKeys.map((key) => message[key]).find(isFilled) ?? ''
  const written = message['reasoning_opaque']
  const opaque = isFilled(written) ? toOpaque(written) : undefined
  if (isFilled(written) && opaque === undefined) {
    warnings.push({ code: 'thinking_dropped', field: path, detail: 'its reasoning_opaque is damaged' })
  }
  if (text !== '' || opaque !== undefined) items.push({ type: 'reasoning', path, text, opaque })
}

/** A sealed value names its vendor; an unsealed one came from some chat upstream. */
function toOpaque(written: string): Opaque | undefined {
  if (isSealed(written)) return openOpaque(written)
  return { vendor: 'unknown', family: '', form: 'reasoning_opaque', value: written }
}

/**
 * The content of a message of any role but `assistant`.
 * @param at the message's position in the caller's body
 * @throws Fault `invalid_request` for an unknown part, or for a source that cannot be read
 */
function decodeParts(content: ChatMessage['content'], at: number): TurnPart[] {
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
function decodeAssistantParts(content: ChatMessage['content'], at: number, warnings: Warning[]): TurnPart[] {
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
  const payload = part[key]
  return isObject(payload) ? payload : {}
}
