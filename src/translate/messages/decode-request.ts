import { Fault } from '../../errors.ts'
import type { CallerHeaders, CallerRequest } from '../dialect.ts'
import { formatPath, refuseType } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { parseBody } from '../parts/json-body.ts'
import { promptsOf } from '../parts/prompts.ts'
import { nameSession } from '../parts/session-headers.ts'
import { checkMessages, checkSystem } from './check-messages.ts'
import { checkTools } from './check-tools.ts'
import { sessionIdOf } from './session-id.ts'
import { isUserPrompt } from './user-prompt.ts'
import {
  isBlock,
  MessagesBody,
  messagesRequest,
  type MessagesBlock,
  type MessagesMessage,
  type MessagesRequest,
} from './wire-request.ts'

/**
 * Depth: beyond any real tool schema, far below what recursion in serialisers bears. Anthropic knows some 40 members. A
 * message with a text block counts 6 values, one with a tool call 10, so that 100,000 messages have room; `JSON.parse`
 * takes 0.1 s for so many, 0.7 s if all of them have keys of their own.
 */
const LIMITS = { maxDepth: 500, maxMembers: 1000, maxValues: 1_500_000 }

/**
 * Checks the body of POST /v1/messages. The value keeps every key it came with.
 *
 * @param bytes the UTF-8 that `text` was read from; encoding it again costs more than parsing it
 * @throws Fault `malformed_body` naming line and column, `invalid_request` naming the path and what was expected
 */
export function decodeMessagesRequest(
  text: string,
  bytes: Buffer = Buffer.from(text),
  headers: CallerHeaders = {},
): CallerRequest<MessagesBody> {
  const request = decodeCountRequest(text, bytes, headers)
  const { max_tokens: maxTokens } = request.body.value
  if (typeof maxTokens !== 'number') refuseType('max_tokens', 'an integer', maxTokens)
  return request
}

/**
 * Checks the body of POST /v1/messages/count_tokens: the same without `max_tokens`.
 *
 * @throws Fault as `decodeMessagesRequest`
 */
export function decodeCountRequest(
  text: string,
  bytes: Buffer = Buffer.from(text),
  headers: CallerHeaders = {},
): CallerRequest<MessagesBody> {
  // As many bytes as characters: the text is ASCII and is its own latin1 reading.
  const latin1 = text.length === bytes.length ? text : bytes.toString('latin1')
  const { value, members } = parseBody(text, LIMITS, latin1)
  checkRequest(value)
  return {
    model: value.model,
    stream: value.stream ?? false,
    wantsUsage: true,
    hasImage: value.messages.some(({ content }) => holdsImage(content)),
    hasAgentHistory: value.messages.some(isFromAgent),
    endsWithUser: endsWithUser(value.messages),
    hasTools: (value.tools?.length ?? 0) > 0,
    isCompaction: false,
    prompts: promptsOf(value.messages, isUserPrompt),
    sessionId: nameSession(headers, sessionIdOf(value.metadata?.user_id)),
    body: new MessagesBody(bytes, value, members, betasOf(headers['anthropic-beta'])),
  }
}

function checkRequest(value: unknown): asserts value is MessagesRequest {
  if (!isObject(value)) refuseType('', 'a JSON object', value)
  refuseThread(value)
  // Only the verdict is used: zod's copy of the object puts known keys first.
  const issue = messagesRequest.safeParse(value).error?.issues[0]
  if (issue) refuseType(formatPath(issue.path), issue.message, valueAt(value, issue.path))
  checkMessages(value['messages'])
  checkSystem(value['system'])
  checkTools(value['tools'])
}

/**
 * A conversation kept by the server (beta `message-threads-2026-08-12`). Left out, it would silently lose everything said
 * before; the official SDK's tool runner sends the whole conversation instead when it reads these details. Source:
 * `@anthropic-ai/sdk` 1.11.0, `lib/internal/threads`.
 */
function refuseThread({ thread }: JsonObject): void {
  if (thread === undefined || thread === null) return
  throw new Fault({
    kind: 'invalid_request',
    path: 'thread',
    detail: 'threads are not supported here, send the whole conversation in messages',
    code: 'unsupported_parameter',
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  })
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => {
    return typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined
  }, value)
}

/** `a,b` and repeated headers, which Node joins or lists. */
function betasOf(header: string | readonly string[] | undefined): readonly string[] {
  const lists = typeof header === 'string' ? [header] : (header ?? [])
  return lists
    .flatMap((list) => list.split(','))
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '')
}

/** An image is there, or in a tool result or document. */
function holdsImage(content: unknown): boolean {
  return Array.isArray(content) && content.some(isOrHoldsImage)
}

function isOrHoldsImage(block: unknown): boolean {
  if (!isObject(block)) return false
  if (block['type'] === 'image') return true
  return holdsImage(block['content']) || (isObject(block['source']) && holdsImage(block['source']['content']))
}

function isFromAgent({ role, content }: MessagesMessage): boolean {
  return (
    role === 'assistant' ||
    (Array.isArray(content) && content.some((block: MessagesBlock) => isBlock(block, 'tool_result')))
  )
}

/** Claude Code puts `system` messages behind the user's. */
function endsWithUser(messages: readonly MessagesMessage[]): boolean {
  const last = messages.findLast(({ role }) => role !== 'system')
  return last !== undefined && isUserPrompt(last)
}
