import type { CallerRequest, EncodeContext, EncodedRequest } from '../dialect.ts'
import { changedMembers, spliceMembers } from '../../json/json-members.ts'
import { chatNotes } from './reply-notes.ts'
import { chatBodyOf } from './wire.ts'
import { adaptRequest } from './rules/rules.ts'

/**
 * Returns the caller's own text with only the necessary changes.
 * @throws Fault `invalid_request`
 */
export function passChatRequest(request: CallerRequest, context: EncodeContext): EncodedRequest {
  const source = chatBodyOf(request)
  const { value, options } = source
  const { body, warnings, effects } = adaptRequest(value, context, options)
  return {
    body: spliceMembers(source, changedMembers(value, body)),
    warnings,
    replyNotes: chatNotes(source),
    effects,
  }
}
