import type { CallerHeaders, CallerRequest } from '../dialect.ts'
import { refuseType, refuseValue } from '../engine/request/invalid.ts'
import { callerJsonLimits, isFilled, isObject, type JsonObject } from '../../json/json.ts'
import { createMemberCheck, parseBody } from '../engine/request/json-body.ts'
import { nameSession, promptsOf } from '../engine/request/conversation.ts'
import { findMedia } from '../engine/media/media-parts.ts'
import { ChatBody, chatBodyOf, type ChatMessage, chatRequest, type ChatOptions, type ChatRequest } from './wire.ts'
import { replaceMember } from '../../json/json-members.ts'
import { checkMessages } from './check-messages.ts'

/** More than any upstream takes; the model's own limit is in `engine/request/shared-checks.ts`. */
const MAX_TOOLS = 10_000

/**
 * Checks the body of POST /v1/chat/completions. The value keeps every key it came with.
 *
 * @param bytes the UTF-8 of `text`; encoding it again costs more than parsing it
 * @throws Fault `malformed_body` naming line and column, `invalid_request` naming the path and what was expected
 */
export function decodeChatRequest(
  text: string,
  bytes: Buffer,
  headers: CallerHeaders,
  options: ChatOptions,
): CallerRequest<ChatBody> {
  const { value, members } = parseBody(text, callerJsonLimits, bytes)
  checkRequest(value)
  return {
    model: value.model,
    stream: value.stream ?? false,
    ...findMedia(value.messages),
    hasAgentHistory: value.messages.some(isFromAgent),
    // Some clients put notes for the model after the user's prompt.
    endsWithUser: value.messages.findLast(({ role }) => role !== 'system' && role !== 'developer')?.role === 'user',
    toolCount: lengthOf(value.tools) + lengthOf(value.functions),
    offersSearch: isObject(value['web_search_options']),
    isCompaction: false,
    prompts: promptsOf(value.messages, ({ role }) => role === 'user'),
    sessionId: nameSession(headers, value['prompt_cache_key']),
    body: new ChatBody(bytes, value, members, options),
  }
}

const checkRequestMembers = createMemberCheck(chatRequest)

function checkRequest(value: unknown): asserts value is ChatRequest {
  if (!isObject(value)) refuseType('', 'a JSON object', value)
  checkToolCount(value)
  checkRequestMembers(value)
  checkMessages(value['messages'])
  const n = value['n'] ?? 1
  if (n !== 1) {
    refuseValue('n', `only n=1 is supported`, 'unsupported_value')
  }
}

/** Runs before the schema, which reports every wrong element. */
function checkToolCount({ tools, functions }: JsonObject): void {
  const count = lengthOf(tools) + lengthOf(functions)
  if (count <= MAX_TOOLS) return
  const path = lengthOf(tools) > 0 ? 'tools' : 'functions'
  refuseValue(path, `expected at most ${MAX_TOOLS} tools, got ${count}`, 'array_above_max_length')
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0
}

function isFromAgent(message: ChatMessage): boolean {
  return message.role === 'assistant' || message.role === 'tool' || message.role === 'function'
}

/**
 * Restores the opaque reasoning of earlier replies: many chat clients drop `reasoning_opaque`, and the model needs it back
 * with its calls (docs/copilot-wire.md, quirk 12). Keeps the caller's own values. Returns the same request if nothing is
 * missing.
 * @param recall the opaque value of the reply that made the call
 */
export function recallChatReasoning(
  request: CallerRequest,
  recall: (callId: string) => string | undefined,
): CallerRequest {
  const body = chatBodyOf(request)
  if (!body.value.messages.some((message) => recalledFor(message, recall) !== undefined)) return request
  return mapMessages(request, (message) => {
    const opaque = recalledFor(message, recall)
    return opaque === undefined ? message : { ...message, reasoning_opaque: opaque }
  })
}

/** Returns the request with each of its messages mapped. Splices the text: serialising it whole would round a 64-bit seed. */
export function mapMessages(request: CallerRequest, map: (message: ChatMessage) => ChatMessage): CallerRequest {
  const body = chatBodyOf(request)
  const messages = body.value.messages.map((message) => map(message))
  const { bytes, members } = replaceMember(body, 'messages', messages)
  return { ...request, body: new ChatBody(bytes, { ...body.value, messages }, members, body.options) }
}

function recalledFor(message: ChatMessage, recall: (callId: string) => string | undefined): string | undefined {
  if (message.role !== 'assistant' || isFilled(message['reasoning_opaque'])) return undefined
  for (const { id } of message.tool_calls ?? []) {
    const opaque = recall(id)
    if (opaque !== undefined) return opaque
  }
  return undefined
}
