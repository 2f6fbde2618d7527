import { isSealed, openOpaque } from '../../parts/opaque-envelope.ts'
import { isFilled, isObject } from '../../../json/json.ts'
import type { Opaque, TurnItem, TurnPart } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { cacheOf, decodeAssistantParts, decodeParts } from '../parts.ts'
import type { ChatMessage } from '../wire.ts'

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
