import type { EncodeContext, EncodedRequest } from '../dialect.ts'
import { callerFields, conversationOf } from '../engine/caller-fields.ts'
import { encodeFields } from '../engine/fields.ts'
import { isEffort, wantedEffort } from '../engine/effort.ts'
import { refuseValue } from '../engine/request/invalid.ts'
import type { JsonObject } from '../../json/json.ts'
import { refuseAsPrefill } from '../engine/request/shared-checks.ts'
import type { Turn, TurnReasoning } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { encodeText, ENCRYPTED, LOGPROBS, responsesFields } from './fields.ts'
import { encodeTools } from './tools.ts'
import { encodeItems } from './items/encode-items.ts'
import { isChatgpt, knownEffort } from './rules/model-profile.ts'
import { callNotes } from './read-stream/wrapper-calls.ts'
import { adaptRequest } from './rules/rules.ts'

/**
 * Encodes a request of another dialect as OpenAI documents the Responses API, and adapts it like a caller's own request.
 *
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function encodeResponsesTurn(turn: Turn, context: EncodeContext): EncodedRequest {
  const warnings: Warning[] = []
  const { instructions, input } = encodeItems(turn.items, context, warnings)
  refusePrefill(input)
  const reasoning = encodeReasoning(turn, context, warnings)
  const text = encodeText(turn, warnings)
  const settings = encodeFields(turn, responsesFields, `not supported by ${context.model.id}`, warnings)
  const body: JsonObject = {
    model: context.model.id,
    instructions: instructions === '' ? undefined : instructions,
    input,
    ...encodeTools(turn, warnings),
    ...settings,
    ...(reasoning !== undefined && { reasoning }),
    ...(text !== undefined && { text }),
    ...encodeLogprobs(turn, context),
    ...(turn.logprobs !== undefined && { include: [ENCRYPTED, LOGPROBS] }),
  }
  const fields = new Map([
    ...callerFields(turn, responsesFields),
    ['reasoning.effort', effortField(turn, context)] as const,
    // The encoder adds a summary where the caller states none.
    ['reasoning.summary', undefined] as const,
  ])
  const made = { fields, conversation: conversationOf(turn) }
  const adapted = adaptRequest(body, turn.cacheKey ?? turn.sessionId, context, made)
  return {
    headers: isChatgpt(context) ? adapted.headers : undefined,
    replyNotes: { dialect: 'responses', calls: callNotes(adapted.body, adapted.effects) },
    body: Buffer.from(JSON.stringify(adapted.body)),
    warnings: [...warnings, ...adapted.warnings],
  }
}

/** OpenAI's models answer a final assistant message instead of continuing it. */
function refusePrefill(input: readonly JsonObject[]): void {
  if (input.findLast(({ type }) => type !== 'reasoning')?.['role'] === 'assistant') refuseAsPrefill()
}

/** Undefined if the caller stated nothing about reasoning; the model's default then applies. */
function encodeReasoning(turn: Turn, context: EncodeContext, warnings: Warning[]): JsonObject | undefined {
  const { reasoning, fieldNames } = turn
  if (reasoning === undefined) return undefined
  const known = reasoning.effort === undefined ? undefined : knownEffort(reasoning.effort, context)
  if (known !== undefined && !isEffort(known)) {
    warnings.push({ code: 'dropped', field: fieldNames.effort, detail: 'this effort is unknown' })
  } else if (known !== reasoning.effort) {
    warnings.push({ code: 'adapted', field: fieldNames.effort, detail: `sent as '${known}' to ${context.model.id}` })
  }
  const effort = wantedEffort({ ...reasoning, effort: known })
  const summary = effort === 'none' ? undefined : summaryOf(reasoning, effort)
  if (effort === undefined && summary === undefined) return undefined
  return { ...(effort !== undefined && { effort }), ...(summary !== undefined && { summary }) }
}

/** The caller's field that determined the effort. */
function effortField({ reasoning, fieldNames }: Turn, context: EncodeContext): string {
  // Only the Messages API has `thinking: {type: "disabled"}`.
  if (reasoning?.mode === 'disabled') return 'thinking.disabled'
  const { effort = '' } = reasoning ?? {}
  return isEffort(knownEffort(effort, context)) ? fieldNames.effort : fieldNames.reasoning
}

/** A caller that asks for reasoning gets a summary, unless it declines one. */
function summaryOf({ summary }: TurnReasoning, wanted: string | undefined): string | undefined {
  if (summary === 'none') return undefined
  return summary ?? (wanted === undefined ? undefined : 'auto')
}

function encodeLogprobs({ logprobs, fieldNames }: Turn, context: EncodeContext): JsonObject {
  if (logprobs === undefined) return {}
  if (isChatgpt(context)) {
    refuseValue(fieldNames.logprobs, 'log probabilities are not available from this provider', 'unsupported_value')
  }
  return logprobs.top === undefined ? {} : { top_logprobs: logprobs.top }
}
