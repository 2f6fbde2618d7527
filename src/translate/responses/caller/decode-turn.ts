import type { CallerRequest, DecodedTurn, ReplySeed } from '../../dialect.ts'
import { nameSet } from '../../learned-refusals.ts'
import { refuseValue } from '../../parts/invalid.ts'
import { isObject, type JsonObject } from '../../../json/json.ts'
import type { StoredInput } from '../../reply-memory.ts'
import type { OutputFormat, Sampling, Turn, TurnReasoning } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { echoOf } from '../response-object.ts'
import { type ResponsesRequest, nameable, responsesBodyOf, responsesFieldNames, storedInputOf } from '../wire.ts'
import { decodeItems } from './decode-items.ts'
import { decodeToolChoice, decodeTools } from './decode-tools.ts'

/**
 * Decodes a caller's request for an upstream of another dialect. `instructions` become the first item; system and
 * developer messages keep their places.
 *
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function decodeResponsesTurn(request: CallerRequest): DecodedTurn {
  const { sessionId } = request
  const body = responsesBodyOf(request)
  const { value, continues } = body
  if (value.previous_response_id) {
    refuseValue('previous_response_id', 'no response with this id is stored', 'previous_response_not_found')
  }
  const toolWarnings: Warning[] = []
  const listed = decodeTools(value.tools, 'tools', toolWarnings)
  const input = decodeItems(value.input ?? [])
  const warnings = [...leftOut(value), ...toolWarnings, ...input.warnings]
  const tools = [...listed, ...input.tools]
  const reasoning = decodeReasoning(value)
  const turn: Turn = {
    fieldNames: responsesFieldNames,
    items: [...instructionItems(value), ...input.items],
    tools,
    // Otherwise the model could call a tool instead of writing the summary.
    toolChoice: input.asksForCompaction ? { type: 'none' } : decodeToolChoice(value.tool_choice, tools),
    parallelToolCalls: value.parallel_tool_calls ?? undefined,
    maxOutputTokens: value.max_output_tokens ?? undefined,
    sampling: decodeSampling(value),
    stop: [],
    format: input.asksForCompaction ? undefined : decodeFormat(value),
    verbosity: value.text?.verbosity ?? undefined,
    reasoning,
    logprobs: value.include?.includes(LOGPROBS) === true ? { top: value.top_logprobs ?? undefined } : undefined,
    cacheKey: value.prompt_cache_key || undefined,
    ...(sessionId !== undefined && { sessionId }),
  }
  const replyNotes: ResponsesReplyNotes = {
    echo: echoOf(value, continues),
    isCompaction: input.asksForCompaction,
    hidesThinking: reasoning?.summary === 'none',
    storedInput: storedInputOf(body),
  }
  return { turn, warnings, replyNotes }
}

/** The facts about the request that its reply to a Responses caller needs. */
export interface ResponsesReplyNotes {
  /** The members of the response object that repeat the request. */
  readonly echo?: JsonObject | undefined
  /** The reply is one compaction item with the answer's text as its summary. */
  readonly isCompaction?: boolean
  /** The caller requested no summary of the reasoning. */
  readonly hidesThinking?: boolean
  readonly storedInput?: StoredInput | undefined
}

const noNotes: ResponsesReplyNotes = {}

export function replyNotesOf({ notes }: ReplySeed): ResponsesReplyNotes {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `decodeResponsesTurn` made them
  return (notes.caller as ResponsesReplyNotes | undefined) ?? noNotes
}

const LOGPROBS = 'message.output_text.logprobs'

function instructionItems({ instructions }: ResponsesRequest): Turn['items'] {
  if (!instructions) return []
  return [{ type: 'message', role: 'system', parts: [{ type: 'text', text: instructions }], path: 'instructions' }]
}

function decodeSampling(value: ResponsesRequest): Sampling {
  return {
    temperature: value.temperature ?? undefined,
    topP: value.top_p ?? undefined,
    frequencyPenalty: value.frequency_penalty ?? undefined,
    presencePenalty: value.presence_penalty ?? undefined,
  }
}

function decodeReasoning({ reasoning }: ResponsesRequest): TurnReasoning | undefined {
  const effort = reasoning?.effort ?? undefined
  const summary = reasoning?.summary ?? reasoning?.generate_summary ?? undefined
  // The Responses API gives a summary only on request; upstreams of other dialects give one anyway.
  return effort === undefined && summary === undefined ? undefined : { effort, summary: summary ?? 'none' }
}

function decodeFormat({ text }: ResponsesRequest): OutputFormat | undefined {
  const format = text?.format
  switch (format?.type) {
    case undefined:
    case 'text':
      return undefined
    case 'json_object':
      return { type: 'json_object' }
    case 'json_schema':
      return {
        type: 'json_schema',
        name: format.name ?? undefined,
        description: format.description ?? undefined,
        // `check-request.ts` has checked that there is one.
        schema: format.schema ?? {},
        strict: format.strict ?? undefined,
      }
    default:
      return refuseValue('text.format.type', 'expected text, json_object or json_schema', 'unsupported_value')
  }
}

/** Members that are decoded here or handled earlier. */
const read = nameSet(
  'model input instructions stream tools tool_choice parallel_tool_calls max_output_tokens temperature top_p ' +
    'frequency_penalty presence_penalty top_logprobs reasoning text previous_response_id background conversation ' +
    'prompt include',
)

/** Members that change no answer: labels, storage, and the delivery of the reply. */
const harmless = nameSet(
  'user client_metadata store prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier ' +
    'stream_options',
)

/** Values that ask for the default. */
const USUAL: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ['service_tier', ['auto', 'default']],
  ['truncation', ['disabled']],
  ['reasoning.context', ['auto']],
  ['reasoning.mode', ['standard']],
])

/** Values of `include` that are supported. Reasoning is always encrypted. */
const INCLUDED: ReadonlySet<string> = new Set(['reasoning.encrypted_content', 'message.output_text.logprobs'])

/** A header has no room for more. */
const mostWarnings = 32

/** A warning for each member that a Turn cannot hold. */
function leftOut(value: ResponsesRequest): readonly Warning[] {
  const { context, mode } = value.reasoning ?? {}
  const members = { ...value, 'reasoning.context': context, 'reasoning.mode': mode }
  const lost = Object.entries(members).filter(([field, setting]) => {
    if (read.has(field) || harmless.has(field) || setting === undefined || setting === null) return false
    // The reply repeats the metadata. Only upstream's storage would have used it.
    if (field === 'metadata') return !isObject(setting) || Object.keys(setting).length > 0
    return USUAL.get(field)?.includes(setting) !== true
  })
  const fields = lost.map(([field]) => field)
  if (value.include?.some((what) => !INCLUDED.has(what)) === true) fields.push('include')
  return fields.slice(0, mostWarnings).map((field) => ({ code: 'dropped', field: nameable(field) }))
}
