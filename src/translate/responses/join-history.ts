import { Fault } from '../../errors.ts'
import type { CallerRequest } from '../dialect.ts'
import { refuseValue } from '../engine/request/invalid.ts'
import { countChars } from '../../json/count-chars.ts'
import { type JsonObject, callerJsonLimits } from '../../json/json.ts'
import { type Member, scanMembers, spliceMembers } from '../../json/json-members.ts'
import type { ReplyMemory } from '../reply-memory.ts'
import { itemTypeOf } from './items/item.ts'
import { ResponsesBody, type ResponsesRequest, responsesBodyOf } from './wire.ts'
import { MAX_ITEMS } from './check-request.ts'
import { describeRequest } from './decode-request.ts'

/**
 * Resolves `previous_response_id` and `item_reference` from stored replies, because upstream keeps no responses.
 * @throws Fault `invalid_request` (`previous_response_not_found`, `item_not_found`), also for a conversation
 *   that has grown beyond what one body may hold
 */
export function recallResponses(request: CallerRequest, { responses }: Pick<ReplyMemory, 'responses'>): CallerRequest {
  const { previousId, references } = responsesBodyOf(request).chain
  if (previousId === undefined && references.length === 0) return request
  const history = previousId === undefined ? [] : responses.historyOf(previousId)
  if (history === undefined) {
    throw new Fault({
      kind: 'invalid_request',
      path: 'previous_response_id',
      detail: 'this response is not stored (copilot-proxy keeps responses for an hour); send the whole input instead',
      code: 'previous_response_not_found',
    })
  }
  const referenced = responses.items(references)
  if (references.some((id) => !referenced.has(id))) {
    throw new Fault({
      kind: 'invalid_request',
      path: 'input',
      detail: 'the referenced item is not stored; send the item itself instead',
      code: 'item_not_found',
    })
  }
  return joinResponsesHistory(request, history, referenced)
}

/**
 * Returns the complete request: `history` before its input, and the referenced items in place of the references. The
 * `instructions` of earlier requests do not apply. Source: OpenAI API reference, responses, `previous_response_id`,
 * 2026-11.
 *
 * @param referenced items by id, for every reference of the request
 * @throws Fault `invalid_request` for a conversation that has grown beyond what one body may hold
 */
function joinResponsesHistory(
  request: CallerRequest,
  history: readonly JsonObject[],
  referenced: ReadonlyMap<string, JsonObject>,
): CallerRequest<ResponsesBody> {
  const body = responsesBodyOf(request)
  const { chain } = body
  const own = chain.references.length === 0 ? chain.input : chain.input.map((item) => resolve(item, referenced))
  const input = [...history, ...own]
  if (input.length > MAX_ITEMS) {
    refuseValue('input', `the conversation has more than ${MAX_ITEMS} items`, 'array_above_max_length')
  }
  const { previous_response_id: previousId, ...members } = body.value
  const value: ResponsesRequest = { ...members, input }
  const bytes = joinBytes(body, input)
  const resolved = {
    previousId: undefined,
    references: [],
    keep: chain.keep,
    input: own,
    inputChars: chain.inputChars + countChars([...referenced.values()]),
  }
  const joined = describeRequest(new ResponsesBody(bytes, value, membersOf(bytes), resolved, previousId || undefined))
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
    // A stored reply may be nested too deeply for the runtime to serialise.
    return refuseGrown()
  }
}

function resolve(item: JsonObject, referenced: ReadonlyMap<string, JsonObject>): JsonObject {
  const { id } = item
  if (itemTypeOf(item) !== 'item_reference' || typeof id !== 'string') return item
  return referenced.get(id) ?? item
}

function membersOf(bytes: Buffer): readonly Member[] {
  const scan = scanMembers(bytes.toString('latin1'), callerJsonLimits)
  return scan.ok ? scan.members : refuseGrown()
}

function refuseGrown(): never {
  refuseValue('input', 'the conversation is too long for one request', 'too_many_values')
}
