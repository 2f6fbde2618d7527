import { chatEndpoint, messagesEndpoint, responsesEndpoint } from '../../../src/models/endpoints.ts'
import { isObject, objectsOf, type JsonObject } from '../../../src/json/json.ts'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'

/** A call of a tool, as a wire names it. */
export interface NamedCall {
  readonly type: 'function' | 'custom'
  readonly name: string
  readonly namespace?: string
}

/** What upstream answers: a text, then one call of each tool. */
interface Answer {
  readonly text: string
  readonly calls: readonly NamedCall[]
}

const named = (event: JsonObject): string => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`

function chunk(delta: JsonObject, reason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: reason }]
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', created: 1, model: 'm', choices })}\n\n`
}

/** The event stream of an answer, as upstreams of the dialect write it. */
const streamOf: Readonly<Record<UpstreamDialectId, (answer: Answer) => string>> = {
  chat({ text, calls }) {
    return [
      chunk({ role: 'assistant', content: text }),
      ...calls.map(({ type, name }, index) => {
        const called = type === 'custom' ? { custom: { name, input: 'x' } } : { function: { name, arguments: '{}' } }
        return chunk({ tool_calls: [{ index, id: `call_${index}`, type, ...called }] })
      }),
      chunk({}, calls.length === 0 ? 'stop' : 'tool_calls'),
      'data: [DONE]\n\n',
    ].join('')
  },
  messages({ text, calls }) {
    const block = (index: number, start: JsonObject, delta: JsonObject) =>
      [
        { type: 'content_block_start', index, content_block: start },
        { type: 'content_block_delta', index, delta },
        { type: 'content_block_stop', index },
      ]
        .map(named)
        .join('')
    return [
      named({ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', content: [] } }),
      block(0, { type: 'text', text: '' }, { type: 'text_delta', text }),
      ...calls.map(({ name }, at) =>
        block(
          at + 1,
          { type: 'tool_use', id: `toolu_${at}`, name, input: {} },
          { type: 'input_json_delta', partial_json: '{}' },
        ),
      ),
      named({ type: 'message_delta', delta: { stop_reason: calls.length === 0 ? 'end_turn' : 'tool_use' } }),
      named({ type: 'message_stop' }),
    ].join('')
  },
  responses({ text, calls }) {
    const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' }
    const output = [
      { ...message, content: [{ type: 'output_text', text, annotations: [] }] },
      ...calls.map(({ type, name, namespace }, at) => ({
        id: `fc_${at}`,
        status: 'completed',
        call_id: `call_${at}`,
        name,
        ...(namespace !== undefined && { namespace }),
        ...(type === 'custom' ? { type: 'custom_tool_call', input: 'x' } : { type: 'function_call', arguments: '{}' }),
      })),
    ]
    const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'in_progress', output: [] }
    return [
      { type: 'response.created', response },
      { type: 'response.output_item.added', output_index: 0, item: { ...message, status: 'in_progress', content: [] } },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'msg_1', delta: text },
      ...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
      { type: 'response.completed', response: { ...response, status: 'completed', output } },
    ]
      .map((event, sequence_number) => named({ ...event, sequence_number }))
      .join('')
  },
}

/** The tools that a request offers, by the names in its body. Tools that upstream runs itself are left out. */
export function offeredTools(body: JsonObject): readonly NamedCall[] {
  return objectsOf(body['tools']).flatMap((tool) => callsNamed(tool))
}

function callsNamed(tool: JsonObject, namespace?: string): readonly NamedCall[] {
  const { type, tools } = tool
  if (type === 'namespace') return objectsOf(tools).flatMap((inner) => callsNamed(inner, String(tool['name'])))
  if (type !== undefined && type !== 'function' && type !== 'custom') return []
  const inner = tool['function'] ?? tool['custom'] ?? tool
  const name = isObject(inner) ? inner['name'] : undefined
  // A tool of the Messages API states no type.
  const kind = type === 'custom' && !('input_schema' in tool) ? 'custom' : 'function'
  return typeof name === 'string' ? [{ type: kind, name, ...(namespace !== undefined && { namespace }) }] : []
}

/** The calls in a reply to a caller of any dialect, in the order of their first mention. */
export function callsIn(reply: string): readonly NamedCall[] {
  const calls = new Map<string, NamedCall>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit)
    if (!isObject(value)) return
    const { type, name, namespace, call_id: callId, id } = value
    const key = String(callId ?? id)
    if (type === 'tool_use' || type === 'function_call' || type === 'custom_tool_call') {
      calls.set(key, {
        type: type === 'custom_tool_call' ? 'custom' : 'function',
        name: String(name),
        ...(typeof namespace === 'string' && { namespace }),
      })
    } else if (type === 'function' || type === 'custom') {
      const called = value[type]
      if (isObject(called) && id !== undefined) calls.set(key, { type, name: String(called['name']) })
    } else Object.values(value).forEach(visit)
  }
  payloadsOf(reply).forEach(visit)
  return [...calls.values()]
}

/** The JSON values of a reply, be it an event stream or one body. */
function payloadsOf(reply: string): readonly unknown[] {
  if (reply.startsWith('{')) return [JSON.parse(reply)]
  const decoder = createSseDecoder()
  const events = [...decoder.push(Buffer.from(reply)), ...decoder.end()]
  return events.flatMap(({ data }): readonly unknown[] => (data.startsWith('{') ? [JSON.parse(data)] : []))
}

/** All text of a reply to a caller. */
export function textIn(reply: string): string {
  const visit = (value: unknown): string => {
    if (Array.isArray(value)) return value.map(visit).join('')
    if (!isObject(value)) return ''
    const { type, text, delta, content } = value
    if (type === 'response.output_text.delta') return String(delta)
    if (typeof type === 'string' && type.startsWith('response.')) return ''
    if (typeof text === 'string' && (type === 'text' || type === 'text_delta' || type === 'output_text')) return text
    if (typeof content === 'string' && type === undefined) return content
    return Object.values(value).map(visit).join('')
  }
  return payloadsOf(reply).map(visit).join('')
}

/** Upstream's answer to a request: the text, and a call of each tool that the request offers. */
export function answerTo(path: string, body: string, text: string): string {
  const dialect = dialectOf[path]
  if (dialect === undefined) throw new Error(`no dialect has the path ${path}`)
  const request: unknown = JSON.parse(body)
  return streamOf[dialect]({ text, calls: isObject(request) ? offeredTools(request) : [] })
}

const dialectOf: Readonly<Record<string, UpstreamDialectId>> = {
  [chatEndpoint]: 'chat',
  [messagesEndpoint]: 'messages',
  [responsesEndpoint]: 'responses',
}

/** The stop sequences of a caller's request. */
export function stopsOf(body: string): readonly string[] {
  const request: unknown = JSON.parse(body)
  if (!isObject(request)) return []
  const stops = request['stop_sequences'] ?? request['stop'] ?? []
  return (Array.isArray(stops) ? stops : [stops]).filter((stop) => typeof stop === 'string')
}
