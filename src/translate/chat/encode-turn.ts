import type { EncodeContext, EncodedRequest } from '../dialect.ts'
import { modelFamily, type ModelFamily } from '../parts/model-family.ts'
import { refuseAsPrefill } from '../parts/refuse-as-prefill.ts'
import { isStrictSchema } from '../parts/strict-schema.ts'
import type { FunctionTool, OutputFormat, Turn, TurnField } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { adaptRequest } from './adapt/adapt.ts'
import { encodeItems, type EncodedItem } from './encode-items.ts'
import { encodeEffort } from './encode-reasoning.ts'
import { NO_CACHE_MARKS } from './lessons.ts'
import { toUpstream } from './upstream-request.ts'
import type { ChatMessage, ChatRequest } from './wire-request.ts'

/**
 * A Turn as a request for Copilot's chat completions, fitted to the model as a chat caller's is.
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function encodeChatTurn(turn: Turn, context: EncodeContext): EncodedRequest {
  const { model, lessons } = context
  const family = modelFamily(model)
  const { messages, warnings: itemWarnings } = encodeItems(turn.items, family)
  refusePrefill(messages.at(-1)?.message)
  const warnings = [...itemWarnings]
  const tools = offeredTools(turn)
  const marks =
    family.kind === 'claude' && !lessons.has(NO_CACHE_MARKS)
      ? lastMarks(tools, messages)
      : { tools: noMarks, messages: noMarks }
  const request: ChatRequest = {
    model: model.id,
    messages: messages.map(({ message }, at) => (marks.messages.has(at) ? { ...message, ...cacheMark } : message)),
    ...(tools.length > 0 && {
      tools: tools.map((tool, at) => ({ ...encodeTool(tool), ...(marks.tools.has(at) && cacheMark) })),
    }),
    ...encodeToolChoice(turn),
    ...encodeSampling(turn, warnings),
    ...encodeFormat(turn.format),
    ...encodeVerbosity(turn, family, warnings),
    ...(turn.parallelToolCalls !== undefined && { parallel_tool_calls: turn.parallelToolCalls }),
    // A cap of 0 only fills the cache of the Messages API; here every answer has a token.
    ...(turn.maxOutputTokens !== undefined && { max_tokens: Math.max(1, turn.maxOutputTokens) }),
    ...(turn.logprobs && { logprobs: true, top_logprobs: turn.logprobs.top }),
    ...encodeEffort(turn, model, family, warnings),
  }
  const adapted = adaptRequest(request, model, lessons)
  return {
    body: Buffer.from(JSON.stringify(toUpstream(adapted.request, context))),
    warnings: [...warnings, ...inCallersWords(adapted.warnings, turn, messages, tools)],
  }
}

/** Chat models answer a final assistant message instead of continuing it; what the caller meant would be lost. */
function refusePrefill(last: ChatMessage | undefined): void {
  if (last?.role === 'assistant' && !last.tool_calls) refuseAsPrefill()
}

/**
 * The tools a model may call. Where the caller allows some of them only, upstream is told of no other: a choice of
 * several is more than backends but OpenAI's take.
 */
function offeredTools({ tools, toolChoice }: Turn): FunctionTool[] {
  const functions = tools.filter((tool) => tool.type === 'function')
  if (toolChoice?.type !== 'allowed') return functions
  const allowed = new Set(toolChoice.tools.map(({ name }) => name))
  return functions.filter(({ name }) => allowed.has(name))
}

function encodeTool({
  name,
  description,
  parameters,
  strict,
}: FunctionTool): NonNullable<ChatRequest['tools']>[number] {
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      ...(isSchema(parameters) && { parameters }),
      ...(strict !== undefined && { strict }),
    },
  }
}

function isSchema(parameters: unknown): parameters is Readonly<Record<string, unknown>> {
  return typeof parameters === 'object' && parameters !== null && !Array.isArray(parameters)
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
    warnings.push({ code: 'dropped', field: fieldNames.topK, detail: 'chat completions have no such parameter' })
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

/** The Messages API knows neither name nor strictness: a name of ours then, and strict where OpenAI would take it. */
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
  warnings.push({ code: 'dropped', field: fieldNames.verbosity, detail: 'known to GPT-5 and later only' })
  return {}
}

const cacheMark = { copilot_cache_control: { type: 'ephemeral' } }
const noMarks: ReadonlySet<number> = new Set()
/** Anthropic's limit for one request (docs/copilot-wire.md, "Parameters by model"). */
const MOST_MARKS = 4

/** Which tools and messages are marked: of too many the last ones, which cover the most. */
function lastMarks(tools: readonly FunctionTool[], messages: readonly EncodedItem[]) {
  const markedTools = tools.flatMap(({ cache }, at) => (cache ? [at] : []))
  const markedMessages = messages.flatMap(({ cache }, at) => (cache ? [at] : []))
  const left = Math.max(0, MOST_MARKS - markedMessages.length)
  return {
    tools: new Set(left === 0 ? [] : markedTools.slice(-left)),
    messages: new Set(markedMessages.slice(-MOST_MARKS)),
  }
}

/** Members of the request made here, as the field of a Turn they came from. */
const fieldOfMember: ReadonlyMap<string, TurnField> = new Map([
  ['max_tokens', 'maxOutputTokens'],
  ['max_completion_tokens', 'maxOutputTokens'],
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty'],
  ['seed', 'seed'],
  ['logit_bias', 'logitBias'],
  ['response_format', 'format'],
  ['verbosity', 'verbosity'],
  ['reasoning_effort', 'effort'],
  ['logprobs', 'logprobs'],
  ['top_logprobs', 'logprobs'],
  ['tool_choice', 'toolChoice'],
  ['parallel_tool_calls', 'parallelToolCalls'],
])

/** What was lost, with the caller's names and places. How it is spelt here is none of the caller's business. */
function inCallersWords(
  warnings: readonly Warning[],
  { fieldNames }: Turn,
  messages: readonly EncodedItem[],
  tools: readonly FunctionTool[],
): Warning[] {
  const callersField = (written: string): string => {
    const [member = '', position = ''] = written.split('.')
    const field = fieldOfMember.get(member)
    if (field !== undefined) return fieldNames[field]
    const place = member === 'messages' ? messages[Number(position)] : tools[Number(position)]
    return position !== '' && place !== undefined ? place.path : written
  }
  return warnings
    .filter(({ code }) => code !== 'adapted')
    .map(({ code, field, detail }) => ({ code, field: callersField(field), detail }))
}
