import type { EncodeContext, EncodedRequest } from '../dialect.ts'
import { callerFields, conversationOf } from '../engine/caller-fields.ts'
import { encodeFields } from '../engine/fields.ts'
import { withPath } from '../engine/origin.ts'
import { isReasoningGpt, modelFamily, type ModelFamily } from '../engine/model-family.ts'
import { refuseAsPrefill } from '../engine/request/shared-checks.ts'
import type { FunctionTool, Turn } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { chatFields } from './fields.ts'
import { encodeTool, encodeToolChoice } from './tools.ts'
import type { ChatMessage, ChatRequest } from './wire.ts'
import { budgetOfEffort, clampEffort, wantedEffort } from '../engine/effort.ts'
import type { ModelTraits } from '../model-traits.ts'
import { adaptRequest } from './rules/rules.ts'
import { type EncodedItem, encodeItems } from './items.ts'

/**
 * Encodes a Turn for Copilot's chat completions and adapts it to the model, like a chat caller's request.
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function encodeChatTurn(turn: Turn, context: EncodeContext): EncodedRequest {
  const { model } = context
  const family = modelFamily(model)
  const { messages, warnings: itemWarnings } = encodeItems(turn.items, family)
  refusePrefill(messages.at(-1)?.message)
  const warnings = [...itemWarnings]
  // `prepareTurn` has wrapped, refused or removed other kinds.
  const tools = turn.tools.filter((tool) => tool.type === 'function')
  const marks = family.kind === 'claude' ? lastMarks(tools, messages) : { tools: noMarks, messages: noMarks }
  const request: ChatRequest = {
    model: model.id,
    messages: messages.map(({ message, path }, at) =>
      withPath(marks.messages.has(at) ? { ...message, ...cacheMark } : message, path),
    ),
    ...(tools.length > 0 && {
      tools: tools.map((tool, at) =>
        withPath({ ...encodeTool(tool), ...(marks.tools.has(at) && cacheMark) }, tool.path),
      ),
    }),
    ...encodeToolChoice(turn),
    ...encodeFields(turn, chatFields, 'Chat Completions has no such parameter', warnings),
    ...(turn.logprobs && { logprobs: true, top_logprobs: turn.logprobs.top }),
    ...encodeEffort(turn, model, family, warnings),
  }
  const adapted = adaptRequest(request, context, {
    made: { fields: callerFields(turn, chatFields), conversation: conversationOf(turn) },
  })
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
const noMarks: ReadonlySet<number> = new Set()
/** Anthropic's limit for one request (docs/copilot-wire.md, "Parameters by model"). */
const MOST_MARKS = 4

/** Positions of marked tools and messages. If there are too many marks, keep the last ones, which cover the most. */
function lastMarks(tools: readonly FunctionTool[], messages: readonly EncodedItem[]) {
  const markedTools = tools.flatMap(({ cache }, at) => (cache ? [at] : []))
  const markedMessages = messages.flatMap(({ cache }, at) => (cache ? [at] : []))
  const left = Math.max(0, MOST_MARKS - markedMessages.length)
  return {
    tools: new Set(left === 0 ? [] : markedTools.slice(-left)),
    messages: new Set(markedMessages.slice(-MOST_MARKS)),
  }
}

/** Levels that every reasoning GPT takes, for models that list none. Source: OpenAI guide, reasoning models, 2026-11. */
const COMMON_EFFORTS = ['low', 'medium', 'high']

/**
 * The effort in the model's own form: models that list levels and reasoning GPTs take a level, models that state a
 * budget take tokens (docs/copilot-wire.md, "Parameters by model").
 */
function encodeEffort(
  { reasoning, fieldNames, maxOutputTokens }: Turn,
  { id, supports }: ModelTraits,
  family: ModelFamily,
  warnings: Warning[],
): Partial<ChatRequest> {
  const wanted = wantedEffort(reasoning)
  if (wanted === undefined) return {}
  const listed = supports.reasoningEffort ?? (isReasoningGpt(family) ? COMMON_EFFORTS : [])
  const field =
    reasoning?.mode === 'disabled'
      ? `${fieldNames.reasoning}.disabled`
      : reasoning?.effort === undefined
        ? fieldNames.reasoning
        : fieldNames.effort
  if (listed.length === 0 && supports.maxThinkingBudget !== undefined) {
    const asked = reasoning?.mode === 'enabled' ? reasoning.budgetTokens : undefined
    const budget = fitBudget(asked ?? budgetOfEffort[wanted], supports, maxOutputTokens)
    return budget === undefined ? {} : { thinking_budget: budget }
  }
  if (listed.length === 0) {
    // A model that never reasons satisfies `none`.
    if (wanted !== 'none') warnings.push({ code: 'dropped', field, detail: `not supported by ${id}` })
    return {}
  }
  const effort = clampEffort(wanted, listed)
  if (effort !== wanted) {
    warnings.push({ code: 'clamped', field, detail: `${id} does not support '${wanted}'; sent as '${effort}'` })
  }
  return { reasoning_effort: effort }
}

/** Tokens. Undefined for no reasoning, or if no budget fits below the answer's cap. */
function fitBudget(
  wanted: number,
  { minThinkingBudget: least = 1024, maxThinkingBudget: most = Infinity }: ModelTraits['supports'],
  maxOutputTokens: number | undefined,
): number | undefined {
  const budget = Math.min(Math.max(wanted, least), most, (maxOutputTokens ?? Infinity) - 1)
  return wanted === 0 || budget < least ? undefined : budget
}
