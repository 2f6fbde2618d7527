import type { Warning } from '../warning.ts'
import { counted, mapMessages, type Outcome } from './map-messages.ts'
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
    deprecated(first, counted('sent as a tool message', changes)),
  ])
}
