import type { CallerRequest } from '../dialect.ts'
import { refuseValue } from '../parts/invalid.ts'
import type { JsonObject } from '../parts/is-object.ts'
import { scanMembers, spliceMembers, type Member } from '../parts/json-members.ts'
import { BODY_LIMITS, describeRequest } from './caller-request.ts'
import { MAX_ITEMS } from './check-input.ts'
import { itemTypeOf } from './item-types.ts'
import { ResponsesBody, responsesBodyOf, type ResponsesRequest } from './wire-request.ts'

/**
 * The request with what it refers to in place, as it would read had the caller sent everything itself: `history` before
 * its own input, the items it names in place of their references. `instructions` of earlier requests are not carried
 * on. Source: OpenAI API reference, responses, `previous_response_id`, 2026-11.
 *
 * @param referenced by id; every reference of the request is there
 * @throws Fault `invalid_request` for a conversation that has grown beyond what one body may hold
 */
export function joinResponsesHistory(
  request: CallerRequest,
  history: readonly JsonObject[],
  referenced: ReadonlyMap<string, JsonObject>,
): CallerRequest<ResponsesBody> {
  const body = responsesBodyOf(request)
  const own = request.chain?.input ?? []
  const input = [...history, ...own.map((item) => resolve(item, referenced))]
  if (input.length > MAX_ITEMS) {
    refuseValue('input', `the conversation has more than ${MAX_ITEMS} items`, 'array_above_max_length')
  }
  const { previous_response_id: previousId, ...rest } = body.value
  const value: ResponsesRequest = { ...rest, input }
  const bytes = joinBytes(body, input)
  const joined = describeRequest(new ResponsesBody(bytes, value, membersOf(bytes), previousId || undefined), {
    previousId: undefined,
    references: [],
    keep: request.chain?.keep ?? false,
    input,
  })
  const { sessionId } = request
  return sessionId === undefined ? joined : { ...joined, sessionId }
}

function joinBytes(body: ResponsesBody, input: readonly JsonObject[]): Buffer {
  const edits = new Map<string, unknown>([
    ['input', input],
    ['previous_response_id', undefined],
  ])
  try {
    return spliceMembers(body, edits)
  } catch {
    // Stored replies come from upstream and may be nested more deeply than the runtime can write.
    return refuseGrown()
  }
}

function resolve(item: JsonObject, referenced: ReadonlyMap<string, JsonObject>): JsonObject {
  const { id } = item
  if (itemTypeOf(item) !== 'item_reference' || typeof id !== 'string') return item
  return referenced.get(id) ?? item
}

function membersOf(bytes: Buffer): readonly Member[] {
  const scan = scanMembers(bytes.toString('latin1'), BODY_LIMITS)
  return scan.ok ? scan.members : refuseGrown()
}

function refuseGrown(): never {
  refuseValue('input', 'the conversation has grown beyond what one request may hold', 'too_many_values')
}
