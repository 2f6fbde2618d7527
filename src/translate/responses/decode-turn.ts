import type { CallerRequest, DecodedTurn } from '../dialect.ts'
import { refuseValue } from '../parts/invalid.ts'
import type { OutputFormat, Sampling, Turn, TurnReasoning } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { decodeItems } from './decode-items.ts'
import { decodeToolChoice } from './decode-tool-choice.ts'
import { decodeTools } from './decode-tools.ts'
import { echoOf, markCompaction } from './echo.ts'
import { responsesFieldNames } from './field-names.ts'
import { leftOut } from './left-out.ts'
import { responsesBodyOf, type ResponsesRequest } from './wire-request.ts'

/**
 * A caller's request in the neutral model. `instructions` are the first item, system and developer messages stand where
 * they stood.
 *
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function decodeResponsesTurn(request: CallerRequest): DecodedTurn {
  const { sessionId } = request
  const { value, continues } = responsesBodyOf(request)
  if (value.previous_response_id) {
    refuseValue('previous_response_id', 'there is no stored response of this id', 'previous_response_not_found')
  }
  const toolWarnings: Warning[] = []
  const listed = decodeTools(value.tools, 'tools', toolWarnings)
  const input = decodeItems(value.input ?? [])
  const warnings = [...leftOut(value), ...toolWarnings, ...input.warnings]
  const tools = [...listed, ...input.tools]
  const echo = echoOf(value, continues)
  const turn: Turn = {
    fieldNames: responsesFieldNames,
    items: [...instructionItems(value), ...input.items],
    tools,
    // A call would take the place of the summary.
    toolChoice: input.asksForCompaction ? { type: 'none' } : decodeToolChoice(value.tool_choice, tools),
    parallelToolCalls: value.parallel_tool_calls ?? undefined,
    maxOutputTokens: value.max_output_tokens ?? undefined,
    sampling: decodeSampling(value),
    stop: [],
    format: input.asksForCompaction ? undefined : decodeFormat(value),
    verbosity: value.text?.verbosity ?? undefined,
    reasoning: decodeReasoning(value),
    logprobs: value.include?.includes(LOGPROBS) === true ? { top: value.top_logprobs ?? undefined } : undefined,
    cacheKey: value.prompt_cache_key || undefined,
    ...(sessionId !== undefined && { sessionId }),
  }
  return { turn, warnings, echo: input.asksForCompaction ? markCompaction(echo) : echo }
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
  // Without being asked the Responses API gives no summary; upstreams of another dialect would.
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
        // There, as the request was checked.
        schema: format.schema ?? {},
        strict: format.strict ?? undefined,
      }
    default:
      return refuseValue('text.format.type', 'expected text, json_object or json_schema', 'unsupported_value')
  }
}
