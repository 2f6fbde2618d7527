import type { Received, CallerRequest } from '../dialect.ts'
import { refuseType, refuseValue } from '../engine/request/invalid.ts'
import { type JsonObject, callerJsonLimits, isObject, isGiven } from '../../json/json.ts'
import { createMemberCheck, parseBody } from '../engine/request/json-body.ts'
import { nameSession, promptsOf } from '../engine/request/conversation.ts'
import { findMedia } from '../engine/media/media-parts.ts'
import { conversationOf, isFromAgent, isUserMessage, itemTypeOf } from './items/item.ts'
import {
  isWebSearchType,
  type ChainLink,
  ResponsesBody,
  type ResponsesItem,
  type ResponsesRequest,
  responsesRequest,
} from './wire.ts'
import { checkInput, checkToolChoice, checkTools } from './check-request.ts'
import { createKnownTools } from '../engine/request/known-tools.ts'

const withKnownTools = createKnownTools()

/**
 * Checks the body of POST /v1/responses. The value keeps every key it came with.
 *
 * @param bytes the UTF-8 of `text`: encoding it again costs more than parsing it
 * @throws Fault `malformed_body` naming line and column, `invalid_request` naming the path and what was expected
 */
export function decodeResponsesRequest(
  text: string,
  { bytes = Buffer.from(text), headers = {} }: Received = {},
): CallerRequest<ResponsesBody> {
  const { value: parsed, members } = parseBody(text, callerJsonLimits, bytes)
  const value = withKnownTools(parsed, bytes, members)
  checkRequest(value)
  const input = toItems(value.input)
  const sessionId = nameSession(headers, value.prompt_cache_key)
  const chain: ChainLink = {
    previousId: value.previous_response_id || undefined,
    references: input.flatMap((item) => (itemTypeOf(item) === 'item_reference' ? idOf(item) : [])),
    keep: value.store !== false,
    input,
    inputChars: bytes.length,
  }
  const request = describeRequest(new ResponsesBody(bytes, value, members, chain))
  return sessionId === undefined ? request : { ...request, sessionId }
}

const checkRequestMembers = createMemberCheck(responsesRequest)

function checkRequest(value: unknown): asserts value is ResponsesRequest {
  if (!isObject(value)) refuseType('', 'a JSON object', value)
  checkRequestMembers(value)
  checkPresence(value)
  if (isGiven(value['input'])) checkInput(value['input'])
  if (isGiven(value['tools'])) checkTools(value['tools'], () => 'tools')
  checkToolChoice(value['tool_choice'])
  refuseStateful(value)
}

/** A request needs items, or a stored response to continue. */
function checkPresence({ input, previous_response_id, messages }: JsonObject): void {
  if (previous_response_id) return
  if (isGiven(input)) {
    if (Array.isArray(input) && input.length === 0) {
      refuseValue('input', 'expected at least one item, got an empty array', 'empty_array')
    }
    return
  }
  if (messages !== undefined) {
    refuseValue('messages', 'the Responses API uses input instead', 'unsupported_parameter')
  }
  refuseType('input', 'a string or an array of items', input)
}

/** Members that only a server with storage can honour. Dropping them would change the question. */
const STATEFUL = ['conversation', 'prompt'] as const

function refuseStateful(value: JsonObject): void {
  if (value['background'] === true) {
    refuseValue('background', 'background responses are not supported', 'unsupported_value')
  }
  for (const field of STATEFUL) {
    if (isGiven(value[field])) refuseValue(field, `stored ${field} are not supported`, 'unsupported_value')
  }
}

/** A string is short for one user message. */
function toItems(input: ResponsesRequest['input']): readonly ResponsesItem[] {
  if (typeof input !== 'string') return input ?? []
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

function idOf({ id }: ResponsesItem): readonly string[] {
  return typeof id === 'string' ? [id] : []
}

/** The request with the facts that routing and headers need. */
export function describeRequest(body: ResponsesBody): CallerRequest<ResponsesBody> {
  const input = toItems(body.value.input)
  const items = conversationOf(input)
  const last = items.at(-1)
  const tools = [...(body.value.tools ?? []), ...input.filter(bringsTools)]
  return {
    model: body.value.model,
    stream: body.value.stream ?? false,
    // Usage is part of every response object.
    ...findMedia(items),
    hasAgentHistory: items.some(isFromAgent),
    endsWithUser: last !== undefined && isUserMessage(last),
    toolCount: countTools(tools),
    offersSearch: hasSearch(tools),
    isCompaction: last !== undefined && itemTypeOf(last) === 'compaction_trigger',
    prompts: promptsOf(items, isUserMessage),
    body,
  }
}

function countTools(tools: unknown): number {
  if (!Array.isArray(tools)) return 0
  return tools.reduce((count: number, tool: unknown) => {
    const inner = isObject(tool) ? tool['tools'] : undefined
    return count + (Array.isArray(inner) ? countTools(inner) : 1)
  }, 0)
}

function hasSearch(tools: unknown): boolean {
  if (!Array.isArray(tools)) return false
  return tools.some((tool) => isObject(tool) && (isWebSearchType(String(tool['type'])) || hasSearch(tool['tools'])))
}

/** In the lite form, Codex CLI sends its tools as an input item. */
function bringsTools(item: JsonObject): boolean {
  return itemTypeOf(item) === 'additional_tools'
}
