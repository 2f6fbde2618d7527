import type { EncodeContext, EncodedRequest } from '../dialect.ts'
import { callerFields, conversationOf } from '../engine/caller-fields.ts'
import { encodeFields } from '../engine/fields.ts'
import { withPath } from '../engine/origin.ts'
import { refuseAsPrefill } from '../engine/request/shared-checks.ts'
import type { Turn } from '../turn.ts'
import { chatFields } from './fields.ts'
import { encodeTool, encodeToolChoice } from './tools.ts'
import type { ChatMessage, ChatRequest } from './wire.ts'
import { wantedEffort } from '../engine/effort.ts'
import { adaptRequest } from './rules/rules.ts'
import { encodeItems } from './items.ts'

/**
 * Encodes a Turn for Copilot's chat completions and adapts it to the model, like a chat caller's request.
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function encodeChatTurn(turn: Turn, context: EncodeContext): EncodedRequest {
  const { messages, warnings: itemWarnings } = encodeItems(turn.items)
  refusePrefill(messages.at(-1)?.message)
  const warnings = [...itemWarnings]
  // `prepareTurn` has wrapped, refused or removed other kinds.
  const tools = turn.tools.filter((tool) => tool.type === 'function')
  const request: ChatRequest = {
    model: context.model.id,
    messages: messages.map(({ message, path, cache }) =>
      withPath(cache ? { ...message, ...cacheMark } : message, path),
    ),
    ...(tools.length > 0 && {
      tools: tools.map((tool) => withPath({ ...encodeTool(tool), ...(tool.cache && cacheMark) }, tool.path)),
    }),
    ...encodeToolChoice(turn),
    ...encodeFields(turn, chatFields, 'Chat Completions has no such parameter', warnings),
    ...(turn.logprobs && { logprobs: true, top_logprobs: turn.logprobs.top }),
    ...encodeEffort(turn),
  }
  const fields = new Map([
    ...callerFields(turn, chatFields),
    ['reasoning_effort', effortField(turn)] as const,
    ['thinking_budget', turn.fieldNames.reasoning] as const,
  ])
  const adapted = adaptRequest(request, context, { made: { fields, conversation: conversationOf(turn) } })
  return {
    body: Buffer.from(JSON.stringify(adapted.body)),
    warnings: [...warnings, ...adapted.warnings],
    effects: adapted.effects,
  }
}

/** Chat models answer a final assistant message instead of continuing it. */
function refusePrefill(last: ChatMessage | undefined): void {
  if (last?.role === 'assistant' && !last.tool_calls) refuseAsPrefill()
}

const cacheMark = { copilot_cache_control: { type: 'ephemeral' } }

/** The wanted level, and the budget that the caller states. Rules write both in the form of the model. */
function encodeEffort({ reasoning }: Turn): Partial<ChatRequest> {
  const wanted = wantedEffort(reasoning)
  if (wanted === undefined) return {}
  const budget = reasoning?.mode === 'enabled' ? reasoning.budgetTokens : undefined
  return { reasoning_effort: wanted, ...(budget !== undefined && { thinking_budget: budget }) }
}

/** The caller's field that determined the effort. */
function effortField({ reasoning, fieldNames }: Turn): string {
  if (reasoning?.mode === 'disabled') return `${fieldNames.reasoning}.disabled`
  return reasoning?.effort === undefined ? fieldNames.reasoning : fieldNames.effort
}
