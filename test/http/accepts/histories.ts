import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { isObject, objectsOf } from '../../../src/json/json.ts'
import { tool } from './table.ts'
import type { Json, Outcome } from './table.ts'

// Conversations in the callers' APIs, and what of them reached upstream.

const anything = { type: 'object', properties: { n: { type: 'integer' } } }

/** An earlier call and its result. */
interface Round {
  readonly id: string
  readonly arguments: string
  /** Members of the assistant's message. */
  readonly more?: Json
}

/** A chat request of a prompt, rounds with a call of `f` each, and a last prompt unless `isOpen`. */
export function chatRounds(rounds: readonly Round[], { isOpen = false, ...more }: Json = {}): Json {
  return {
    ...more,
    tools: [tool('chat', 'f', anything)],
    messages: [
      { role: 'user', content: 'go' },
      ...rounds.flatMap(({ id, arguments: text, more: members }, at) => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: text } }],
          ...members,
        },
        { role: 'tool', tool_call_id: id, content: `result ${at}` },
      ]),
      ...(isOpen === true ? [] : [{ role: 'user', content: 'next' }]),
    ],
  }
}

/** A Messages request of a prompt, a call of `f`, its result and a last prompt. */
export function messagesRound(id: string, { before = [], result = 'result 0', ...more }: Json = {}): Json {
  const earlier = Array.isArray(before) ? before : []
  return {
    max_tokens: 4000,
    ...more,
    tools: [tool('messages', 'f', anything)],
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [...earlier, { type: 'tool_use', id, name: 'f', input: { n: 0 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: result }] },
    ],
  }
}

/** A Responses request of a prompt, a call of `f`, its result and a last prompt. */
export function responsesRound(id: string, text: string, more: Json = {}): Json {
  return {
    ...more,
    tools: [tool('responses', 'f', anything)],
    input: [
      { role: 'user', content: 'go' },
      { type: 'function_call', call_id: id, name: 'f', arguments: text },
      { type: 'function_call_output', call_id: id, output: 'result 0' },
      { role: 'user', content: 'next' },
    ],
  }
}

/** Messages of a chat request that upstream got. */
export function sentMessages({ sent }: Outcome): readonly Json[] {
  return objectsOf(sent['messages'])
}

/** The calls of a chat request that upstream got: ids of the calls, ids of the results, arguments. */
export function sentCalls(outcome: Outcome) {
  const messages = sentMessages(outcome)
  const calls = messages.flatMap(({ tool_calls: own }) => objectsOf(own))
  return {
    ids: calls.map(({ id }) => String(id)),
    results: messages.filter(({ role }) => role === 'tool').map(({ tool_call_id: id }) => String(id)),
    arguments: calls.map(({ function: given }) => String(isObject(given) ? given['arguments'] : '')),
  }
}

/** An image part in the caller's form. */
export function imagePart(caller: UpstreamDialectId, data: string, type = 'image/png', detail?: string): Json {
  const url = `data:${type};base64,${data}`
  const more = detail === undefined ? {} : { detail }
  switch (caller) {
    case 'chat':
      return { type: 'image_url', image_url: { url, ...more } }
    case 'responses':
      return { type: 'input_image', image_url: url, ...more }
    case 'messages':
      return { type: 'image', source: { type: 'base64', media_type: type, data } }
  }
}

export function textPart(caller: UpstreamDialectId, text: string): Json {
  return { type: caller === 'responses' ? 'input_text' : 'text', text }
}

/** A request whose messages are given by the user and the assistant in turns, the user first. */
export function turns(caller: UpstreamDialectId, ...contents: readonly (string | readonly Json[])[]): Json {
  const messages = contents.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }))
  if (caller === 'responses') return { input: messages }
  return caller === 'chat' ? { messages } : { max_tokens: 1000, messages }
}
