import type { CallerHeaders, CallerRequest } from '../dialect.ts'
import { formatPath, refuseType, refuseValue } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { parseBody } from '../parts/json-body.ts'
import { promptsOf } from '../parts/prompts.ts'
import { nameSession } from '../parts/session-headers.ts'
import { checkMessages } from './check-messages.ts'
import { isImagePart } from './content-parts.ts'
import { ChatBody, chatRequest, type ChatMessage, type ChatRequest } from './wire-request.ts'

/**
 * Depth: beyond any real tool schema, far below what recursion in serialisers bears. OpenAI knows some 40 members. A
 * message with a text part counts 6 values, one with a tool call 10, so that 100,000 messages have room; `JSON.parse`
 * takes 0.1 s for so many, 0.7 s if all of them have keys of their own.
 */
const LIMITS = { maxDepth: 500, maxMembers: 1000, maxValues: 1_500_000 }

/** More than any upstream takes. What this one takes is known once the model is (`parts/tool-limit.ts`). */
const MAX_TOOLS = 10_000

/**
 * Checks the body of POST /v1/chat/completions. The value keeps every key it came with.
 *
 * @param bytes the UTF-8 that `text` was read from; encoding it again costs more than parsing it
 * @throws Fault `malformed_body` naming line and column, `invalid_request` naming the path and what was expected
 */
export function decodeChatRequest(
  text: string,
  bytes: Buffer = Buffer.from(text),
  headers: CallerHeaders = {},
): CallerRequest<ChatBody> {
  // As many bytes as characters: the text is ASCII and is its own latin1 reading.
  const latin1 = text.length === bytes.length ? text : bytes.toString('latin1')
  const { value, members } = parseBody(text, LIMITS, latin1)
  checkRequest(value)
  return {
    model: value.model,
    stream: value.stream ?? false,
    wantsUsage: value.stream_options?.include_usage === true,
    hasImage: value.messages.some(hasImage),
    hasAgentHistory: value.messages.some(isFromAgent),
    // Some clients put notes to the model behind the user's prompt.
    endsWithUser: value.messages.findLast(({ role }) => role !== 'system' && role !== 'developer')?.role === 'user',
    hasTools: lengthOf(value.tools) + lengthOf(value.functions) > 0,
    isCompaction: false,
    prompts: promptsOf(value.messages, ({ role }) => role === 'user'),
    sessionId: nameSession(headers, value['prompt_cache_key']),
    body: new ChatBody(bytes, value, members),
  }
}

function checkRequest(value: unknown): asserts value is ChatRequest {
  if (!isObject(value)) refuseType('', 'a JSON object', value)
  checkToolCount(value)
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

/** Before the schema looks at them: it reports on every element that is wrong. */
function checkToolCount({ tools, functions }: JsonObject): void {
  const count = lengthOf(tools) + lengthOf(functions)
  if (count <= MAX_TOOLS) return
  const path = lengthOf(tools) > 0 ? 'tools' : 'functions'
  refuseValue(path, `expected at most ${MAX_TOOLS} tools, got ${count}`, 'array_above_max_length')
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (isContainer(inner) ? inner[key] : undefined), value)
}

function isContainer(value: unknown): value is Readonly<Record<PropertyKey, unknown>> {
  return typeof value === 'object' && value !== null
}

function hasImage(message: ChatMessage): boolean {
  return Array.isArray(message.content) && message.content.some(isImagePart)
}

function isFromAgent(message: ChatMessage): boolean {
  return message.role === 'assistant' || message.role === 'tool' || message.role === 'function'
}
