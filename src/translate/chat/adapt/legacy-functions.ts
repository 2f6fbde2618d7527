import type { ChatMessage, ChatRequest } from '../wire-request.ts'
import { always, counted, type Note, type Outcome, type Rule } from './rule.ts'

/**
 * `functions` and `function_call`, which OpenAI replaced by tools in November 2023, in today's words. Runs before the
 * rules for tools, so that those see them.
 */
export const legacyFunctionsRule: Rule = {
  name: 'functions as tools',
  source: 'OpenAI API reference, chat completions: functions and function_call are deprecated in favour of tools',
  applies: always,
  adapt: withTools,
}

/** Keeps the number and the order of messages. */
export function withTools(request: ChatRequest): Outcome | undefined {
  const steps = [tools(request), toolChoice(request), history(request.messages)]
  const done = steps.filter((step) => step !== undefined)
  if (done.length === 0) return undefined
  return { patch: Object.assign({}, ...done.map((step) => step.patch)), notes: done.map((step) => step.note) }
}

interface Step {
  readonly patch: Partial<ChatRequest>
  readonly note: Note
}

function note(field: string, action: string): Note {
  return { code: 'adapted', field, reason: 'deprecated', action }
}

function tools(request: ChatRequest): Step | undefined {
  if (!request.functions) return undefined
  const functions = request.functions.map((definition) => ({ type: 'function', function: definition }))
  return {
    patch: { functions: undefined, tools: [...(request.tools ?? []), ...functions] },
    note: note('functions', 'sent as tools'),
  }
}

function toolChoice(request: ChatRequest): Step | undefined {
  const choice = request.function_call
  if (!choice) return undefined
  const converted = typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice
  return {
    patch: { function_call: undefined, tool_choice: request.tool_choice ?? converted },
    note: note('function_call', 'sent as tool_choice'),
  }
}

/** Calls get the ids that legacy history lacks; a result takes the id of the last call to its function. */
function history(messages: readonly ChatMessage[]): Step | undefined {
  const ids = new Map<string, string>()
  let first = -1
  let changes = 0
  const converted = messages.map((message, at) => {
    const result = convert(message, `call_${at}`, ids)
    if (result === message) return message
    if (first === -1) first = at
    changes += 1
    return result
  })
  if (changes === 0) return undefined
  return {
    patch: { messages: converted },
    note: note(`messages.${first}`, counted('sent as a tool message', changes)),
  }
}

function convert(message: ChatMessage, id: string, ids: Map<string, string>): ChatMessage {
  if (message.role === 'assistant' && message.function_call) {
    const { function_call: call, ...rest } = message
    ids.set(call.name, id)
    return { ...rest, content: rest.content ?? null, tool_calls: [{ id, type: 'function', function: call }] }
  }
  if (message.role === 'function') {
    const { name, ...rest } = message
    return { ...rest, role: 'tool', content: rest.content ?? '', tool_call_id: ids.get(String(name)) ?? id }
  }
  return message
}
