import { Fault } from '../../errors.ts'

/** Throws the 400 for a conversation that ends with the assistant, in Anthropic's own words, which clients know. */
export function refuseAsPrefill(): never {
  throw new Fault({
    kind: 'invalid_request',
    path: 'messages',
    detail: 'This model does not support assistant message prefill. The conversation must end with a user message.',
    code: 'assistant_prefill',
  })
}
