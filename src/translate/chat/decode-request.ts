import { Fault } from '../../errors.ts'
import type { CallerRequest } from '../dialect.ts'
import { checkMessages } from './check-messages.ts'
import { partTypeOf } from './content-parts.ts'
import { formatPath, refuseType, refuseValue } from './invalid.ts'
import { jsonFaultAt, lineAndColumn } from './json-fault.ts'
import { scanMembers, type ScanLimits } from './members.ts'
import { ChatBody, chatRequest, type ChatMessage, type ChatRequest } from './wire-request.ts'

/** Depth: beyond any real tool schema, far below what recursion in serialisers bears. OpenAI knows some 40 members. */
const LIMITS = { maxDepth: 500, maxMembers: 1000 }

/**
 * Checks the body of POST /v1/chat/completions. The value keeps every key it came with.
 *
 * @param bytes the UTF-8 that `text` was read from; encoding it again costs more than parsing it
 * @throws Fault `malformed_body` naming line and column, `invalid_request` naming the path and what was expected
 */
export function decodeChatRequest(text: string, bytes: Buffer = Buffer.from(text)): CallerRequest<ChatBody> {
  // As many bytes as characters: the text is ASCII and is its own latin1 reading.
  const scan = scanMembers(text.length === bytes.length ? text : bytes.toString('latin1'), LIMITS)
  if (!scan.ok) refuseScan(scan.exceeded)
  const value = parseJson(text)
  checkRequest(value)
  return {
    model: value.model,
    stream: value.stream ?? false,
    wantsUsage: value.stream_options?.include_usage === true,
    hasImage: value.messages.some(hasImage),
    hasAgentHistory: value.messages.some(isFromAgent),
    endsWithUser: value.messages.at(-1)?.role === 'user',
    body: new ChatBody(bytes, value, scan.members),
  }
}

function refuseScan(exceeded: keyof ScanLimits): never {
  if (exceeded === 'maxDepth') refuseValue('', `JSON nested deeper than ${LIMITS.maxDepth} levels`, 'nesting_too_deep')
  refuseValue('', `more than ${LIMITS.maxMembers} top-level members`, 'too_many_members')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Without a cause: V8's message quotes the body, and causes are logged.
    throw new Fault({ kind: 'malformed_body', detail: faultDetail(text) })
  }
}

/** Says where, and nothing of what: the body may hold anything. */
function faultDetail(text: string): string {
  if (text.trim() === '') return 'the body is empty, expected a JSON object'
  const at = jsonFaultAt(text) ?? 0
  const { line, column } = lineAndColumn(text, at)
  const place = `line ${line}, column ${column} (position ${at})`
  return at === text.length ? `the JSON ends too early, at ${place}` : `not valid JSON at ${place}`
}

function checkRequest(value: unknown): asserts value is ChatRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuseType('', 'a JSON object', value)
  // Only the verdict is used: zod's copy of the object puts known keys first.
  const { data, error } = chatRequest.safeParse(value)
  const issue = error?.issues[0]
  if (issue) refuseType(formatPath(issue.path), issue.message, valueAt(value, issue.path))
  checkMessages(data?.messages)
  const n = data?.n ?? 1
  if (n !== 1) {
    refuseValue('n', `expected 1, got ${n}: one answer per request is all that upstream gives`, 'unsupported_value')
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value)
}

function isRecord(value: unknown): value is Readonly<Record<PropertyKey, unknown>> {
  return typeof value === 'object' && value !== null
}

function hasImage(message: ChatMessage): boolean {
  return Array.isArray(message.content) && message.content.some((part) => partTypeOf(part) === 'image_url')
}

function isFromAgent(message: ChatMessage): boolean {
  return message.role === 'assistant' || message.role === 'tool' || message.role === 'function'
}
