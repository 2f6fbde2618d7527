import { Fault } from '../errors.ts'
import type { CallerDialect } from '../translate/caller-dialect.ts'
import type { CallerRequest } from '../translate/dialect.ts'
import type { JsonObject } from '../translate/parts/json.ts'
import { outputOf } from './response-store.ts'
import type { ResponseStore } from './response-store.ts'

const noItems: ReadonlyMap<string, JsonObject> = new Map()

/**
 * Resolves `previous_response_id` and `item_reference` from the response store, because upstream keeps no responses.
 * @throws Fault `invalid_request` (`previous_response_not_found`, `item_not_found`)
 */
export function resolveHistory(dialect: CallerDialect, request: CallerRequest, store: ResponseStore): CallerRequest {
  const { storedHistory } = dialect
  if (storedHistory === undefined) return request
  const { previousId, references } = storedHistory.linkOf(request)
  if (previousId === undefined && references.length === 0) return request
  const previous = previousId === undefined ? undefined : store.get(previousId)
  if (previousId !== undefined && previous === undefined) {
    throw new Fault({
      kind: 'invalid_request',
      path: 'previous_response_id',
      detail: 'no such response is stored here (they are kept in memory for an hour); send the whole input instead',
      code: 'previous_response_not_found',
    })
  }
  const referenced = references.length === 0 ? noItems : store.items(references)
  if (references.some((id) => !referenced.has(id))) {
    throw new Fault({
      kind: 'invalid_request',
      path: 'input',
      detail: 'an item_reference names an item that is not stored here; send the item itself instead',
      code: 'item_not_found',
    })
  }
  const history = previous === undefined ? [] : [...previous.input, ...outputOf(previous.response)]
  return storedHistory.join(request, history, referenced)
}
