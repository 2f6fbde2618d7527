import { limitsOf } from '../models.ts'
import { claudePromptTooLong, invalidBody } from '../failures.ts'
import { invalidEffort } from '../failures.ts'
import { betasOf, firstIssue, firstRefusal } from '../../refusals.ts'
import type { Checks, InferenceSubject } from '../../inference.ts'
import type { Outcome } from '../../http/outcome.ts'
import { checkBlocks, checkCacheMarks, checkImages, checkThoughts } from './block-checks.ts'
import { checkLastMessage, checkPairs, checkRoles, checkTexts } from './message-checks.ts'
import type { MessagesRequest } from './request.ts'
import { checkThinking } from './thinking-checks.ts'
import { checkToolChoice, checkTools } from './tool-checks.ts'
import { extraInput } from './refusals.ts'

type Subject = InferenceSubject<MessagesRequest>
type Check = (subject: Subject) => Outcome | undefined

/** The 400 of Anthropic's validation. */
export const messagesShapeRefusal: NonNullable<Checks<MessagesRequest>['wrongShape']> = (issues, body) => {
  const { path, got, want } = firstIssue(issues, body)
  const reason = got === 'nothing' ? 'Field required' : `Input should be a valid ${KINDS.get(want ?? '') ?? 'value'}`
  return invalidBody(`${path.map(String).join('.')}: ${reason}`)
}

/** Pydantic's names for JSON types. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['string', 'string'],
  ['number', 'number'],
  ['boolean', 'boolean'],
  ['array', 'list'],
  ['object', 'dictionary'],
])

/**
 * Refuses a request for the first reason that the real route has (docs/copilot-wire.md, "Messages requests"). Undefined
 * if there is no reason. Messages without a capture have the wording of Anthropic's API.
 */
export function refuseMessages(subject: Subject): Outcome | undefined {
  return firstRefusal(CHECKS, subject)
}

/** The betas that GitHub's own clients send, and the beta for system messages inside a conversation. */
const BETAS = new Set([
  'interleaved-thinking-2025-05-14',
  'context-management-2025-06-27',
  'advanced-tool-use-2025-11-20',
  'extended-cache-ttl-2025-04-11',
  'mid-conversation-system-2026-04-07',
])

/** Betas that a model refuses if its entry in the list denies their features. The refusal is a guess. */
const FLAGGED_BETAS = new Set(['context-management-2025-06-27', 'advanced-tool-use-2025-11-20'])

const checkBetas: Check = ({ call, model }) => {
  const { laterBetas, takesBetas } = limitsOf(model)
  const refused = betasOf(call).filter(
    (beta) => !(BETAS.has(beta) || laterBetas.has(beta)) || (FLAGGED_BETAS.has(beta) && !takesBetas),
  )
  if (refused.length === 0) return undefined
  return invalidBody(`unsupported beta header(s): ${refused.join(', ')}`)
}

const KNOWN = new Set([
  'max_tokens',
  'messages',
  'metadata',
  'model',
  'output_config',
  'stop_sequences',
  'stream',
  'system',
  'temperature',
  'thinking',
  'tool_choice',
  'tools',
  'top_k',
  'top_p',
])

const checkFields: Check = ({ call, request }) => {
  const isManaged = betasOf(call).includes('context-management-2025-06-27')
  const extra = Object.keys(request).find((name) => !KNOWN.has(name) && !(name === 'context_management' && isManaged))
  return extra === undefined ? undefined : extraInput(extra)
}

const checkMaxTokens: Check = ({ request: { max_tokens: most }, model }) => {
  if (most === undefined) return invalidBody('max_tokens: Field required')
  const { maxOutputTokens } = limitsOf(model)
  if (most < 1) return invalidBody('max_tokens: Input should be greater than or equal to 1')
  return most > maxOutputTokens
    ? invalidBody(
        `max_tokens: ${most} > ${maxOutputTokens}, which is the maximum allowed number of output tokens for ${model.id}`,
      )
    : undefined
}

/**
 * From 4.7 on, Claude accepts no sampling parameter but the default temperature, which GitHub's CLI always sends. Earlier versions
 * accept `temperature` or `top_p`, and with thinking only the default temperature.
 */
const checkSampling: Check = ({ request, model }) => {
  const given = (['temperature', 'top_p', 'top_k'] as const).filter(
    (name) => request[name] !== undefined && !(name === 'temperature' && request[name] === 1),
  )
  const [first] = given
  if (first === undefined) return undefined
  if (model.version >= 4.7) return invalidBody(`\`${first}\` is deprecated for this model.`)
  if (given.includes('temperature') && given.includes('top_p')) {
    return invalidBody('`temperature` and `top_p` cannot both be specified for this model. Please use only one.')
  }
  const isThinking = request.thinking !== undefined && request.thinking.type !== 'disabled'
  return isThinking && request.temperature !== undefined && request.temperature !== 1
    ? invalidBody('`temperature` may only be set to 1 when thinking is enabled.')
    : undefined
}

const checkOutputConfig: Check = ({ request: { output_config: config }, model }) => {
  if (config === undefined) return undefined
  if (!limitsOf(model).takesOutputConfig) return extraInput('output_config')
  const { effort, format, ...rest } = config
  const [extra] = Object.keys(rest)
  if (extra !== undefined) return extraInput(`output_config.${extra}`)
  if (effort !== undefined && !model.efforts.includes(effort)) return invalidEffort(effort, model)
  if (format === undefined) return undefined
  const unknown = Object.keys(format).find((key) => key !== 'type' && key !== 'schema')
  if (unknown !== undefined) return extraInput(`output_config.format.${unknown}`)
  return undefined
}

const checkPromptSize: Check = ({ conversation: { promptTokens }, model }) =>
  promptTokens > model.contextTokens ? claudePromptTooLong(promptTokens, model.contextTokens, true) : undefined

const CHECKS: readonly Check[] = [
  checkBetas,
  checkFields,
  checkMaxTokens,
  checkSampling,
  checkThinking,
  checkOutputConfig,
  checkTools,
  checkToolChoice,
  checkRoles,
  checkBlocks,
  checkCacheMarks,
  checkTexts,
  checkImages,
  checkThoughts,
  checkPairs,
  checkLastMessage,
  checkPromptSize,
]
