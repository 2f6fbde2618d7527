import type { CallerRequest, EncodeContext, EncodedRequest } from '../../dialect.ts'
import { isObject } from '../../../json/json.ts'
import { changedMembers, spliceMembers } from '../../../json/json-members.ts'
import { cutHistory } from '../request-changes.ts'
import { chatReplyNotes } from '../reply-notes.ts'
import { chatBodyOf } from '../wire.ts'
import { adaptRequest } from './adapt/adapt.ts'

/**
 * Returns the caller's own text with only the necessary changes. Undefined if the proxy runs a web search, which only a
 * translated reply can hold.
 * @throws Fault `invalid_request`
 */
export function passChatRequest(request: CallerRequest, context: EncodeContext): EncodedRequest | undefined {
  const body = chatBodyOf(request)
  if (isObject(body.value['web_search_options']) && context.canSearch?.() === true) return undefined
  const { messages, warnings } = cutHistory(body)
  const windowed = messages === body.value.messages ? body.value : { ...body.value, messages }
  const adapted = adaptRequest(windowed, context)
  return {
    body: spliceMembers(body, changedMembers(body.value, adapted.request)),
    warnings: [...warnings, ...adapted.warnings],
    replyNotes: chatReplyNotes(body),
    effects: adapted.effects,
  }
}
