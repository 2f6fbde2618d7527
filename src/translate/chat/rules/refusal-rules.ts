import { isFilled, isObject, type JsonObject, textOf, objectOf } from '../../../json/json.ts'
import { removeAt } from '../../engine/learned-refusals.ts'
import { mapMessages } from '../request-changes.ts'
import type { ChatMessage, ChatPart } from '../wire.ts'
import { NO_CACHE_MARKS, OWN_CALLS_ONLY, UNREADABLE_REASONING } from './learned-refusals.ts'
import type { Rule } from './rule.ts'

/**
 * What upstream refused of this request or this model, beyond fields of the top level. Without warnings: the refusal's own tells
 * the caller. Run after the rules about messages.
 */
export const refusalRules: readonly Rule[] = [
  {
    name: 'reasoning that the model cannot read left out',
    source: 'parameters, reasoning of others: the refusal does not name the message',
    applies: ({ learnedRefusals }) => learnedRefusals.has(UNREADABLE_REASONING),
    adapt: ({ body: { messages } }) => mapMessages(messages, withoutReasoning, () => []),
  },
  {
    name: 'calls without their reasoning as text',
    source: 'parameters, calls of others: quirk 12, such a model refuses calls that it did not make',
    applies: ({ learnedRefusals }) => learnedRefusals.has(OWN_CALLS_ONLY),
    adapt: ({ body: { messages } }) => {
      const described = unsignedCallsAsText(messages)
      return described && { patch: { messages: described }, warnings: [] }
    },
  },
  {
    name: 'no cache marks',
    source: 'parameters, refusals by name',
    applies: ({ learnedRefusals }) => learnedRefusals.has(NO_CACHE_MARKS),
    adapt: ({ body }) => {
      const bare = removeAt(body, 'messages[].copilot_cache_control', 'tools[].copilot_cache_control')
      return bare === body ? undefined : { patch: bare, warnings: [] }
    },
  },
]

function withoutReasoning(message: ChatMessage): ChatMessage {
  if (!Object.hasOwn(message, 'reasoning_opaque')) return message
  const { reasoning_opaque: _opaque, reasoning_text: _text, reasoning_content: _content, ...others } = message
  return others
}

/** Converts every call without `reasoning_opaque`, and its result, to text. Undefined if there is no such call. */
function unsignedCallsAsText(messages: readonly ChatMessage[]): readonly ChatMessage[] | undefined {
  /** Tool names by the ids of the calls that became text. */
  const names = new Map<string | undefined, string>()
  const out: ChatMessage[] = []
  /** Content of the user message with the results of one turn. */
  let results: ChatPart[] | undefined
  let changed = false
  for (const message of messages) {
    const { role, content, tool_calls: sent, tool_call_id: resultOf, ...others } = message
    const name = role === 'tool' ? names.get(resultOf) : undefined
    if (name !== undefined) {
      if (results === undefined) {
        results = []
        out.push({ role: 'user', content: results })
      }
      // One by one, because too many arguments would overflow the stack.
      for (const part of partsOf(name, content)) results.push(part)
      continue
    }
    results = undefined
    const calls = role === 'assistant' ? (sent ?? []) : []
    if (calls.length === 0 || isFilled(message['reasoning_opaque'])) {
      for (const { id } of calls) names.delete(id)
      out.push(message)
      continue
    }
    changed = true
    for (const call of calls) names.set(call.id, describe(call).name)
    out.push({ role, ...others, content: withCallsAsText(content, calls) })
  }
  return changed ? out : undefined
}

function describe({ function: called, custom }: JsonObject): { readonly name: string; readonly input: string } {
  const { name, arguments: json, input } = isObject(called) ? called : objectOf(custom)
  return { name: textOf(name), input: textOf(json ?? input) }
}

function withCallsAsText(content: ChatMessage['content'], calls: readonly JsonObject[]): ChatMessage['content'] {
  const described = calls.map(describe)
  const text = described.map(({ name, input }) => `[Called ${name} with ${input}]`).join('\n')
  if (typeof content === 'object' && content !== null) return [...content, { type: 'text', text }]
  return isFilled(content) ? `${content}\n\n${text}` : text
}

function partsOf(name: string, content: ChatMessage['content']): readonly ChatPart[] {
  const heading = `[Result of ${name}]`
  if (typeof content === 'object' && content !== null) return [{ type: 'text', text: heading }, ...content]
  return [{ type: 'text', text: `${heading}\n${textOf(content)}` }]
}
