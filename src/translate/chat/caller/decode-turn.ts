import type { CallerRequest, DecodedTurn } from '../../dialect.ts'
import { refuseType, refuseValue } from '../../parts/invalid.ts'
import { isFilled, isObject } from '../../../json/json.ts'
import type { FieldNames, OutputFormat, Sampling, Turn, TurnReasoning } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { cutHistory, withTools } from '../request-changes.ts'
import { chatReplyNotes } from '../reply-notes.ts'
import { chatBodyOf, chatFieldNames, type ChatMessage, type ChatRequest } from '../wire.ts'
import { decodeItems } from './decode-items.ts'
import { decodeToolChoice, decodeTools } from './decode-tools.ts'

/**
 * Decodes a chat request.
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function decodeChatTurn(request: CallerRequest): DecodedTurn {
  const source = chatBodyOf(request)
  const body = source.value
  refuseAudioOutput(body)
  const { messages: kept, warnings: cutWarnings } = cutHistory(body.messages, source.options.historyWindow)
  const modern: ChatRequest = { ...body, messages: kept, ...withTools({ ...body, messages: kept })?.patch }
  const { items, warnings } = decodeItems(modern.messages, positionsOf(body.messages, kept))
  const reasoning = decodeReasoning(body)
  const format = decodeFormat(body.response_format)
  const toolChoice = decodeToolChoice(modern.tool_choice)
  const { prompt_cache_key: cacheKey } = body
  const verbosity = aString('verbosity', body['verbosity'])
  const maxOutputTokens = body.max_completion_tokens ?? body.max_tokens ?? undefined
  const turn: Turn = {
    fieldNames: (body.max_completion_tokens ?? undefined) === undefined ? olderFieldNames : chatFieldNames,
    items,
    tools: decodeTools(modern, body.tools?.length ?? 0),
    ...(toolChoice && { toolChoice }),
    ...(typeof body.parallel_tool_calls === 'boolean' && { parallelToolCalls: body.parallel_tool_calls }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    sampling: decodeSampling(body),
    stop: decodeStop(body.stop),
    ...(format && { format }),
    ...(verbosity !== undefined && { verbosity }),
    ...(reasoning && { reasoning }),
    ...(body.logprobs === true && { logprobs: { top: body.top_logprobs ?? undefined } }),
    ...(isFilled(cacheKey) && { cacheKey }),
    sessionId: request.sessionId,
  }
  return {
    turn,
    warnings: [...cutWarnings, ...warnings, ...memberWarnings(body)],
    replyNotes: chatReplyNotes(source),
  }
}

/** The caller's position of each message that the window kept. */
function positionsOf(all: readonly ChatMessage[], kept: readonly ChatMessage[]): number[] {
  let at = -1
  return kept.map((message) => {
    at = all.indexOf(message, at + 1)
    return at
  })
}

function refuseAudioOutput(body: ChatRequest): void {
  const modalities = body['modalities']
  if (Array.isArray(modalities) && modalities.includes('audio')) {
    refuseValue('modalities', 'audio output is not supported', 'unsupported_value')
  }
}

function decodeSampling(body: ChatRequest): Sampling {
  const topK = body['top_k'] ?? undefined
  if (topK !== undefined && typeof topK !== 'number') refuseType('top_k', 'a number', topK)
  return {
    ...(typeof body.temperature === 'number' && { temperature: body.temperature }),
    ...(typeof body.top_p === 'number' && { topP: body.top_p }),
    ...(topK !== undefined && { topK }),
    ...(typeof body.frequency_penalty === 'number' && { frequencyPenalty: body.frequency_penalty }),
    ...(typeof body.presence_penalty === 'number' && { presencePenalty: body.presence_penalty }),
    ...(typeof body.seed === 'number' && { seed: body.seed }),
    ...(body.logit_bias && { logitBias: body.logit_bias }),
  }
}

/** An empty stop text would end every answer at once. */
function decodeStop(stop: ChatRequest['stop']): readonly string[] {
  const texts = typeof stop === 'string' ? [stop] : (stop ?? [])
  return texts.filter((text) => text !== '')
}

