import type { CallerHeaders, CallerRequest } from '../dialect.ts'
import { formatPath, refuseType, refuseValue } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { parseBody } from '../parts/json-body.ts'
import { nameSession } from '../parts/session-headers.ts'
import { BODY_LIMITS, describeRequest } from './caller-request.ts'
import { checkInput } from './check-input.ts'
import { checkToolChoice, checkTools } from './check-tools.ts'
import { itemTypeOf } from './item-types.ts'
import { ResponsesBody, responsesRequest, type ResponsesItem, type ResponsesRequest } from './wire-request.ts'

/**
 * Checks the body of POST /v1/responses. The value keeps every key it came with.
 *
 * @param bytes the UTF-8 that `text` was read from; encoding it again costs more than parsing it
 * @throws Fault `malformed_body` naming line and column, `invalid_request` naming the path and what was expected
 */
export function decodeResponsesRequest(
  text: string,
  bytes: Buffer = Buffer.from(text),
  headers: CallerHeaders = {},
): CallerRequest<ResponsesBody> {
  // As many bytes as characters: the text is ASCII and is its own latin1 reading.
  const latin1 = text.length === bytes.length ? text : bytes.toString('latin1')
  const { value, members } = parseBody(text, BODY_LIMITS, latin1)
  checkRequest(value)
  const input = toItems(value.input)
  const sessionId = nameSession(headers, value.prompt_cache_key)
  const request = describeRequest(new ResponsesBody(bytes, value, members), {
    previousId: value.previous_response_id || undefined,
    references: input.flatMap((item) => (itemTypeOf(item) === 'item_reference' ? idOf(item) : [])),
    keep: value.store !== false,
    input,
  })
  return sessionId === undefined ? request : { ...request, sessionId }
}

function checkRequest(value: unknown): asserts value is ResponsesRequest {
  if (!isObject(value)) refuseType('', 'a JSON object', value)
  const { error } = responsesRequest.safeParse(value)
  const issue = error?.issues[0]
  if (issue) refuseType(formatPath(issue.path), issue.message, valueAt(value, issue.path))
  checkPresence(value)
  if (isGiven(value['input'])) checkInput(value['input'])
  if (isGiven(value['tools'])) checkTools(value['tools'], () => 'tools')
  checkToolChoice(value['tool_choice'])
  refuseStateful(value)
}

/** There is something to answer: items, or a stored response to go on from. */
function checkPresence({ input, previous_response_id, messages }: JsonObject): void {
  if (previous_response_id) return
  if (isGiven(input)) {
    if (Array.isArray(input) && input.length === 0) {
      refuseValue('input', 'expected at least one item, got an empty array', 'empty_array')
    }
    return
  }
  if (messages !== undefined) {
    refuseValue('messages', 'the Responses API has input in its place', 'unsupported_parameter')
  }
  refuseType('input', 'a string or an array of items', input)
}

/** What only a server that keeps the caller's things could do; left out, the answer would be to another question. */
const STATEFUL = ['conversation', 'prompt'] as const

function refuseStateful(value: JsonObject): void {
  if (value['background'] === true) {
    refuseValue('background', 'responses are not made in the background here', 'unsupported_value')
  }
  for (const field of STATEFUL) {
    if (isGiven(value[field])) refuseValue(field, `there is no stored ${field} here`, 'unsupported_value')
  }
}

/** A string is short for one message of the user's. */
function toItems(input: ResponsesRequest['input']): readonly ResponsesItem[] {
  if (typeof input !== 'string') return input ?? []
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

function idOf({ id }: ResponsesItem): readonly string[] {
  return typeof id === 'string' ? [id] : []
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (isContainer(inner) ? inner[key] : undefined), value)
}

function isContainer(value: unknown): value is Readonly<Record<PropertyKey, unknown>> {
  return typeof value === 'object' && value !== null
}
