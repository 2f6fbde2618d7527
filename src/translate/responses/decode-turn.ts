import type { CallerRequest, DecodedTurn, ReplySeed } from '../dialect.ts'
import { decodeFields, lostMembers } from '../engine/fields.ts'
import { refuseValue } from '../engine/request/invalid.ts'
import type { Turn, TurnReasoning } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { encryptedTools } from './agent-messages.ts'
import { decodeFormat, ENCRYPTED, LOGPROBS, responsesFields } from './fields.ts'
import type { ResponsesNotes } from './notes.ts'
import { echoOf } from './response-object.ts'
import { type ResponsesRequest, nameable, responsesBodyOf, storedInputOf } from './wire.ts'
import { decodeToolChoice, decodeTools } from './tools.ts'
import { asksForCompaction, decodeItems } from './items/decode-items.ts'

/**
 * Decodes a caller's request for an upstream of another dialect. `instructions` become the first item; system and
 * developer messages keep their places.
 *
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function decodeResponsesTurn(request: CallerRequest): DecodedTurn {
  const { sessionId } = request
  const body = responsesBodyOf(request)
  const { value } = body
  if (value.previous_response_id) {
    refuseValue('previous_response_id', 'no response with this id is stored', 'previous_response_not_found')
  }
  const toolWarnings: Warning[] = []
  const listed = decodeTools(value.tools, 'tools', toolWarnings)
  const input = decodeItems(value.input ?? [])
  const warnings = [...leftOut(value), ...toolWarnings, ...input.warnings]
  const tools = [...listed, ...input.tools]
  const turn: Turn = {
    items: [...instructionItems(value), ...input.items],
    tools,
    // Otherwise the model could call a tool instead of writing the summary.
    toolChoice: input.asksForCompaction ? { type: 'none' } : decodeToolChoice(value.tool_choice, tools),
    ...decodeFields(value, responsesFields),
    parallelToolCalls: value.parallel_tool_calls ?? undefined,
    format: input.asksForCompaction ? undefined : decodeFormat(value),
    verbosity: value.text?.verbosity ?? undefined,
    reasoning: decodeReasoning(value),
    logprobs: value.include?.includes(LOGPROBS) === true ? { top: value.top_logprobs ?? undefined } : undefined,
    cacheKey: value.prompt_cache_key || undefined,
    ...(sessionId !== undefined && { sessionId }),
  }
  return { turn, warnings }
}

/** The facts about a caller's request that its reply needs. */
export function responsesNotes(request: CallerRequest): ResponsesNotes {
  const body = responsesBodyOf(request)
  const { value, continues } = body
  return {
    dialect: 'responses',
    echo: echoOf(value, continues),
    isCompaction: asksForCompaction(value.input ?? []),
    hidesThinking: decodeReasoning(value)?.summary === 'none',
    storedInput: storedInputOf(body),
    opened: encryptedTools(value),
  }
}

const noNotes: ResponsesNotes = { dialect: 'responses' }

export function responsesNotesIn({ notes: { caller } }: ReplySeed): ResponsesNotes {
  return caller?.dialect === 'responses' ? caller : noNotes
}

function instructionItems({ instructions }: ResponsesRequest): Turn['items'] {
  if (!instructions) return []
  return [{ type: 'message', role: 'system', parts: [{ type: 'text', text: instructions }], path: 'instructions' }]
}

function decodeReasoning({ reasoning }: ResponsesRequest): TurnReasoning | undefined {
  const effort = reasoning?.effort ?? undefined
  const summary = reasoning?.summary ?? reasoning?.generate_summary ?? undefined
  // The Responses API gives a summary only on request; upstreams of other dialects give one anyway.
  return effort === undefined && summary === undefined ? undefined : { effort, summary: summary ?? 'none' }
}

/** Values of `include` that are supported. Reasoning is always encrypted. */
const INCLUDED: ReadonlySet<string> = new Set([ENCRYPTED, LOGPROBS])

/** A header has no room for more. */
const mostWarnings = 32

/** A warning for each member that a Turn cannot hold. */
function leftOut(value: ResponsesRequest): readonly Warning[] {
  const { context, mode } = value.reasoning ?? {}
  // The reply repeats the metadata. Only upstream's storage would have used it.
  const metadata = Object.keys(value.metadata ?? {}).length === 0 ? undefined : value.metadata
  const members = { ...value, metadata, 'reasoning.context': context, 'reasoning.mode': mode }
  const fields = lostMembers(members, responsesFields)
  if (value.include?.some((what) => !INCLUDED.has(what)) === true) fields.push('include')
  return fields.slice(0, mostWarnings).map((field) => ({ code: 'dropped', field: nameable(field) }))
}
