import type { EncodedRequest } from '../dialect.ts'
import { isObject, parseObject } from '../parts/wire-json.ts'
import type { MessagesRequest } from './wire-request.ts'

/** The body of a request that was sent, to make another one of it. */
export function parseSent({ body }: EncodedRequest): MessagesRequest | undefined {
  const value = parseObject(body.toString('utf8'))
  return isSentBody(value) ? value : undefined
}

/** What was sent was made here of a request that was checked; the look is for whoever calls with something else. */
function isSentBody(value: unknown): value is MessagesRequest {
  return isObject(value) && Array.isArray(value['messages'])
}
