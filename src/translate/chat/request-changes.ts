import { fieldOf } from '../engine/origin.ts'
import { keepPlaces } from '../engine/places.ts'
import type { Outcome as EngineOutcome } from '../engine/apply-rules.ts'
import type { Warning } from '../warning.ts'
import type { ChatMessage, ChatRequest } from './wire.ts'

/**
 * Converts `functions` and `function_call`, which OpenAI replaced by tools in November 2023. Keeps the number and the
 * order of messages.
 */
export function withTools(request: ChatRequest): Outcome | undefined {
  const { functions, function_call: choice, tools, tool_choice: toolChoice } = request
  const converted = convertMessages(request.messages)
  const named = typeof choice === 'object' && choice ? { type: 'function', function: { name: choice.name } } : choice
  const warnings = [
    ...(functions ? [deprecated('functions', 'sent as tools')] : []),
    ...(choice ? [deprecated('function_call', 'sent as tool_choice')] : []),
    ...(converted?.warnings ?? []),
  ]
  if (warnings.length === 0) return undefined
  const asTools = functions?.map((definition) => ({ type: 'function', function: definition })) ?? []
  return {
    patch: {
      ...(functions && { functions: undefined, tools: [...(tools ?? []), ...asTools] }),
      ...(choice && { function_call: undefined, tool_choice: toolChoice ?? named }),
      ...converted?.patch,
    },
    warnings,
  }
}

function deprecated(field: string, action: string): Warning {
  return { code: 'adapted', field, detail: `deprecated, ${action}` }
}

/** Legacy calls have no ids: each gets one, and a result takes the id of the last call to its function. */
function convertMessages(messages: readonly ChatMessage[]): Outcome | undefined {
  const ids = new Map<string, string>()
  const convert = (message: ChatMessage, at: number): ChatMessage => {
    const id = `call_${at}`
    if (message.role === 'assistant' && message.function_call) {
      const { function_call: call, ...others } = message
      ids.set(call.name, id)
      return { ...others, content: others.content ?? null, tool_calls: [{ id, type: 'function', function: call }] }
    }
    if (message.role !== 'function') return message
    const { name, ...others } = message
    return { ...others, role: 'tool', content: others.content ?? '', tool_call_id: ids.get(String(name)) ?? id }
  }
  return mapMessages(messages, convert, (first, changes) => [
    deprecated(first(), counted('sent as a tool message', changes)),
  ])
}

export type Outcome = EngineOutcome<ChatRequest>

/** `dropped`, or `dropped (12 places)` if the warning names the first of several. */
export function counted(action: string, places: number): string {
  return places === 1 ? action : `${action} (${places} places)`
}

/**
 * Maps each message, or drops it if `map` returns undefined. Returns undefined if no message changed, or if none is left:
 * upstream's own refusal is clearer then.
 * @param warn gets a function that names the first message that changed, or a member of it, and the number of changes
 */
export function mapMessages(
  messages: readonly ChatMessage[],
  map: (message: ChatMessage, at: number) => ChatMessage | undefined,
  warn: (first: (suffix?: string) => string, changes: number) => readonly Warning[],
): Outcome | undefined {
  const mapped = messages.map(map)
  const first = mapped.findIndex((message, at) => message !== messages[at])
  if (first === -1) return undefined
  const { kept, places } = keepPlaces(mapped)
  if (kept.length === 0) return undefined
  const changes = mapped.filter((message, at) => message !== messages[at]).length
  return {
    patch: { messages: kept },
    ...(kept.length < messages.length && { places: { messages: places } }),
    warnings: warn((suffix) => fieldOf(messages[first], 'messages', first, suffix), changes),
  }
}

/** The messages of a request that `chat.history-window` keeps. The same array if it leaves nothing out. */
export function cutHistory(
  all: readonly ChatMessage[],
  historyWindow: number,
): {
  readonly messages: readonly ChatMessage[]
  readonly warnings: readonly Warning[]
} {
  const messages = windowMessages(all, historyWindow)
  const leftOut = all.length - messages.length
  if (leftOut === 0) return { messages, warnings: [] }
  const detail = `${leftOut} dropped by chat.history-window ${historyWindow}`
  return { messages, warnings: [{ code: 'history_cut', field: 'messages', detail }] }
}

/**
 * The last `turns` turns and all system and developer messages, in order. A turn starts at the first of consecutive user
 * messages. The cut moves back if it would separate a tool result from its call. 0 keeps everything. Returns the same
 * array if nothing is left out.
 */
function windowMessages(messages: readonly ChatMessage[], turns: number): readonly ChatMessage[] {
  if (turns === 0) return messages
  const callOf = callPositions(messages)
  let earliestCall = Infinity
  let kept = 0
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    earliestCall = Math.min(earliestCall, callOf.get(at) ?? Infinity)
    if (!startsTurn(messages, at)) continue
    kept += 1
    if (kept >= turns && earliestCall >= at) return withInstructions(messages, at)
  }
  return messages
}

/** For each tool result the position of its call: the last one before it with that id, because ids may be reused. */
function callPositions(messages: readonly ChatMessage[]): ReadonlyMap<number, number> {
  const callOf = new Map<number, number>()
  const lastCall = new Map<string, number>()
  messages.forEach((message, at) => {
    // Calls of other roles were not checked.
    if (message.role === 'assistant') for (const call of message.tool_calls ?? []) lastCall.set(call.id, at)
    const call = lastCall.get(message.tool_call_id ?? '')
    if (message.role === 'tool' && call !== undefined) callOf.set(at, call)
  })
  return callOf
}

function startsTurn(messages: readonly ChatMessage[], at: number): boolean {
  return messages[at]?.role === 'user' && messages[at - 1]?.role !== 'user'
}

function withInstructions(messages: readonly ChatMessage[], cut: number): readonly ChatMessage[] {
  const kept = messages.filter(({ role }, at) => at >= cut || role === 'system' || role === 'developer')
  return kept.length === messages.length ? messages : kept
}
