import type { EncodeContext, EncodedRequest } from '../../dialect.ts'
import { callerFields, conversationOf } from '../../engine/caller-fields.ts'
import { withPath } from '../../engine/origin.ts'
import { isReasoningGpt, modelFamily, type ModelFamily } from '../../parts/model-family.ts'
import { refuseAsPrefill } from '../../parts/shared-checks.ts'
import { isObject } from '../../../json/json.ts'
import { isStrictSchema } from '../../parts/json-schema.ts'
import type { FunctionTool, OutputFormat, Turn } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import type { ChatMessage, ChatRequest } from '../wire.ts'
import { budgetOfEffort, clampEffort, wantedEffort } from '../../parts/effort.ts'
import type { ModelTraits } from '../../model-traits.ts'
import { adaptRequest } from './adapt/adapt.ts'
import { type EncodedItem, encodeItems } from './encode-items.ts'

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
  const tools = offeredTools(turn)
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
    ...encodeSampling(turn, warnings),
    ...encodeFormat(turn.format),
    ...encodeVerbosity(turn, family, warnings),
    ...(turn.parallelToolCalls !== undefined && { parallel_tool_calls: turn.parallelToolCalls }),
    // A cap of 0 is for filling the cache of the Messages API. Here every answer has at least one token.
    ...(turn.maxOutputTokens !== undefined && { max_tokens: Math.max(1, turn.maxOutputTokens) }),
    ...(turn.logprobs && { logprobs: true, top_logprobs: turn.logprobs.top }),
    ...encodeEffort(turn, model, family, warnings),
  }
  const adapted = adaptRequest(request, context, {
    made: { fields: callerFields(turn, fieldsByMember), conversation: conversationOf(turn) },
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

/**
 * The tools that the model may call. If the caller allows only some of them, only those are sent, because only OpenAI's
 * backends accept a choice among several.
 */
function offeredTools({ tools, toolChoice }: Turn): FunctionTool[] {
  const functions = tools.filter((tool) => tool.type === 'function')
  if (toolChoice?.type !== 'allowed') return functions
  const allowed = new Set(toolChoice.tools.map(({ name }) => name))
  return functions.filter(({ name }) => allowed.has(name))
}

function encodeTool({ name, description, parameters, strict }: FunctionTool) {
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      ...(isObject(parameters) && { parameters }),
      ...(strict !== undefined && { strict }),
    },
  }
}

function encodeToolChoice({ toolChoice }: Turn): Partial<ChatRequest> {
  if (toolChoice === undefined) return {}
  switch (toolChoice.type) {
    case 'tool':
      return { tool_choice: { type: 'function', function: { name: toolChoice.name } } }
    case 'allowed':
      return { tool_choice: toolChoice.mode }
    default:
      return { tool_choice: toolChoice.type }
  }
}

function encodeSampling({ sampling, fieldNames }: Turn, warnings: Warning[]): Partial<ChatRequest> {
  const { temperature, topP, topK, frequencyPenalty, presencePenalty, seed, logitBias } = sampling
  if (topK !== undefined) {
    warnings.push({ code: 'dropped', field: fieldNames.topK, detail: 'Chat Completions has no such parameter' })
  }
  return {
    temperature,
    top_p: topP,
    frequency_penalty: frequencyPenalty,
    presence_penalty: presencePenalty,
    seed,
    logit_bias: logitBias,
  }
}

/** A Messages caller sends neither name nor strictness: it gets a default name, and strict if OpenAI would take it. */
function encodeFormat(format: OutputFormat | undefined): Partial<ChatRequest> {
  if (format?.type !== 'json_schema') return { response_format: format }
  const { name, description, schema, strict } = format
  const described = {
    name: name ?? 'response',
    ...(description !== undefined && { description }),
    strict: strict ?? (name === undefined ? isStrictSchema(schema) : undefined),
    schema,
  }
  const written = { type: format.type, json_schema: described }
  return { response_format: written }
}

function encodeVerbosity(
  { verbosity, fieldNames }: Turn,
  family: ModelFamily,
  warnings: Warning[],
): Partial<ChatRequest> {
  if (verbosity === undefined) return {}
  if (family.kind === 'gpt' && (family.major ?? 0) >= 5) return { verbosity }
  warnings.push({ code: 'dropped', field: fieldNames.verbosity, detail: 'only GPT-5 and later models support it' })
  return {}
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

/** The field of a Turn that each member of the request comes from. */
const fieldsByMember = {
  max_tokens: 'maxOutputTokens',
  max_completion_tokens: 'maxOutputTokens',
  temperature: 'temperature',
  top_p: 'topP',
  frequency_penalty: 'frequencyPenalty',
  presence_penalty: 'presencePenalty',
  seed: 'seed',
  logit_bias: 'logitBias',
  response_format: 'format',
  verbosity: 'verbosity',
  reasoning_effort: 'effort',
  logprobs: 'logprobs',
  top_logprobs: 'logprobs',
  tool_choice: 'toolChoice',
  parallel_tool_calls: 'parallelToolCalls',
} as const

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
