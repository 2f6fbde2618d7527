import { isFilled, isObject, type JsonObject, objectsOf } from '../../../json/json.ts'

/**
 * Converts every call without `reasoning_opaque`, and its result, to text. A model that needs its thoughts back refuses
 * calls that it did not make (docs/copilot-wire.md, quirk 12). Undefined if there is no such call.
 */
export function unsignedCallsAsText(messages: readonly unknown[]): readonly unknown[] | undefined {
  /** Tool names by the ids of the calls that became text. */
  const names = new Map<unknown, string>()
  const out: unknown[] = []
  /** Content of the user message with the results of one turn. */
  let results: unknown[] | undefined
  let changed = false
  for (const message of messages) {
    if (isObject(message) && message['role'] === 'tool' && names.has(message['tool_call_id'])) {
      if (results === undefined) {
        results = []
        out.push({ role: 'user', content: results })
      }
      // One by one, because too many arguments would overflow the stack.
      for (const part of partsOf(names.get(message['tool_call_id']), message['content'])) results.push(part)
      continue
    }
    results = undefined
    const calls = isObject(message) ? callsOf(message) : []
    if (!isObject(message) || calls.length === 0 || isFilled(message['reasoning_opaque'])) {
      for (const { id } of calls) names.delete(id)
      out.push(message)
      continue
    }
    changed = true
    for (const { id, name } of calls) names.set(id, name)
    const { tool_calls: _calls, content, ...others } = message
    out.push({ ...others, content: withCallsAsText(content, calls) })
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

function withCallsAsText(content: unknown, calls: readonly Call[]): unknown {
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
