import { Fault } from '../../errors.ts'
import type { Received, CallerRequest } from '../dialect.ts'
import { refuseType } from '../engine/request/invalid.ts'
import { callerJsonLimits, isObject, parseObject } from '../../json/json.ts'
import type { JsonObject } from '../../json/json.ts'
import { createMemberCheck, parseBody } from '../engine/request/json-body.ts'
import { nameSession, promptsOf } from '../engine/request/conversation.ts'
import { findMedia } from '../engine/media/media-parts.ts'
import { isUserPrompt } from './content.ts'
import { MessagesBody, isBlock, messagesRequest } from './wire.ts'
import type { MessagesBlock, MessagesMessage, MessagesRequest } from './wire.ts'
import { checkMessages, checkSystem, checkTools } from './check-request.ts'
import { createKnownTools } from '../engine/request/known-tools.ts'

const withKnownTools = createKnownTools()

/**
 * Checks the body of POST /v1/messages. The value keeps every key it came with.
 *
 * @param bytes the UTF-8 that `text` was read from; encoding it again costs more than parsing it
 * @throws Fault `malformed_body` naming line and column, `invalid_request` naming the path and what was expected
 */
export function decodeMessagesRequest(text: string, received?: Received): CallerRequest<MessagesBody> {
  const request = decodeCountRequest(text, received)
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
  { bytes = Buffer.from(text), headers = {} }: Received = {},
): CallerRequest<MessagesBody> {
  const { value: parsed, members } = parseBody(text, callerJsonLimits, bytes)
  const value = withKnownTools(parsed, bytes, members)
  checkRequest(value)
  return {
    model: value.model,
    stream: value.stream ?? false,
    ...findMedia(value.messages),
    hasAgentHistory: value.messages.some(isFromAgent),
    endsWithUser: endsWithUser(value.messages),
    toolCount: value.tools?.length ?? 0,
    offersSearch: value.tools?.some(({ type }) => type?.startsWith('web_search_') === true) === true,
    isCompaction: false,
    prompts: promptsOf(value.messages, isUserPrompt),
    sessionId: nameSession(headers, sessionIdOf(value.metadata?.user_id)),
    body: new MessagesBody(bytes, value, members, betasOf(headers['anthropic-beta'])),
  }
}

const checkRequestMembers = createMemberCheck(messagesRequest)

function checkRequest(value: unknown): asserts value is MessagesRequest {
  if (!isObject(value)) refuseType('', 'a JSON object', value)
  refuseThread(value)
  checkRequestMembers(value)
  checkMessages(value['messages'])
  checkSystem(value['system'])
  checkTools(value['tools'])
}

/**
 * Refuses a conversation that the server stores (beta `message-threads-2026-08-12`), because its earlier messages would
 * be lost. The official SDK's tool runner sends the full conversation when it reads these details. Source:
 * `@anthropic-ai/sdk` 1.11.0, `lib/internal/threads`.
 */
function refuseThread({ thread }: JsonObject): void {
  if (thread === undefined || thread === null) return
  throw new Fault({
    kind: 'invalid_request',
    path: 'thread',
    detail: 'threads are not supported; send the whole conversation in messages',
    code: 'unsupported_parameter',
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  })
}

/** Parses `a,b` and repeated headers, which Node joins or lists. */
function betasOf(header: string | readonly string[] | undefined): readonly string[] {
  const lists = typeof header === 'string' ? [header] : (header ?? [])
  return lists
    .flatMap((list) => list.split(','))
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '')
}

function isFromAgent({ role, content }: MessagesMessage): boolean {
  return (
    role === 'assistant' ||
    (Array.isArray(content) && content.some((block: MessagesBlock) => isBlock(block, 'tool_result')))
  )
}

/** Claude Code sends `system` messages after the user's. */
function endsWithUser(messages: readonly MessagesMessage[]): boolean {
  const last = messages.findLast(({ role }) => role !== 'system')
  return last !== undefined && isUserPrompt(last)
}

/** OpenAI's limit for a cache key, which the id becomes. */
const MAX_LENGTH = 64
/** No client's `user_id` is longer. A longer one is not parsed. */
const LONGEST_USER_ID = 4096

/**
 * The session in `metadata.user_id`: Claude Code writes JSON with a `session_id`; earlier versions wrote
 * `user_…_account_…_session_…`. Undefined for any other id, which names a person.
 */
function sessionIdOf(userId: string | null | undefined): string | undefined {
  if (typeof userId !== 'string' || userId.length > LONGEST_USER_ID) return undefined
  const session = parseObject(userId)?.['session_id'] ?? /_session_([\w-]+)$/.exec(userId)?.[1]
  return typeof session === 'string' && session !== '' ? session.slice(0, MAX_LENGTH) : undefined
}
