import type { Note, Outcome } from './upstream/adapt/rule.ts'
import { counted, mapMessages } from './upstream/adapt/rule.ts'
import type { ChatMessage, ChatRequest } from './wire.ts'

/**
 * Converts `functions` and `function_call`, which OpenAI replaced by tools in November 2023. Keeps the number and the
 * order of messages.
 */
export function withTools(request: ChatRequest): Outcome | undefined {
  const { functions, function_call: choice, tools, tool_choice: toolChoice } = request
  const notes: Note[] = []
  const patch: { -readonly [Key in keyof ChatRequest]?: ChatRequest[Key] } = {}
  if (functions) {
    patch.functions = undefined
    patch.tools = [...(tools ?? []), ...functions.map((definition) => ({ type: 'function', function: definition }))]
    notes.push(deprecated('functions', 'sent as tools'))
  }
  if (choice) {
    const named = typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice
    patch.function_call = undefined
    patch.tool_choice = toolChoice ?? named
    notes.push(deprecated('function_call', 'sent as tool_choice'))
  }
  const converted = convertMessages(request.messages)
  if (converted !== undefined) {
    patch.messages = converted.messages
    notes.push(deprecated(`messages.${converted.first}`, counted('sent as a tool message', converted.changes)))
  }
  return notes.length === 0 ? undefined : { patch, notes }
}

function deprecated(field: string, action: string): Note {
  return { code: 'adapted', field, reason: 'deprecated', action }
}

/** Legacy calls have no ids: each gets one, and a result takes the id of the last call to its function. */
function convertMessages(messages: readonly ChatMessage[]) {
  const ids = new Map<string, string>()
  return mapMessages(messages, (message, at) => {
    const id = `call_${at}`
    if (message.role === 'assistant' && message.function_call) {
      const { function_call: call, ...others } = message
      ids.set(call.name, id)
      return { ...others, content: others.content ?? null, tool_calls: [{ id, type: 'function', function: call }] }
    }
    if (message.role !== 'function') return message
    const { name, ...others } = message
    return { ...others, role: 'tool', content: others.content ?? '', tool_call_id: ids.get(String(name)) ?? id }
  })
}
