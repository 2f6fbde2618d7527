import type { EncodeContext, EncodedRequest } from '../../dialect.ts'
import { wantedEffort } from '../../parts/effort.ts'
import { refuseValue } from '../../parts/invalid.ts'
import { isObject } from '../../../json/json.ts'
import type { FunctionTool, Turn, TurnField } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { isBlank, refusePrefill } from '../content.ts'
import type { MessagesBlock, MessagesRequest, MessagesTool } from '../wire.ts'
import { finishRequest } from './adapt/adapt.ts'
import { INTERLEAVED_THINKING_BETA } from './adapt/beta-rules.ts'
import { markForCaching } from './adapt/cache-rules.ts'
import { toolLoopLacksThought } from './adapt/order-rules.ts'
import { targetOf } from './adapt/target.ts'
import type { Target } from './adapt/target.ts'
import { cacheControl, encodeItems } from './encode-items.ts'
import { jsonHint, toFormatSchema } from './format-schema.ts'
import { encodeHeaders, withContinuation } from './sent-request.ts'
import { planThinking } from './thinking-plan.ts'

/**
 * Encodes a request of another dialect for Copilot's native Messages. `prepareTurn` has already fitted names, ids,
 * schemas, and pairs of call and result.
 * @throws Fault `invalid_request`
 */
export function encodeMessagesTurn(turn: Turn, context: EncodeContext): EncodedRequest {
  const target = targetOf(context.model, context.learnedRefusals)
  const warnings: Warning[] = []
  refuseImpossible(turn)
  const { system, messages } = encodeItems(turn.items, target, warnings)
  if (messages.length === 0) {
    refuseValue(memberOf(turn), 'the request has only system text; add a user message', 'invalid_value')
  }
  if (!target.takesPrefill) refusePrefill(messages)
  const tools = encodeTools(turn, warnings)
  // The API requires `max_tokens`. If the model's limit is unknown, upstream may answer 400 for this default.
  const limit = Number.isFinite(target.maxTokens) ? target.maxTokens : FALLBACK_MAX_TOKENS
  const maxTokens = turn.maxOutputTokens ?? limit
  const thinking = encodeThinking(turn, target, warnings, {
    maxTokens: Math.min(maxTokens, target.maxTokens),
    forcesTool: tools.tool_choice?.type === 'any' || tools.tool_choice?.type === 'tool',
    lacksThought: toolLoopLacksThought(messages),
  })
  const format = encodeFormat(turn, target, warnings)
  const outputConfig = { ...thinking.output_config, ...format.output_config }
  const allSystem = [...system, ...format.system]
  const stop = encodeStop(turn, warnings)
  dropUnknown(turn, warnings)
  const { temperature, topP, topK } = turn.sampling
  const body: MessagesRequest = {
    model: context.model.id,
    max_tokens: maxTokens,
    ...(allSystem.length > 0 && { system: allSystem }),
    messages,
    ...tools,
    ...(thinking.thinking && { thinking: thinking.thinking }),
    ...(Object.keys(outputConfig).length > 0 && { output_config: outputConfig }),
    temperature,
    top_p: topP,
    top_k: topK,
    ...(stop.length > 0 && { stop_sequences: stop }),
    stream: true,
  }
  const interleaves = thinking.thinking?.type === 'enabled' && !target.refusedBetas.has(INTERLEAVED_THINKING_BETA)
  const betas = interleaves ? [INTERLEAVED_THINKING_BETA] : []
  const finished = finishRequest({ body: markForCaching(body), betas }, target)
  for (const warning of finished.warnings) {
    const name = turnFields.get(warning.field)
    warnings.push(name === undefined ? warning : { ...warning, field: turn.fieldNames[name] })
  }
  const sent = Buffer.from(JSON.stringify(finished.body))
  return withContinuation({ body: sent, headers: encodeHeaders(finished.betas), warnings })
}

/** Members that the adaptation rules change, by the caller's names. */
const turnFields: ReadonlyMap<string, TurnField> = new Map([
  ['max_tokens', 'maxOutputTokens'],
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
])

/** Every Claude since 3.5 can write that many tokens. */
const FALLBACK_MAX_TOKENS = 8192

function refuseImpossible({ logprobs, fieldNames }: Turn): void {
  if (logprobs === undefined) return
  refuseValue(fieldNames.logprobs, 'log probabilities are not available for Claude', 'unsupported_value')
}

/** The member of the caller's body that holds the conversation: `messages`, `input`. */
function memberOf({ items }: Turn): string {
  return items.find(({ path }) => path !== '')?.path.split('.', 1)[0] ?? ''
}

