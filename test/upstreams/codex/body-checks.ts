import { firstRefusal } from '../refusals.ts'
import type { Outcome } from '../http/outcome.ts'
import { detail, modelNotFound, openaiError } from './failures.ts'
import { checkItems } from './input-checks.ts'
import { checkForm, isLite } from './lite-checks.ts'
import type { LiteOnly } from './lite-checks.ts'
import type { CodexSubject, Members } from './request.ts'
import { checkToolChoice, checkTools } from './tool-checks.ts'
import { invalid, invalidValue, missing, tooLong, unsupported } from './refusals.ts'

type Check = (subject: CodexSubject) => Outcome | undefined

/** The members that the ChatGPT backend accepts. It refuses all others, even if they are `null`. */
const CHATGPT_MEMBERS = new Set([
  'client_metadata',
  'include',
  'input',
  'instructions',
  'model',
  'parallel_tool_calls',
  'prompt_cache_key',
  'reasoning',
  'service_tier',
  'store',
  'stream',
  'stream_options',
  'text',
  'tool_choice',
  'tools',
])

/** The members that the public API accepts. */
const PUBLIC_MEMBERS = new Set([
  ...CHATGPT_MEMBERS,
  'background',
  'context_management',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'previous_response_id',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'temperature',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
])
PUBLIC_MEMBERS.delete('client_metadata')

/**
 * The checks that the ChatGPT backend makes before it parses the request, with its own envelope (docs/codex-wire.md,
 * "Request body"). Undefined if they pass.
 */
export function refuseChatgptMembers(members: Members): Outcome | undefined {
  const { instructions } = members
  if (typeof instructions !== 'string') return detail(400, 'Instructions are required')
  if (members['store'] !== false) return detail(400, 'Store must be set to false')
  if (members['stream'] !== true) return detail(400, 'Stream must be set to true')
  if (!Array.isArray(members['input'])) return detail(400, 'Input must be a list')
  const unknown = Object.keys(members).find((name) => !CHATGPT_MEMBERS.has(name))
  if (unknown !== undefined) return detail(400, `Unsupported parameter: ${unknown}`)
  const options = members['stream_options'] ?? {}
  const option = Object.keys(options).find((name) => name !== 'reasoning_summary_delivery')
  return option === undefined ? undefined : detail(400, `Unsupported parameter: stream_options.${option}`)
}

/** The same checks of the key API, where `null` counts as absent. */
export function refusePublicMembers(members: Members): Outcome | undefined {
  const unknown = Object.entries(members).find(([name, value]) => value !== null && !PUBLIC_MEMBERS.has(name))
  if (unknown !== undefined) {
    const [param] = unknown
    return openaiError(400, { message: `Unknown parameter: '${param}'.`, code: 'unknown_parameter', param })
  }
  const previous = members['previous_response_id']
  // The simulated API stores nothing, whatever `store` says.
  return typeof previous === 'string'
    ? openaiError(400, {
        message: `Previous response with id '${previous}' not found.`,
        code: 'previous_response_not_found',
        param: 'previous_response_id',
      })
    : undefined
}

/** Refuses a well-formed body for the first reason that the real upstream has. Undefined if there is no reason. */
export function refuseRequest(subject: CodexSubject, liteOnly: LiteOnly): Outcome | undefined {
  return firstRefusal([(each) => checkLiteOnly(each, liteOnly), ...CHECKS], subject)
}

function checkLiteOnly(subject: CodexSubject, liteOnly: LiteOnly): Outcome | undefined {
  const { call, model } = subject
  if (call.api === 'api-key') return undefined
  return liteOnly[model.slug] === 'not_found' && !isLite(call)
    ? modelNotFound(model.slug)
    : checkForm(subject, liteOnly)
}

const checkReasoning: Check = ({ request: { reasoning }, model }) => {
  const effort = reasoning?.effort
  // The list has `ultra`, which the parameter does not accept (docs/codex-wire.md, "Request body").
  const efforts = model.efforts.filter((each) => each !== 'ultra')
  if (effort !== undefined && !efforts.includes(effort)) {
    return openaiError(400, {
      message: `Unsupported value: '${effort}' is not supported with the '${model.slug}' model. Supported values are: ${efforts.map((each) => `'${each}'`).join(', ')}.`,
      code: 'unsupported_value',
      param: 'reasoning.effort',
    })
  }
  return reasoning?.summary === undefined || model.takesSummary ? undefined : unsupported('reasoning.summary')
}

