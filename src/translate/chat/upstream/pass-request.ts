import type { CallerRequest, EncodeContext, EncodedRequest } from '../../dialect.ts'
import { isObject } from '../../../json/json.ts'
import { changedMembers, spliceMembers } from '../../../json/json-members.ts'
import { mergeEffects } from '../../engine/reply-effects.ts'
import { cutHistory } from '../request-changes.ts'
import { chatReplyNotes } from '../reply-notes.ts'
import { chatBodyOf } from '../wire.ts'
import { adaptRequest } from './adapt/adapt.ts'
import { nameTools } from './name-tools.ts'

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
  const named = nameTools(windowed)
  const adapted = adaptRequest(named.request, context)
  return {
    body: spliceMembers(body, changedMembers(body.value, adapted.request)),
    warnings: [...warnings, ...named.warnings, ...adapted.warnings],
    replyNotes: chatReplyNotes(body),
    effects: mergeEffects([named.effects, adapted.effects]),
  }
}