type WireThinking = Pick<MessagesRequest, 'thinking' | 'output_config'>

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
      warnings.push({ code: 'dropped', field: fieldNames.effort, detail: 'this effort is unknown' })
    }
    return {}
  }
  const type = mode ?? (stated === 'none' ? 'disabled' : 'adaptive')
  // Only some models accept `max`. If the model's levels are unknown, send a lower level.
  const effort = stated === 'xhigh' && target.efforts === undefined ? 'high' : stated
  const plan = planThinking({ type, budgetTokens, effort: effort === 'none' ? undefined : effort }, target, setting)
  if (plan.conflict !== undefined) {
    warnings.push({ code: 'dropped', field: fieldNames.reasoning, detail: plan.conflict })
  }
  if (plan.isBudgetClamped === true) {
    warnings.push({ code: 'clamped', field: fieldNames.reasoning, detail: `sent as ${plan.budgetTokens} tokens` })
  }
  // `low` is Anthropic's lowest level.
  const isSame = plan.effort === stated || (stated === 'minimal' && plan.effort === 'low')
  if (stated !== undefined && plan.effort !== undefined && !isSame) {
    warnings.push({ code: 'clamped', field: fieldNames.effort, detail: `sent as ${plan.effort}` })
  }
  const thinks = plan.type !== undefined && plan.type !== 'disabled'
  return {
    thinking: {
      type: plan.type ?? 'disabled',
      ...(plan.type === 'enabled' && { budget_tokens: plan.budgetTokens }),
      ...(thinks && encodeDisplay(reasoning?.summary, target)),
    },
    ...(plan.effort !== undefined && { output_config: { effort: plan.effort } }),
  }
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

function encodeFormat({ format, fieldNames }: Turn, target: Target, warnings: Warning[]): WireFormat {
  if (format === undefined) return { system: [] }
  const schema = format.type === 'json_schema' ? format.schema : undefined
  if (schema === undefined || !target.takesOutputConfig || target.traits.supports.structuredOutputs === false) {
    const detail = `${target.traits.id} does not support it; requested in the system text`
    warnings.push({ code: 'json_hinted', field: fieldNames.format, detail })
    return { system: [{ type: 'text', text: jsonHint(schema) }] }
  }
  const fitted = toFormatSchema(schema)
  for (const keyword of fitted.removed) {
    const detail = `the provider does not accept ${keyword} in the schema of an answer`
    warnings.push({ code: 'schema_simplified', field: `${fieldNames.format}.${keyword}`, detail })
  }
  return { system: [], output_config: { format: { type: 'json_schema', schema: fitted.schema } } }
}

/** Blank texts are dropped, because upstream refuses them. Source: Anthropic API reference, stop_sequences, 2026-11. */
function encodeStop({ stop, fieldNames }: Turn, warnings: Warning[]): readonly string[] {
  const kept = stop.filter((text) => !isBlank(text))
  if (kept.length < stop.length) {
    warnings.push({ code: 'dropped', field: fieldNames.stop, detail: 'Claude does not accept blank stop sequences' })
  }
  return kept
}

/** Fields that Claude has no equivalent for. */
function dropUnknown({ sampling, verbosity, fieldNames }: Turn, warnings: Warning[]): void {
  const stated: readonly (readonly [TurnField, boolean])[] = [
    ['frequencyPenalty', isSet(sampling.frequencyPenalty)],
    ['presencePenalty', isSet(sampling.presencePenalty)],
    ['seed', sampling.seed !== undefined],
    ['logitBias', sampling.logitBias !== undefined && Object.keys(sampling.logitBias).length > 0],
    ['verbosity', verbosity !== undefined && verbosity !== 'medium'],
  ]
  for (const [field, isStated] of stated) {
    if (isStated) warnings.push({ code: 'dropped', field: fieldNames[field], detail: 'Claude has no equivalent' })
  }
}

function isSet(penalty: number | undefined): boolean {
  return penalty !== undefined && penalty !== 0
}

type WireTools = Pick<MessagesRequest, 'tools' | 'tool_choice'>

/** Claude has no list of allowed tools, so other tools are not sent. */
function encodeTools(turn: Turn, warnings: Warning[]): WireTools {
  const tools = allowedTools(turn).map((tool) => encodeTool(tool, warnings))
  if (tools.length === 0) return {}
  const choice = encodeChoice(turn)
  return { tools, ...(choice && { tool_choice: choice }) }
}

function allowedTools({ tools, toolChoice }: Turn): readonly FunctionTool[] {
  // `prepareTurn` has wrapped, refused or removed other kinds.
  const functions = tools.filter((tool) => tool.type === 'function')
  if (toolChoice?.type !== 'allowed') return functions
  const allowed = new Set(toolChoice.tools.map(({ name }) => name))
  return functions.filter(({ name }) => allowed.has(name))
}

function encodeTool(tool: FunctionTool, warnings: Warning[]): MessagesTool {
  const { name, description, parameters, strict, cache, path } = tool
  if (strict === true) {
    const detail = 'not every backend of the provider enforces the schema; the model still gets it'
    warnings.push({ code: 'dropped', field: `${path}.strict`, detail })
  }
  // `prepareTurn` has made every schema an object schema.
  const schema = isObject(parameters) ? parameters : { type: 'object', properties: {} }
  return { name, ...(description && { description }), input_schema: schema, ...cacheControl(cache) }
}

function encodeChoice({ toolChoice, parallelToolCalls }: Turn): WireTools['tool_choice'] {
  const one = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
  switch (toolChoice?.type) {
    case undefined:
      return parallelToolCalls === false ? { type: 'auto', ...one } : undefined
    case 'auto':
    case 'validated':
      return { type: 'auto', ...one }
    case 'none':
      return { type: 'none' }
    case 'required':
      return { type: 'any', ...one }
    case 'tool':
      return { type: 'tool', name: toolChoice.name, ...one }
    case 'allowed':
      return { type: toolChoice.mode === 'required' ? 'any' : 'auto', ...one }
  }
}
