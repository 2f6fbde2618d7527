import type { EncodeContext, EncodedRequest } from '../dialect.ts'
import { callerFields, conversationOf } from '../engine/caller-fields.ts'
import { encodeFields } from '../engine/fields.ts'
import { applyRules } from '../engine/apply-rules.ts'
import { wantedEffort } from '../engine/effort.ts'
import { refuseValue } from '../engine/request/invalid.ts'
import type { Turn } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { messagesFields } from './fields.ts'
import { encodeTools } from './tools.ts'
import type { MessagesBlock, MessagesRequest } from './wire.ts'
import { rules } from './rules/rules.ts'
import { targetOf } from './rules/target.ts'
import type { Target } from './rules/target.ts'
import { encodeItems } from './items.ts'
import { jsonHint } from './rules/format-schema.ts'
import { encodeHeaders, withContinuation } from './sent-request.ts'

/**
 * Encodes a request of another dialect as the Messages API documents it, and adapts it like a caller's own request.
 * `prepareTurn` has already fitted the kinds of tools.
 * @throws Fault `invalid_request`
 */
export function encodeMessagesTurn(turn: Turn, context: EncodeContext): EncodedRequest {
  const target = targetOf(context.model, context.learnedRefusals)
  const warnings: Warning[] = []
  refuseImpossible(turn)
  const { system, messages } = encodeItems(turn.items, warnings)
  // The API requires `max_tokens`. If the model's limit is unknown, upstream may answer 400 for this default.
  const limit = Number.isFinite(target.maxTokens) ? target.maxTokens : FALLBACK_MAX_TOKENS
  const thinking = encodeThinking(turn, target, warnings)
  const format = encodeFormat(turn, target, warnings)
  const outputConfig = { ...thinking.output_config, ...format.output_config }
  const allSystem = [...system, ...format.system]
  const capped = { ...turn, maxOutputTokens: turn.maxOutputTokens ?? limit }
  const settings = encodeFields(capped, messagesFields, 'Claude has no equivalent', warnings)
  const body: MessagesRequest = {
    model: context.model.id,
    max_tokens: limit,
    system: allSystem.length > 0 ? allSystem : undefined,
    messages,
    ...encodeTools(turn, warnings),
    ...(thinking.thinking && { thinking: thinking.thinking }),
    ...(Object.keys(outputConfig).length > 0 && { output_config: outputConfig }),
    ...settings,
    stream: true,
  }
  const made = { fields: callerFields(turn, messagesFields), conversation: conversationOf(turn) }
  const adapted = applyRules({ body, headers: encodeHeaders([]), made }, rules, { ...target, marksCache: true })
  return withContinuation({
    body: Buffer.from(JSON.stringify(adapted.body)),
    headers: adapted.headers,
    effects: adapted.effects,
    warnings: [...warnings, ...adapted.warnings],
  })
}

/** Every Claude since 3.5 can write that many tokens. */
const FALLBACK_MAX_TOKENS = 8192

function refuseImpossible({ logprobs, fieldNames }: Turn): void {
  if (logprobs === undefined) return
  refuseValue(fieldNames.logprobs, 'log probabilities are not available for Claude', 'unsupported_value')
}

type WireThinking = Pick<MessagesRequest, 'thinking' | 'output_config'>

function encodeThinking({ reasoning, fieldNames }: Turn, target: Target, warnings: Warning[]): WireThinking {
  const { mode, budgetTokens, effort: stated, summary } = reasoning ?? {}
  if (wantedEffort(reasoning) === undefined) {
    if (stated !== undefined) {
      warnings.push({ code: 'dropped', field: fieldNames.effort, detail: 'this effort is unknown' })
    }
    return {}
  }
  const type = mode ?? (stated === 'none' ? 'disabled' : 'adaptive')
  const effort = encodeEffort(stated, target)
  if (stated === 'xhigh' && effort !== stated) {
    warnings.push({ code: 'clamped', field: fieldNames.effort, detail: `sent as ${effort}` })
  }
  return {
    thinking: {
      type,
      ...(type === 'enabled' && { budget_tokens: budgetTokens }),
      ...(type !== 'disabled' && encodeDisplay(summary, target)),
    },
    ...(effort !== undefined && { output_config: { effort } }),
  }
}

/** `low` is Anthropic's lowest level. Only some models accept `max`, so a model whose levels are unknown gets less. */
function encodeEffort(stated: string | undefined, { efforts }: Target): string | undefined {
  if (stated === 'none') return undefined
  if (stated === 'minimal') return 'low'
  return stated === 'xhigh' && efforts === undefined ? 'high' : stated
}

/**
 * Newer models send no readable thinking unless asked, and older ones send it. With this setting, callers of other
 * dialects get the same from both.
 */
function encodeDisplay(summary: string | undefined, { hidesThinking }: Target): { readonly display?: string } {
  if (summary === 'none') return { display: 'omitted' }
  return summary === undefined && !hidesThinking ? {} : { display: 'summarized' }
}

interface WireFormat extends Pick<MessagesRequest, 'output_config'> {
  readonly system: readonly MessagesBlock[]
}

/** The Messages API has no JSON without a schema. */
function encodeFormat({ format, fieldNames }: Turn, { traits }: Target, warnings: Warning[]): WireFormat {
  if (format === undefined) return { system: [] }
  const schema = format.type === 'json_schema' ? format.schema : undefined
  if (schema !== undefined) return { system: [], output_config: { format: { type: 'json_schema', schema } } }
  const detail = `${traits.id} does not support it; requested in the system text`
  warnings.push({ code: 'json_hinted', field: fieldNames.format, detail })
  return { system: [{ type: 'text', text: jsonHint(undefined) }] }
}
