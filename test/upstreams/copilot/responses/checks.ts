import { limitsOf } from '../models.ts'
import { gptPromptTooLong, invalidBody, openaiFailure } from '../failures.ts'
import { invalidEffort, missingVisionHeader } from '../failures.ts'
import { firstIssue, firstRefusal, hasVisionHeader } from '../../refusals.ts'
import type { Checks, InferenceSubject } from '../../inference.ts'
import type { Outcome } from '../../http/outcome.ts'
import { checkItems, checkPairs } from './input-checks.ts'
import { itemsOf, partsOf } from './request.ts'
import type { ResponsesRequest } from './request.ts'
import { checkToolChoice, checkTools } from './tool-checks.ts'
import { missing, paramOf, unsupported } from './refusals.ts'

type Subject = InferenceSubject<ResponsesRequest>
type Check = (subject: Subject) => Outcome | undefined

/** The 400 of the validation in front of the real service. */
export const responsesShapeRefusal: NonNullable<Checks<ResponsesRequest>['wrongShape']> = (issues, body) => {
  const { path, got, want = 'something else' } = firstIssue(issues, body)
  const param = paramOf(path)
  return got === 'nothing'
    ? missing(param)
    : openaiFailure({
        message: `Invalid type for '${param}': expected ${want}, but got ${got} instead.`,
        code: 'invalid_type',
        param,
      })
}

/**
 * Refuses a request for the first reason that the real route has (docs/copilot-wire.md, "Responses requests").
 * Undefined if there is no reason. Messages without a capture have the wording of OpenAI's API.
 */
export function refuseResponses(subject: Subject): Outcome | undefined {
  return firstRefusal(CHECKS, subject)
}

/** The accepted parameters. `null` counts as absent. */
const KNOWN = new Set([
  'context_management',
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'model',
  'parallel_tool_calls',
  'prompt_cache_key',
  'prompt_cache_options',
  'reasoning',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
])

/** Parameters of OpenAI's API that this upstream refuses. */
const UNSUPPORTED = new Set(['background', 'conversation', 'prompt', 'safety_identifier', 'service_tier'])

/** The official client asks these models for no compaction. */
const NO_COMPACTION = new Set(['gpt-5', 'gpt-5.1', 'gpt-5.2'])

const checkParameters: Check = ({ request, model }) => {
  for (const [name, value] of Object.entries(request)) {
    if (value === null || value === undefined) continue
    if (name === 'context_management' && NO_COMPACTION.has(model.id)) return unsupported(name)
    if (KNOWN.has(name)) continue
    if (name === 'previous_response_id') {
      return openaiFailure({
        message: `Previous response with id '${request.previous_response_id}' not found.`,
        code: 'previous_response_not_found',
        param: name,
      })
    }
    if (name === 'background' && value === false) continue
    return UNSUPPORTED.has(name) ? unsupported(name) : unknownMember(name)
  }
  return undefined
}

const checkStore: Check = ({ request }) =>
  request.store === true
    ? openaiFailure({
        message: "Unsupported value: 'store' does not support true.",
        code: 'unsupported_value',
        param: 'store',
      })
    : undefined

const checkInput: Check = ({ request: { input = [] } }) =>
  input.length === 0
    ? openaiFailure({
        message: 'One of "input" or "previous_response_id" or "prompt" or "conversation" must be provided.',
        code: 'missing_required_parameter',
        param: 'input',
      })
    : undefined

const checkSampling: Check = ({ request, model }) => {
  if (model.efforts.length === 0) return undefined
  const name = (['temperature', 'top_p'] as const).find((each) => request[each] !== undefined)
  return name === undefined ? undefined : unsupported(name)
}

const checkEffort: Check = ({ request, model }) => {
  const effort = request.reasoning?.effort
  return effort === undefined || model.efforts.includes(effort) ? undefined : invalidEffort(effort, model)
}

/** OpenAI's own minimum. */
const LEAST_OUTPUT = 16

const checkOutputSize: Check = ({ request: { max_output_tokens: most }, model }) => {
  if (most === undefined) return undefined
  const param = 'max_output_tokens'
  const { maxOutputTokens } = limitsOf(model)
  if (most < LEAST_OUTPUT) {
    return openaiFailure({
      message: `Invalid '${param}': integer below minimum value. Expected a value >= ${LEAST_OUTPUT}, but got ${most} instead.`,
      code: 'integer_below_min_value',
      param,
    })
  }
  return most > maxOutputTokens
    ? openaiFailure({
        message: `Invalid '${param}': integer above maximum value. Expected a value <= ${maxOutputTokens}, but got ${most} instead.`,
        code: 'integer_above_max_value',
        param,
      })
    : undefined
}

const checkPromptSize: Check = ({ conversation: { promptTokens }, model }) =>
  promptTokens > model.maxPromptTokens ? gptPromptTooLong(promptTokens, model.maxPromptTokens) : undefined

const checkImages: Check = ({ call, request }) => {
  const parts = itemsOf(request).flatMap(({ content, output }) => partsOf(content).concat(partsOf(output)))
  const urls = parts.flatMap(({ image_url: url }) => url ?? [])
  if (urls.length === 0) return undefined
  return hasVisionHeader(call) ? undefined : missingVisionHeader()
}

/** Parts that may have a breakpoint, in messages that are not the assistant's. */
const MARKED_PARTS = new Set(['input_text', 'input_image', 'input_file'])
const MOST_BREAKPOINTS = 4

/** Source: docs/copilot-wire.md, "Prompt caching". The wording is that for any unknown member. */
const checkBreakpoints: Check = ({ request, model }) => {
  const { prompt_cache_options: options } = request
  const { takesBreakpoints } = limitsOf(model)
  if (options !== undefined && options !== null && !takesBreakpoints) return unknownMember('prompt_cache_options')
  let total = 0
  for (const [at, item] of itemsOf(request).entries()) {
    for (const member of ['content', 'output'] as const) {
      for (const [number, part] of partsOf(item[member]).entries()) {
        if (part.prompt_cache_breakpoint === undefined) continue
        total += 1
        const isPlaced = member === 'content' && item.role !== 'assistant' && MARKED_PARTS.has(part.type ?? '')
        if (!takesBreakpoints || !isPlaced) {
          return unknownMember(`input[${at}].${member}[${number}].prompt_cache_breakpoint`)
        }
      }
    }
  }
  return total > MOST_BREAKPOINTS
    ? invalidBody(`too many prompt_cache_breakpoint in request (max ${MOST_BREAKPOINTS}), got ${total}`)
    : undefined
}

function unknownMember(param: string): Outcome {
  return openaiFailure({ message: `Unknown parameter: '${param}'.`, code: 'unknown_parameter', param })
}

const CHECKS: readonly Check[] = [
  checkParameters,
  checkBreakpoints,
  checkStore,
  checkInput,
  checkSampling,
  checkEffort,
  checkOutputSize,
  checkTools,
  checkToolChoice,
  checkItems,
  checkPairs,
  checkImages,
  checkPromptSize,
]
