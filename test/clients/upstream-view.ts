import type { CodexRoute } from '../upstreams/codex/routes.ts'
import type { CopilotRoute } from '../upstreams/copilot/routes.ts'
import type { Proxy } from '../http/harness.ts'

type Fields = Readonly<Record<string, unknown>>

interface ToolCall {
  readonly id: unknown
  readonly name: unknown
  readonly arguments: string
  readonly result: string | undefined
}

/** Paths of both simulated upstreams. */
export type UpstreamRoute = CopilotRoute | CodexRoute

/** A request for an answer, as the simulated Copilot or Codex received it. */
export interface Generation {
  readonly route: UpstreamRoute
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  readonly model: unknown
  /** Calls of tools in the history, by id: what was asked for and what came of it, as JSON. */
  readonly calls: readonly ToolCall[]
  /** Reasoning that only upstream can read. */
  readonly thoughts: readonly unknown[]
  /** Names of the offered tools. */
  readonly tools: readonly unknown[]
}

const GENERATING: ReadonlySet<UpstreamRoute> = new Set<UpstreamRoute>([
  '/chat/completions',
  '/responses',
  '/v1/messages',
  '/backend-api/codex/responses',
  '/v1/responses',
])

/** Of both upstreams, the oldest of each first. */
export function generationsOf({ demo, codex }: Pick<Proxy, 'demo' | 'codex'>): readonly Generation[] {
  return [...demo.log, ...codex.log]
    .filter(({ route }) => GENERATING.has(route))
    .map(({ route, headers, body }) => {
      const request: Fields = JSON.parse(body)
      const found = [...objectsIn([request['messages'], request['input']])]
      return {
        route,
        headers,
        text: body,
        model: request['model'],
        calls: callsIn(found),
        thoughts: found.flatMap(thoughtOf),
        tools: [...objectsIn(request['tools'])].flatMap(({ name }) => name ?? []),
      }
    })
}

function* objectsIn(value: unknown): Generator<Fields> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value as Fields
  for (const each of Object.values(value)) yield* objectsIn(each)
}

function callsIn(found: readonly Fields[]): readonly ToolCall[] {
  const results = new Map(found.flatMap(resultOf))
  return found.flatMap(callOf).map(({ id, name, given }) => ({ id, name, arguments: given, result: results.get(id) }))
}

/** `tool_use` of Messages, `function_call` of Responses, `tool_calls` of Chat. */
function callOf({ type, id, call_id: callId, name, input, arguments: given, function: called }: Fields) {
  if (type === 'tool_use') return [{ id, name, given: JSON.stringify(input) }]
  if (type === 'function_call') return [{ id: callId, name, given: String(given) }]
  if (type !== 'function') return []
  const { name: calledName, arguments: text } = called as Fields
  return [{ id, name: calledName, given: String(text) }]
}

/** `tool_result` of Messages, `function_call_output` of Responses, `role: tool` of Chat. */
function resultOf(fields: Fields): readonly (readonly [unknown, string])[] {
  const { type, role, content, output } = fields
  if (type === 'tool_result') return [[fields['tool_use_id'], JSON.stringify(content)]]
  if (type === 'function_call_output') return [[fields['call_id'], JSON.stringify(output)]]
  return role === 'tool' ? [[fields['tool_call_id'], JSON.stringify(content)]] : []
}

function thoughtOf(fields: Fields): readonly unknown[] {
  const { type, signature, encrypted_content: encrypted, reasoning_opaque: opaque } = fields
  if (type === 'thinking') return [signature]
  if (type === 'reasoning') return [encrypted]
  return opaque === undefined ? [] : [opaque]
}
