import type { EncodeContext, EncodedRequest } from '../../dialect.ts'
import { isEffort, wantedEffort } from '../../parts/effort.ts'
import { refuseValue } from '../../parts/invalid.ts'
import type { JsonObject } from '../../../json/json.ts'
import { refuseAsPrefill, refuseTooManyTools } from '../../parts/shared-checks.ts'
import { isStrictSchema } from '../../parts/json-schema.ts'
import type { OutputFormat, Turn, TurnField, TurnReasoning } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { encodeItems } from './encode-items.ts'
import { encodeTools } from './encode-tools.ts'
import { finishRequest } from './finish-request.ts'
import { fitEffort, isChatgpt, knownEffort, takesReasoning, takesSampling, takesSummary } from './model-profile.ts'
import { ENCRYPTED, LOGPROBS, fitInclude, isEmptyObject, isOne, isZero } from './members.ts'
import { sessionOf } from './session.ts'

/** OpenAI's smallest limit of output tokens. Source: OpenAI API reference, responses, 2026-11. */
const LEAST_OUTPUT_TOKENS = 16

/**
 * Encodes the body for a Responses upstream: stateless, streaming, with encrypted reasoning.
 *
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function encodeResponsesTurn(turn: Turn, context: EncodeContext): EncodedRequest {
  const warnings: Warning[] = []
  const { instructions, input } = encodeItems(turn.items, context, warnings)
  refusePrefill(input)
  const reasoning = encodeReasoning(turn, context, warnings)
  const text = encodeText(turn, context, warnings)
  const tools = encodeTools(turn, context, warnings)
  if (Array.isArray(tools['tools'])) refuseTooManyTools(tools['tools'].length, 'tools', context.model)
  const body: JsonObject = {
    model: context.model.id,
    ...((instructions !== '' || isChatgpt(context)) && { instructions }),
    input,
    ...tools,
    ...encodeCap(turn, context, warnings),
    ...encodeSampling(turn, context, warnings),
    ...(reasoning !== undefined && { reasoning }),
    ...(text !== undefined && { text }),
    ...encodeLogprobs(turn, context),
    include: fitInclude(includeOf(turn), context, warnings),
    store: false,
    stream: true,
  }
  const session = sessionOf(turn.cacheKey ?? turn.sessionId, body)
  const finished = finishRequest(body, session, context, warnings, (field) => {
    // The key does not affect the answer.
    if (field === 'prompt_cache_key') return undefined
    const name = Object.hasOwn(callersField, field) ? callersField[field] : undefined
    return { code: 'refused_upstream', field: name === undefined ? field : turn.fieldNames[name] }
  })
  return { ...finished, body: Buffer.from(JSON.stringify(finished.body)), warnings }
}

/** OpenAI's models answer a final assistant message instead of continuing it. */
function refusePrefill(input: readonly JsonObject[]): void {
  if (input.findLast(({ type }) => type !== 'reasoning')?.['role'] === 'assistant') refuseAsPrefill()
}

function encodeCap(turn: Turn, context: EncodeContext, warnings: Warning[]): JsonObject {
  const wanted = turn.maxOutputTokens
  if (wanted === undefined) return {}
  const field = turn.fieldNames.maxOutputTokens
  if (isChatgpt(context)) {
    warnings.push({ code: 'dropped', field, detail: 'this provider does not accept a limit' })
    return {}
  }
  const { model } = context
  const limit = model.maxOutputTokens ?? Infinity
  if (wanted > limit) warnings.push({ code: 'clamped', field, detail: `above the limit of ${model.id}` })
  return { max_output_tokens: Math.max(LEAST_OUTPUT_TOKENS, Math.min(wanted, limit)) }
}

interface SamplingRow {
  readonly field: TurnField
  readonly value: (turn: Turn) => unknown
  /** Upstream's member; absent if it has none. */
  readonly member?: string
  /** The value asks for the default. */
  readonly isIdle?: (value: unknown) => boolean
}

const samplingRows: readonly SamplingRow[] = [
  { field: 'temperature', member: 'temperature', value: ({ sampling }) => sampling.temperature, isIdle: isOne },
  { field: 'topP', member: 'top_p', value: ({ sampling }) => sampling.topP, isIdle: isOne },
  { field: 'topK', value: ({ sampling }) => sampling.topK },
  { field: 'frequencyPenalty', value: ({ sampling }) => sampling.frequencyPenalty, isIdle: isZero },
  { field: 'presencePenalty', value: ({ sampling }) => sampling.presencePenalty, isIdle: isZero },
  { field: 'seed', value: ({ sampling }) => sampling.seed },
  { field: 'logitBias', value: ({ sampling }) => sampling.logitBias, isIdle: isEmptyObject },
]

function encodeSampling(turn: Turn, context: EncodeContext, warnings: Warning[]): JsonObject {
  const taken = takesSampling(context)
  const members: [string, unknown][] = []
  for (const { field, value: read, member, isIdle } of samplingRows) {
    const value = read(turn)
    if (value === undefined) continue
    if (member !== undefined && taken) members.push([member, value])
    else if (isIdle?.(value) !== true) {
      warnings.push({ code: 'dropped', field: turn.fieldNames[field], detail: `not supported by ${context.model.id}` })
    }
  }
  return Object.fromEntries(members)
}

