import type { CallerRequest, EncodeContext, EncodedRequest } from '../../dialect.ts'
import { isObject } from '../../../json/json.ts'
import { changedMembers, spliceMembers } from '../../../json/json-members.ts'
import { chatReplyNotes } from '../reply-notes.ts'
import { chatBodyOf } from '../wire.ts'
import { adaptRequest } from './adapt/adapt.ts'

/**
 * Returns the caller's own text with only the necessary changes. Undefined if the proxy runs a web search, which only a
 * translated reply can hold.
 * @throws Fault `invalid_request`
 */
export function passChatRequest(request: CallerRequest, context: EncodeContext): EncodedRequest | undefined {
  const source = chatBodyOf(request)
  const { value, options } = source
  if (isObject(value['web_search_options']) && context.canSearch?.() === true) return undefined
  const { body, warnings, effects } = adaptRequest(value, context, options)
  return {
    body: spliceMembers(source, changedMembers(value, body)),
    warnings,
    replyNotes: chatReplyNotes(source),
    effects,
  }
}
