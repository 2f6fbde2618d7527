import { isSealed, openOpaque } from '../engine/opaque-envelope.ts'
import { isFilled, isObject } from '../../json/json.ts'
import type {
  Opaque,
  TurnItem,
  TurnPart,
  CacheMark,
  MessageItem,
  ReasoningItem,
  ToolCallItem,
  ToolResultItem,
} from '../turn.ts'
import type { Warning } from '../warning.ts'
import { cacheOf, decodeAssistantParts, decodeParts, encodePart, encodeParts } from './parts.ts'
import type { ChatMessage, ChatPart } from './wire.ts'
import { toErrorText } from '../engine/tool-codec/tool-payload.ts'
import { type DraftReasoning, withReasonings } from './draft-reasoning.ts'
import { IMAGES_OF_RESULT } from '../engine/media/media-parts.ts'

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

interface EncodedItem {
  readonly message: ChatMessage
  /** Path of the message's first item, for warnings. */
  readonly path: string
  readonly cache: CacheMark | undefined
}

/**
 * Encodes items in order. Consecutive items of the assistant become one message, which has one text, one pair of
 * reasoning and a list of calls: text after a call loses its position.
 * @throws Fault `invalid_request` as `encodePart`
 */
export function encodeItems(items: readonly TurnItem[]) {
  const messages: EncodedItem[] = []
  const warnings: Warning[] = []
  let run: AssistantItem[] = []
  let results: ToolResultItem[] = []

  const endRun = () => {
    if (run.length > 0) encodeRun(run, messages, warnings)
    run = []
  }
  const endResults = () => {
    const [first] = results
    if (first === undefined) return
    const message = encodeAttachments(results)
    if (message !== undefined) messages.push({ message, path: first.path, cache: undefined })
    results = []
  }

  for (const item of items) {
    if (item.type !== 'tool_result') endResults()
    switch (item.type) {
      case 'message':
        if (item.role === 'assistant') {
          run.push(item)
          break
        }
        endRun()
        messages.push({ message: encodeMessage(item), path: item.path, cache: markOf(item) })
        break
      case 'reasoning':
      case 'tool_call':
        run.push(item)
        break
      case 'tool_result':
        endRun()
        results.push(item)
        messages.push({ message: encodeResult(item), path: item.path, cache: item.cache })
        break
      case 'web_search':
        warnings.push({
          code: 'dropped',
          field: item.path,
          detail: 'a web search of another provider cannot be sent back',
        })
        break
      case 'compaction':
        endRun()
        warnings.push({ code: 'compaction_dropped', field: item.path, detail: 'only the text of the summary was sent' })
        if (item.text !== '') {
          messages.push({ message: { role: 'user', content: item.text }, path: item.path, cache: undefined })
        }
        break
    }
  }
  endRun()
  endResults()
  return { messages, warnings }
}

/** An item of the assistant; of messages only its own. */
type AssistantItem = MessageItem | ReasoningItem | ToolCallItem

/** System text becomes one string, which every backend takes; a user's parts stay separate. */
function encodeMessage({ role, parts, path }: MessageItem): ChatMessage {
  const texts = parts.map((part) => (part.type === 'text' ? part.text : undefined))
  const isText = role === 'system' && !texts.includes(undefined)
  return { role, content: isText ? texts.join('\n\n') : encodeParts(parts, path) }
}

function encodeRun(run: readonly AssistantItem[], messages: EncodedItem[], warnings: Warning[]): void {
  const texts = run.filter((item) => item.type === 'message').map((item) => textOf(item, warnings))
  const text = texts.filter((each) => each !== '').join('\n\n')
  const calls = run.filter((item) => item.type === 'tool_call')
  if (text === '' && calls.length === 0) {
    for (const { type, path, ...item } of run) {
      if (type !== 'reasoning' || !('opaque' in item) || item.opaque === undefined) continue
      const detail = 'the provider accepts reasoning only in a message with text or calls'
      warnings.push({ code: 'thinking_dropped', field: path, detail })
    }
    return
  }
  messages.push({
    message: {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(calls.length > 0 && { tool_calls: calls.map(encodeCall) }),
      ...withReasonings(reasoningsOf(run)),
    },
    path: run[0]?.path ?? '',
    cache: run.map(markOf).findLast((mark) => mark !== undefined),
  })
}

function textOf({ parts, path }: MessageItem, warnings: Warning[]): string {
  return parts
    .map((part) => {
      if (part.type === 'text' || part.type === 'refusal') return part.text
      warnings.push({ code: 'dropped', field: path, detail: `an assistant message cannot hold ${part.type} content` })
      return ''
    })
    .join('')
}

function encodeCall({ id, name, arguments: text }: ToolCallItem) {
  return { id, type: 'function', function: { name, arguments: text } }
}

function reasoningsOf(run: readonly AssistantItem[]): readonly DraftReasoning[] {
  const lastCall = run.findLastIndex((item) => item.type === 'tool_call')
  return run.flatMap((item, at) => {
    if (item.type !== 'reasoning') return []
    const { text, opaque, path } = item
    return [{ text, opaque, path, isBeforeCall: at < lastCall }]
  })
}

function markOf(item: AssistantItem): CacheMark | undefined {
  if (item.type === 'tool_call') return item.cache
  if (item.type === 'reasoning') return undefined
  return item.parts.map((part) => ('cache' in part ? part.cache : undefined)).findLast((mark) => mark !== undefined)
}

type Attachment = Extract<TurnPart, { type: 'image' | 'file' | 'audio' }>

/** The content is text, because validating backends refuse parts in tool messages. */
function encodeResult({ callId, content, isError }: ToolResultItem): ChatMessage {
  const text = typeof content === 'string' ? content : content.map(resultText).join('\n')
  return { role: 'tool', tool_call_id: callId, content: isError ? toErrorText(text) : text }
}

/** An id that no model refuses. Rules may give a call with another id a new one, so its result is numbered. */
const isKept = /^[\w-]{1,40}$/

/**
 * One user message with the images and files of several results, after all of their tool messages: nothing may stand between
 * those and their calls. Undefined if all results are text.
 */
function encodeAttachments(results: readonly ToolResultItem[]): ChatMessage | undefined {
  const parts = results.flatMap(({ callId, content, path }, at): ChatPart[] => {
    const attached = typeof content === 'string' ? [] : content.filter(isAttachment)
    if (attached.length === 0) return []
    const label = attached.every(({ type }) => type === 'image') ? IMAGES_OF_RESULT : 'Files returned by tool call '
    return [
      { type: 'text', text: `${label}${isKept.test(callId) ? callId : at + 1}:` },
      ...attached.map((part) => encodePart(part, path)),
    ]
  })
  return parts.length === 0 ? undefined : { role: 'user', content: parts }
}

/** Content other than text follows in a user message. */
function resultText(part: TurnPart): string {
  return isAttachment(part) ? `[${part.type} attached below]` : part.text
}

function isAttachment(part: TurnPart): part is Attachment {
  return part.type !== 'text' && part.type !== 'refusal'
}
