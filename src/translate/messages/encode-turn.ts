import { wantedEffort } from '../parts/effort.ts'
import { refuseValue } from '../parts/invalid.ts'
import type { EncodeContext, EncodedRequest } from '../dialect.ts'
import type { Turn, TurnField } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { finishRequest } from './adapt/adapt.ts'
import { INTERLEAVED_THINKING_BETA } from './adapt/beta-rules.ts'
import { targetOf, type Target } from './adapt/target.ts'
import { encodeHeaders } from './encode-headers.ts'
import { encodeItems } from './encode-items.ts'
import { encodeTools } from './encode-tools.ts'
import { fitSampling, type WireSampling } from './fit-sampling.ts'
import { toFormatSchema } from './format-schema.ts'
import { jsonHint } from './json-hint.ts'
import { markForCaching } from './mark-for-caching.ts'
import { refusePrefill } from './prefill.ts'
import { isBlank } from './reminder.ts'
import { planThinking } from './thinking-plan.ts'
import { toolLoopLacksThought } from './tool-loop.ts'
import type { MessagesBlock, MessagesRequest } from './wire-request.ts'

/**
 * The body for Copilot's native Messages, of a request that came in another dialect. `prepareTurn` has run before: names,
 * ids, pairs of call and result and schemas are as upstream takes them.
 * @throws Fault `invalid_request`
 */
export function encodeMessagesTurn(turn: Turn, context: EncodeContext): EncodedRequest {
  const target = targetOf(context.model, context.lessons)
  const warnings: Warning[] = []
  refuseImpossible(turn)
  const { system, messages } = encodeItems(turn.items, target, warnings)
  if (messages.length === 0) {
    refuseValue(memberOf(turn), 'there is nothing but system text, expected a message of the user', 'invalid_value')
  }
  if (!target.takesPrefill) refusePrefill(messages)
  const tools = encodeTools(turn, warnings)
  const maxTokens = encodeMaxTokens(turn, target, warnings)
  const thinking = encodeThinking(turn, target, warnings, {
    maxTokens,
    forcesTool: tools.tool_choice?.type === 'any' || tools.tool_choice?.type === 'tool',
    lacksThought: toolLoopLacksThought(messages),
  })
  const format = encodeFormat(turn, target, warnings)
  const outputConfig = { ...thinking.output_config, ...format.output_config }
  const wholeSystem = [...system, ...format.system]
  const stop = encodeStop(turn, warnings)
  dropUnknown(turn, warnings)
  const body: MessagesRequest = {
    model: context.model.id,
    max_tokens: maxTokens,
    ...(wholeSystem.length > 0 && { system: wholeSystem }),
    messages,
    ...tools,
    ...(thinking.thinking && { thinking: thinking.thinking }),
    ...(Object.keys(outputConfig).length > 0 && { output_config: outputConfig }),
    ...encodeSampling(turn, target, thinking.thinks, warnings),
    ...(stop.length > 0 && { stop_sequences: stop }),
    stream: true,
  }
  const betas = thinking.thinking?.type === 'enabled' ? [INTERLEAVED_THINKING_BETA] : []
  const finished = finishRequest(
    { body: markForCaching(body), betas: betas.filter((beta) => !target.lessons.betas.has(beta)) },
    target,
  )
  return {
    body: Buffer.from(JSON.stringify(finished.body)),
    headers: encodeHeaders(finished.betas),
    warnings: [...warnings, ...finished.warnings],
  }
}

function refuseImpossible({ logprobs, fieldNames }: Turn): void {
  if (logprobs === undefined) return
  refuseValue(fieldNames.logprobs, 'log probabilities are not available for Claude', 'unsupported_value')
}

/** The caller's word for where the conversation is: `messages`, `input`. */
function memberOf({ items }: Turn): string {
  return items.find(({ path }) => path !== '')?.path.split('.', 1)[0] ?? ''
}

/**
 * Without a wish the model's own limit, for the API wants a number. Where upstream states no limit either: every Claude
 * since 3.5 can write that much, and a model that cannot do what is asked answers 400. Tokens.
 */
const FALLBACK_MAX_TOKENS = 8192

function encodeMaxTokens({ maxOutputTokens: asked, fieldNames }: Turn, target: Target, warnings: Warning[]): number {
  const { maxTokens: limit, traits } = target
  if (asked === undefined) return Number.isFinite(limit) ? limit : FALLBACK_MAX_TOKENS
  if (asked <= limit) return asked
  const detail = `above the limit of ${traits.id}, lowered to ${limit}`
  warnings.push({ code: 'clamped', field: fieldNames.maxOutputTokens, detail })
  return limit
}

interface WireThinking extends Pick<MessagesRequest, 'thinking' | 'output_config'> {
  readonly thinks: boolean
}