const INCLUDABLE = [
  'code_interpreter_call.outputs',
  'file_search_call.results',
  'message.input_image.image_url',
  'message.output_text.logprobs',
  'reasoning.encrypted_content',
  'web_search_call.action.sources',
]

const checkInclude: Check = ({ request: { include = [] } }) => {
  const unknown = include.find((each) => !INCLUDABLE.includes(each))
  return unknown === undefined ? undefined : invalidValue(unknown, 'include', INCLUDABLE)
}

const VERBOSITIES = ['low', 'medium', 'high']

const checkText: Check = ({ request: { text } }) => {
  if (text?.verbosity !== undefined && !VERBOSITIES.includes(text.verbosity)) {
    return invalidValue(text.verbosity, 'text.verbosity', VERBOSITIES)
  }
  const format = text?.format
  if (format?.type !== 'json_schema') return undefined
  const absent = format.name === undefined ? 'name' : format.schema === undefined ? 'schema' : undefined
  return absent === undefined ? undefined : missing(`text.format.${absent}`)
}

const checkTier: Check = ({ call: { api }, request, model }) => {
  const tier = request['service_tier'] ?? 'auto'
  if (api === 'api-key' || tier === 'auto' || tier === 'default') return undefined
  // The wording is a guess: no refusal of an unlisted tier has been captured.
  return model.tiers.some((each) => each === tier)
    ? undefined
    : detail(400, `Unsupported service_tier: ${JSON.stringify(tier)}`)
}

/** OpenAI's own limit. */
const LONGEST_CACHE_KEY = 64

const checkCacheKey: Check = ({ request }) => {
  const key = request['prompt_cache_key']
  return typeof key === 'string' && key.length > LONGEST_CACHE_KEY
    ? tooLong(key, 'prompt_cache_key', LONGEST_CACHE_KEY)
    : undefined
}

const checkMetadata: Check = ({ request }) => {
  const metadata = request['client_metadata'] ?? {}
  return typeof metadata === 'object' && Object.values(metadata).every((each) => typeof each === 'string')
    ? undefined
    : invalid("Invalid 'client_metadata': expected a map of strings.", 'client_metadata')
}

/** This member is allowed only with tools (docs/codex-wire.md, "Request body"). The lite form has its own rule. */
const checkParallel: Check = ({ call, request: { parallel_tool_calls: isSet, tools = [] } }) =>
  call.api === 'chatgpt' && !isLite(call) && isSet !== undefined && tools.length === 0
    ? invalid("'parallel_tool_calls' is only allowed when 'tools' are specified.", 'parallel_tool_calls')
    : undefined

/** Every model here reasons, so none accepts sampling parameters. */
const checkSampling: Check = ({ request }) => {
  const name = (['temperature', 'top_p'] as const).find((each) => request[each] !== undefined)
  return name === undefined ? undefined : unsupported(name)
}

const LEAST_OUTPUT = 16

const checkOutputSize: Check = ({ request: { max_output_tokens: most } }) =>
  most === undefined || most >= LEAST_OUTPUT
    ? undefined
    : openaiError(400, {
        message: `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${LEAST_OUTPUT}, but got ${most} instead.`,
        code: 'integer_below_min_value',
        param: 'max_output_tokens',
      })

const checkPromptSize: Check = ({ conversation: { promptTokens }, model }) =>
  promptTokens > model.context * 1000
    ? openaiError(400, {
        message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
        code: 'context_length_exceeded',
        param: 'input',
      })
    : undefined

const CHECKS: readonly Check[] = [
  checkReasoning,
  checkInclude,
  checkText,
  checkTier,
  checkCacheKey,
  checkMetadata,
  checkParallel,
  checkSampling,
  checkOutputSize,
  checkTools,
  checkToolChoice,
  checkItems,
  checkPromptSize,
]
