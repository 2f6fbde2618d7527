import type { IncomingHttpHeaders } from 'node:http'
import { Fault, headersOf, retryAfterOf } from '../../errors.ts'
import type { ProxyError } from '../../errors.ts'
import { callerJsonLimits, isObject } from '../../json/json.ts'
import type { JsonObject } from '../../json/json.ts'
import { spliceMembers } from '../../json/json-members.ts'
import { parseBody } from '../../translate/engine/request/json-body.ts'
import { openAiErrorStatus, toOpenAiError } from '../../translate/engine/openai-error.ts'
import type { RequestBody } from '../body.ts'

/** A request in a message of the client. */
export interface CreateFrame {
  /** The request as `POST /v1/responses` takes it. */
  readonly body: RequestBody
  /** False: the client only prepares the next request, which continues this one. */
  readonly generates: boolean
  /** Statements about this request, as HTTP clients send them in headers. */
  readonly headers: IncomingHttpHeaders
}

/**
 * Members of a message that are no members of the request.
 * Source: Codex CLI 0.169.0 and Copilot CLI 1.0.102, as recorded on the wire.
 */
const frameMembers = ['type', 'generate', 'headers', 'initiator', 'agent_task_id', 'parent_agent_id'] as const

/** Headers that a message may state. Access is decided by the headers of the handshake alone. */
const statedHeaders: ReadonlySet<string> = new Set([
  'x-interaction-id',
  'x-interaction-type',
  'x-agent-task-id',
  'x-client-session-id',
  'copilot-harness-id',
])

/** Headers of Codex CLI that it states in the body instead, because one connection serves several requests. */
const metadataHeaders = ['x-openai-subagent', 'x-codex-parent-thread-id'] as const

/**
 * Reads a message. Undefined: it wants no answer.
 * @throws Fault `malformed_body`, `invalid_request`
 */
export function readFrame(text: string): CreateFrame | undefined {
  const bytes = Buffer.from(text)
  const { value, members } = parseBody(text, callerJsonLimits, bytes)
  if (!isObject(value)) throw invalid('', 'expected a JSON object', 'invalid_type')
  const { type, generate = true, stream_id: streamId } = value
  // The client has read an answer.
  if (type === 'response.processed') return undefined
  if (type !== 'response.create') throw invalid('type', 'expected "response.create"', 'invalid_value')
  if (typeof generate !== 'boolean') throw invalid('generate', 'expected true or false', 'invalid_type')
  if (streamId !== undefined && streamId !== null) {
    throw invalid('stream_id', 'a connection runs one request at a time; open another one', 'unsupported_parameter')
  }
  const edits = new Map<string, unknown>(frameMembers.map((name) => [name, undefined]))
  edits.set('stream', true)
  const body = spliceMembers({ bytes, value, members }, edits)
  return { body: { bytes: body, text: body.toString('utf8') }, generates: generate, headers: headersIn(value) }
}

function headersIn({ headers, initiator, client_metadata: metadata }: JsonObject): IncomingHttpHeaders {
  const stated = isObject(headers) ? Object.entries(headers) : []
  const named = stated.map(([name, value]) => [name.toLowerCase(), value] as const)
  const inMetadata = isObject(metadata) ? metadataHeaders.map((name) => [name, metadata[name]] as const) : []
  return Object.fromEntries([
    ...[...named.filter(([name]) => statedHeaders.has(name)), ...inMetadata].flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
    ...(initiator === 'user' || initiator === 'agent' ? [['x-initiator', initiator]] : []),
  ])
}

function invalid(path: string, detail: string, code: string): Fault {
  return new Fault({ kind: 'invalid_request', path, detail, code })
}

/** The messages for complete events of a stream. Comments are left out. */
export function* messagesOf(events: string): Generator<string> {
  for (const event of events.split('\n\n')) {
    const data = event.split('\n').flatMap((line) => (line.startsWith('data: ') ? line.slice('data: '.length) : []))
    if (data.length > 0) yield data.join('\n')
  }
}

/** The message that has the headers of an answer, as OpenAI sends those that clients of a WebSocket cannot see otherwise. */
export function headersMessage(headers: Readonly<Record<string, string>>): string {
  return JSON.stringify({ type: 'response.metadata', headers })
}

/** The message for a failure before the first event. Source: docs/codex-wire.md, "WebSocket". */
export function errorMessage(error: ProxyError, requestId: string, headers: Readonly<Record<string, string>>): string {
  const retryAfter = retryAfterOf(error)
  return JSON.stringify({
    type: 'error',
    status: openAiErrorStatus(error),
    ...toOpenAiError(error, requestId),
    headers: { ...headers, ...headersOf(error), ...(retryAfter !== undefined && { 'retry-after': retryAfter }) },
  })
}
