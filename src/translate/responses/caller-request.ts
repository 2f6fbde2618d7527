import type { CallerRequest, ChainLink } from '../dialect.ts'
import type { JsonObject } from '../parts/is-object.ts'
import type { ScanLimits } from '../parts/json-members.ts'
import { promptsOf } from '../parts/prompts.ts'
import { conversationOf, holdsImage, isFromAgent, isUserMessage, itemTypeOf } from './item-types.ts'
import type { ResponsesBody } from './wire-request.ts'

/**
 * Depth: beyond any real tool schema, far below what recursion in serialisers bears. OpenAI knows some 40 members. An
 * item with a text part counts 7 values, a call 5, so that 100,000 items have room.
 */
export const BODY_LIMITS: ScanLimits = { maxDepth: 500, maxMembers: 1000, maxValues: 1_500_000 }

/** A checked body with what routing and headers need to know of it. */
export function describeRequest(body: ResponsesBody, chain: ChainLink): CallerRequest<ResponsesBody> {
  const items = conversationOf(chain.input)
  const last = items.at(-1)
  return {
    model: body.value.model,
    stream: body.value.stream ?? false,
    // Usage is part of every response object.
    wantsUsage: true,
    hasImage: items.some(holdsImage),
    hasAgentHistory: items.some(isFromAgent),
    endsWithUser: last !== undefined && isUserMessage(last),
    hasTools:
      (body.value.tools?.length ?? 0) > 0 || (items.length < chain.input.length && chain.input.some(bringsTools)),
    isCompaction: last !== undefined && itemTypeOf(last) === 'compaction_trigger',
    prompts: promptsOf(items, isUserMessage),
    chain,
    body,
  }
}

/** Codex CLI sends its tools as an item where the model is asked in the lite form. */
function bringsTools(item: JsonObject): boolean {
  return itemTypeOf(item) === 'additional_tools'
}