/** Source: OpenAI API reference, chat completions, response_format, 2026-11. */
function decodeFormat(format: ChatRequest['response_format']): OutputFormat | undefined {
  switch (format?.type) {
    case undefined:
    case 'text':
      return undefined
    case 'json_object':
      return { type: 'json_object' }
    case 'json_schema':
      return decodeSchema({ ...format })
    default:
      return refuseValue('response_format.type', 'expected one of text, json_object, json_schema', 'unsupported_value')
  }
}

function decodeSchema({ json_schema: described }: Readonly<Record<string, unknown>>): OutputFormat {
  const path = 'response_format.json_schema'
  if (!isObject(described)) refuseType(path, 'an object with name and schema', described)
  const { name, description, strict, schema } = described
  if (!isFilled(name)) refuseType(`${path}.name`, 'a string', name)
  // Without a schema, OpenAI takes any object.
  if (schema === undefined || schema === null) return { type: 'json_object' }
  if (!isObject(schema)) refuseType(`${path}.schema`, 'an object', schema)
  return {
    type: 'json_schema',
    name,
    schema,
    ...(isFilled(description) && { description }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}

/** OpenAI's effort, and the members that Copilot takes for Claude on this route. */
function decodeReasoning(body: ChatRequest): TurnReasoning | undefined {
  const { reasoning_effort: effort, thinking, thinking_budget: budget } = body
  const asked = {
    ...(typeof budget === 'number' && decodeBudget(budget)),
    ...(isObject(thinking) && decodeThinking(thinking)),
    ...(isFilled(effort) && { effort }),
  }
  return Object.keys(asked).length === 0 ? undefined : asked
}

function decodeBudget(tokens: number): TurnReasoning {
  return tokens > 0 ? { mode: 'enabled', budgetTokens: tokens } : { mode: 'disabled' }
}

function decodeThinking({ type, budget_tokens: budget }: Readonly<Record<string, unknown>>): TurnReasoning {
  switch (type) {
    case 'adaptive':
    case 'disabled':
    case 'between_tools':
      return { mode: type }
    case 'enabled':
      return { mode: type, ...(typeof budget === 'number' && { budgetTokens: budget }) }
    default:
      return {}
  }
}

/** Members that are decoded above, or that do not matter for a translated reply. */
const carried = namesOf(
  'model messages stream stream_options n max_tokens max_completion_tokens temperature top_p top_k frequency_penalty',
  'presence_penalty seed logit_bias stop logprobs top_logprobs response_format verbosity reasoning_effort thinking',
  'thinking_budget tools tool_choice parallel_tool_calls functions function_call web_search_options modalities',
)

/** Members about the user and OpenAI's cache. Dropping them changes no answer. */
const silent = namesOf('user safety_identifier prompt_cache_key prompt_cache_retention prompt_cache_options')

/** Values that ask for the default behaviour. */
const usual: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ['service_tier', ['auto', 'default']],
  ['store', [false]],
])

function namesOf(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')))
}

function memberWarnings(body: ChatRequest): Warning[] {
  const { max_tokens: older, max_completion_tokens: newer } = body
  const lost = Object.keys(body).filter((member) => {
    const value = body[member] ?? undefined
    if (value === undefined || carried.has(member) || silent.has(member)) return false
    return usual.get(member)?.includes(value) !== true
  })
  const hasOtherCap = typeof older === 'number' && typeof newer === 'number' && older !== newer
  return [
    ...(hasOtherCap ? [dropped('max_tokens', 'max_completion_tokens is set too')] : []),
    ...lost.map((member) => dropped(member, 'the API of the provider does not have this field')),
  ]
}

function dropped(field: string, detail: string): Warning {
  return { code: 'dropped', field, detail }
}

function aString(path: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') refuseType(path, 'a string', value)
  return value
}

/** For callers that send the older `max_tokens`. */
const olderFieldNames: FieldNames = { ...chatFieldNames, maxOutputTokens: 'max_tokens' }