/** Undefined if the caller stated nothing about reasoning; the model's default then applies. */
function encodeReasoning(turn: Turn, context: EncodeContext, warnings: Warning[]): JsonObject | undefined {
  const { fieldNames } = turn
  if (turn.reasoning === undefined) return undefined
  const { model } = context
  const reasoning = withKnownEffort(turn.reasoning, context)
  const wanted = wantedEffort(reasoning)
  if (!takesReasoning(model)) {
    if (wanted !== undefined && wanted !== 'none') {
      warnings.push({ code: 'dropped', field: fieldNames.reasoning, detail: `${model.id} does not support reasoning` })
    }
    return undefined
  }
  if (reasoning.effort !== undefined && !isEffort(reasoning.effort)) {
    warnings.push({ code: 'dropped', field: fieldNames.effort, detail: 'this effort is unknown' })
  }
  if (reasoning.effort !== turn.reasoning.effort) {
    warnings.push({ code: 'adapted', field: fieldNames.effort, detail: `sent as '${reasoning.effort}' to ${model.id}` })
  }
  const effort = wanted === undefined ? undefined : fitEffort(wanted, context)
  if (effort !== wanted) {
    warnings.push({
      code: effort === undefined ? 'dropped' : 'clamped',
      field: effortField(turn, reasoning),
      detail: `${model.id} does not support '${wanted}'`,
    })
  }
  const summary = wanted !== 'none' && takesSummary(context) ? summaryOf(reasoning, wanted) : undefined
  if (effort === undefined && summary === undefined) return undefined
  return { ...(effort !== undefined && { effort }), ...(summary !== undefined && { summary }) }
}

function withKnownEffort(reasoning: TurnReasoning, context: EncodeContext): TurnReasoning {
  const { effort } = reasoning
  return effort === undefined ? reasoning : { ...reasoning, effort: knownEffort(effort, context) }
}

/** The caller's field that determined the effort. */
function effortField({ fieldNames }: Turn, { mode, effort }: TurnReasoning): string {
  // Only the Messages API has `thinking: {type: "disabled"}`.
  if (mode === 'disabled') return 'thinking.disabled'
  return isEffort(effort) ? fieldNames.effort : fieldNames.reasoning
}

/** A caller that asks for reasoning gets a summary, unless it declines one. */
function summaryOf({ summary }: TurnReasoning, wanted: string | undefined): string | undefined {
  if (summary === 'none') return undefined
  return summary ?? (wanted === undefined ? undefined : 'auto')
}

function encodeText(turn: Turn, { model }: EncodeContext, warnings: Warning[]): JsonObject | undefined {
  const { format, fieldNames } = turn
  const takesVerbosity = model.supports.verbosity !== false
  const verbosity = takesVerbosity ? turn.verbosity : undefined
  if (verbosity !== turn.verbosity) {
    warnings.push({ code: 'dropped', field: fieldNames.verbosity, detail: `not supported by ${model.id}` })
  }
  if (format === undefined && verbosity === undefined) return undefined
  return {
    ...(format !== undefined && { format: encodeFormat(format, turn, warnings) }),
    ...(verbosity !== undefined && { verbosity }),
  }
}

function encodeFormat(format: OutputFormat, { fieldNames }: Turn, warnings: Warning[]): JsonObject {
  if (format.type === 'json_object') return { type: 'json_object' }
  const { name, description, schema, strict } = format
  // Absent counts as true, as in the Messages API.
  const isStrict = strict !== false && isStrictSchema(schema)
  if (strict === true && !isStrict) {
    const detail = 'strict dropped: the schema does not fit strict mode'
    warnings.push({ code: 'dropped', field: `${fieldNames.format}.strict`, detail })
  }
  return {
    type: 'json_schema',
    name: name ?? 'response',
    ...(description !== undefined && { description }),
    strict: isStrict,
    schema,
  }
}

function encodeLogprobs({ logprobs, fieldNames }: Turn, context: EncodeContext): JsonObject {
  if (logprobs === undefined) return {}
  if (isChatgpt(context)) {
    refuseValue(fieldNames.logprobs, 'log probabilities are not available from this provider', 'unsupported_value')
  }
  return logprobs.top === undefined ? {} : { top_logprobs: logprobs.top }
}

function includeOf({ logprobs }: Turn): readonly string[] {
  return logprobs === undefined ? [ENCRYPTED] : [ENCRYPTED, LOGPROBS]
}

/** The caller's fields for members that upstream may refuse. */
const callersField: Readonly<Record<string, TurnField>> = {
  max_output_tokens: 'maxOutputTokens',
  temperature: 'temperature',
  top_p: 'topP',
  top_logprobs: 'logprobs',
  parallel_tool_calls: 'parallelToolCalls',
  reasoning: 'reasoning',
  'reasoning.effort': 'effort',
  'text.verbosity': 'verbosity',
}
