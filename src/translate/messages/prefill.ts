import { refuseAsPrefill } from '../parts/refuse-as-prefill.ts'
import type { MessagesMessage } from './wire-request.ts'

/**
 * A conversation that ends with the assistant asks the model to go on in the middle of its answer.
 * @throws Fault `invalid_request`
 */
export function refusePrefill(messages: readonly MessagesMessage[]): void {
  // System messages stand between turns.
  if (messages.findLast(({ role }) => role !== 'system')?.role === 'assistant') refuseAsPrefill()
}