function encodeThinking(
  turn: Turn,
  target: Target,
  warnings: Warning[],
  setting: Parameters<typeof planThinking>[2],
): WireThinking {
  const { reasoning, fieldNames } = turn
  const wanted = wantedEffort(reasoning)
  const { mode, budgetTokens, effort: stated } = reasoning ?? {}
  if (wanted === undefined) {
    if (stated !== undefined) {
      warnings.push({ code: 'dropped', field: fieldNames.effort, detail: 'an effort of this name is not known here' })
    }
    return { thinks: false }
  }
  const type = mode ?? (stated === 'none' ? 'disabled' : 'adaptive')
  // Where nobody lists levels, the one that only some models have is not worth a refusal.
  const effort = stated === 'xhigh' && target.efforts === undefined ? 'high' : stated
  const plan = planThinking({ type, budgetTokens, effort: effort === 'none' ? undefined : effort }, target, setting)
  if (plan.conflict !== undefined) {
    warnings.push({ code: 'dropped', field: fieldNames.reasoning, detail: plan.conflict })
  }
  if (plan.isBudgetClamped === true) {
    warnings.push({ code: 'clamped', field: fieldNames.reasoning, detail: `sent as ${plan.budgetTokens} tokens` })
  }
  // `low` is the least there is at Anthropic.
  const isSame = plan.effort === stated || (stated === 'minimal' && plan.effort === 'low')
  if (stated !== undefined && plan.effort !== undefined && !isSame) {
    warnings.push({ code: 'clamped', field: fieldNames.effort, detail: `sent as ${plan.effort}` })
  }
  const thinks = plan.type !== undefined && plan.type !== 'disabled'
  return {
    thinks,
    thinking: {
      type: plan.type ?? 'disabled',
      ...(plan.type === 'enabled' && { budget_tokens: plan.budgetTokens }),
      ...(thinks && encodeDisplay(reasoning?.summary, target)),
    },
    ...(plan.effort !== undefined && { output_config: { effort: plan.effort } }),
  }
}

/**
 * Newer models keep their thoughts to themselves unless asked; that they differ from the older ones in this is not the
 * caller's choice.
 */
function encodeDisplay(summary: string | undefined, { hidesThinking }: Target): { readonly display?: string } {
  if (summary === 'none') return { display: 'omitted' }
  return summary === undefined && !hidesThinking ? {} : { display: 'summarized' }
}

interface WireFormat extends Pick<MessagesRequest, 'output_config'> {
  /** Further system text. */
  readonly system: readonly MessagesBlock[]
}

function encodeFormat({ format, fieldNames }: Turn, target: Target, warnings: Warning[]): WireFormat {
  if (format === undefined) return { system: [] }
  const schema = format.type === 'json_schema' ? format.schema : undefined
  if (schema === undefined || !target.takesOutputConfig || target.traits.supports.structuredOutputs === false) {
    const detail = `not supported by ${target.traits.id}, asked for in the system text`
    warnings.push({ code: 'json_hinted', field: fieldNames.format, detail })
    return { system: [{ type: 'text', text: jsonHint(schema) }] }
  }
  const fitted = toFormatSchema(schema)
  for (const keyword of fitted.removed) {
    const detail = `${keyword} is not taken in the schema of an answer`
    warnings.push({ code: 'schema_simplified', field: `${fieldNames.format}.${keyword}`, detail })
  }
  return { system: [], output_config: { format: { type: 'json_schema', schema: fitted.schema } } }
}

function encodeSampling(turn: Turn, target: Target, thinks: boolean, warnings: Warning[]): WireSampling {
  const { temperature, topP, topK } = turn.sampling
  const fitted = fitSampling({ temperature, top_p: topP, top_k: topK }, target, thinks)
  const fields = { temperature: 'temperature', top_p: 'topP', top_k: 'topK' } as const
  for (const { name, reason } of fitted.dropped) {
    warnings.push({ code: 'dropped', field: turn.fieldNames[fields[name]], detail: reason })
  }
  if (fitted.isTemperatureClamped) {
    warnings.push({ code: 'clamped', field: turn.fieldNames.temperature, detail: 'Claude takes 1 at most' })
  }
  return fitted.sampling
}

/** Blank texts are refused. Source: Anthropic API reference, stop_sequences, 2026-11. */
function encodeStop({ stop, fieldNames }: Turn, warnings: Warning[]): readonly string[] {
  const kept = stop.filter((text) => !isBlank(text))
  if (kept.length < stop.length) {
    warnings.push({ code: 'dropped', field: fieldNames.stop, detail: 'Claude takes no stop texts of white space' })
  }
  return kept
}

/** What Claude has nothing like. */
function dropUnknown({ sampling, verbosity, fieldNames }: Turn, warnings: Warning[]): void {
  const stated: readonly (readonly [TurnField, boolean])[] = [
    ['frequencyPenalty', isSet(sampling.frequencyPenalty)],
    ['presencePenalty', isSet(sampling.presencePenalty)],
    ['seed', sampling.seed !== undefined],
    ['logitBias', sampling.logitBias !== undefined && Object.keys(sampling.logitBias).length > 0],
    ['verbosity', verbosity !== undefined && verbosity !== 'medium'],
  ]
  for (const [field, isStated] of stated) {
    if (isStated) warnings.push({ code: 'dropped', field: fieldNames[field], detail: 'Claude has nothing like it' })
  }
}

/** A penalty of 0 is none. */
function isSet(penalty: number | undefined): boolean {
  return penalty !== undefined && penalty !== 0
}
