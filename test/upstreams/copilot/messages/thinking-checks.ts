import { BLOCK_BINDING, limitsOf } from '../models.ts'
import { betasOf } from '../../refusals.ts'
import { anthropicFailure, invalidBody } from '../failures.ts'
import type { InferenceSubject } from '../../inference.ts'
import type { Outcome } from '../../http/outcome.ts'
import { blocksOf } from './request.ts'
import type { MessagesRequest } from './request.ts'
import { extraInput, fieldRequired, unknownTag } from './refusals.ts'

type Subject = InferenceSubject<MessagesRequest>

/** Members of `thinking` by its type. */
const MEMBERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['adaptive', ['type', 'display']],
  ['disabled', ['type']],
  ['enabled', ['type', 'budget_tokens', 'display']],
])

const DISPLAYS = new Set(['summarized', 'omitted'])
const LEAST_BUDGET = 1024

export function checkThinking(subject: Subject): Outcome | undefined {
  const { call, request, model } = subject
  const { thinking } = request
  if (thinking === undefined) return undefined
  const members = MEMBERS.get(thinking.type)
  if (members === undefined) return unknownTag('thinking', thinking.type, MEMBERS.keys())
  if (thinking.type === 'enabled' && !limitsOf(model).takesBudget) {
    return invalidBody(
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    )
  }
  if (thinking.type === 'adaptive' && !limitsOf(model).takesAdaptive) {
    return invalidBody('adaptive thinking is not supported on this model')
  }
  const isBinding = betasOf(call).includes(BLOCK_BINDING)
  const extra = Object.keys(thinking).find(
    (key) => !members.includes(key) && !(key === 'block_binding' && isBinding) && thinking[key] !== undefined,
  )
  if (extra !== undefined) return extraInput(`thinking.${thinking.type}.${extra}`)
  if (thinking.display !== undefined && !DISPLAYS.has(thinking.display)) {
    return invalidBody(`thinking.${thinking.type}.display: Input should be 'summarized' or 'omitted'`)
  }
  if (thinking.type === 'disabled') return undefined
  return checkBudget(subject) ?? checkForcedTool(subject) ?? checkLoop(subject)
}

function checkBudget({ request: { thinking, max_tokens: most = 0 } }: Subject): Outcome | undefined {
  if (thinking?.type !== 'enabled') return undefined
  const { budget_tokens: budget } = thinking
  if (budget === undefined) return fieldRequired('thinking.enabled.budget_tokens')
  if (budget < LEAST_BUDGET) {
    return invalidBody(`thinking.enabled.budget_tokens: Input should be greater than or equal to ${LEAST_BUDGET}`)
  }
  return budget >= most ? invalidBody('`max_tokens` must be greater than `thinking.budget_tokens`.') : undefined
}

function checkForcedTool({ request: { tool_choice: choice } }: Subject): Outcome | undefined {
  return choice?.type === 'any' || choice?.type === 'tool'
    ? invalidBody('Thinking may not be enabled when tool_choice forces tool use.')
    : undefined
}

/** With a thinking budget, the message whose calls are answered has to begin with thinking. */
function checkLoop({ request: { thinking, messages } }: Subject): Outcome | undefined {
  const last = messages.at(-1)
  if (thinking?.type !== 'enabled' || last === undefined) return undefined
  if (!blocksOf(last).some(({ type }) => type === 'tool_result')) return undefined
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const answer = messages[at]
  const first = answer === undefined ? undefined : blocksOf(answer)[0]
  if (first === undefined || first.type.endsWith('thinking')) return undefined
  return anthropicFailure(
    400,
    'invalid_request_error',
    `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`,
  )
}
