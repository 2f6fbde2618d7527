import { isObject, type JsonObject } from '../parts/is-object.ts'
import { isFilled, objectsOf } from '../parts/wire-json.ts'

/**
 * The messages with every call that comes without the model's own thought told in words, and its result with it: a model
 * that wants its thoughts back takes no call it did not make (docs/copilot-wire.md, quirk 12). Undefined where there is
 * none.
 */
export function tellUnsignedCalls(messages: readonly unknown[]): readonly unknown[] | undefined {
  /** Names of the tools, by the ids of the calls that were told. */
  const told = new Map<unknown, string>()
  const out: unknown[] = []
  /** Of the user message that takes the results of one turn. */
  let results: unknown[] | undefined
  let changed = false
  for (const message of messages) {
    if (isObject(message) && message['role'] === 'tool' && told.has(message['tool_call_id'])) {
      if (results === undefined) {
        results = []
        out.push({ role: 'user', content: results })
      }
      // One by one: a result may hold more parts than a call takes arguments.
      for (const part of partsOf(told.get(message['tool_call_id']), message['content'])) results.push(part)
      continue
    }
    results = undefined
    const calls = isObject(message) ? callsOf(message) : []
    if (!isObject(message) || calls.length === 0 || isFilled(message['reasoning_opaque'])) {
      for (const { id } of calls) told.delete(id)
      out.push(message)
      continue
    }
    changed = true
    for (const { id, name } of calls) told.set(id, name)
    const { tool_calls: _calls, content, ...rest } = message
    out.push({ ...rest, content: tellCalls(content, calls) })
  }
  return changed ? out : undefined
}

interface Call {
  readonly id: unknown
  readonly name: string
  readonly input: string
}

function callsOf({ role, tool_calls: calls }: JsonObject): readonly Call[] {
  if (role !== 'assistant') return []
  return objectsOf(calls).map(({ id, function: called, custom }) => {
    const { name, arguments: json, input } = isObject(called) ? called : isObject(custom) ? custom : {}
    return { id, name: textOf(name), input: textOf(json ?? input) }
  })
}

function tellCalls(content: unknown, calls: readonly Call[]): unknown {
  const text = calls.map(({ name, input }) => `[Called ${name} with ${input}]`).join('\n')
  if (Array.isArray(content)) return [...content, { type: 'text', text }]
  return isFilled(content) ? `${content}\n\n${text}` : text
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function partsOf(name: string | undefined, content: unknown): readonly unknown[] {
  const heading = `[Result of ${name}]`
  if (Array.isArray(content)) return [{ type: 'text', text: heading }, ...content]
  return [{ type: 'text', text: `${heading}\n${textOf(content)}` }]
}
