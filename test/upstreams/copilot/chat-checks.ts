import { limitsOf } from './models.ts'
import { estimateTokens, imagesOf } from './chat/request.ts'
import type { ChatMessage, ChatRequest } from './chat/request.ts'
import { failure, gptPromptTooLong, invalidBody } from './failures.ts'
import { invalidEffort, missingVisionHeader, schemaFailure } from './failures.ts'
import { firstIssue, firstRefusal, hasVisionHeader } from '../refusals.ts'
import type { Checks, InferenceSubject } from '../inference.ts'
import { textReply } from '../http/outcome.ts'
import type { Outcome } from '../http/outcome.ts'

type Check = (subject: InferenceSubject<ChatRequest>) => Outcome | undefined

/** The 400 of the real service's schema validation. */
export const chatShapeRefusal: NonNullable<Checks<ChatRequest>['wrongShape']> = (issues, body) => {
  const { reason, got, want, path } = firstIssue(issues, body)
  return schemaFailure(want === undefined ? reason : `got ${got}, want ${want}`, locationOf(path))
}

/** Path of the offending schema, e.g. `/properties/messages/items/properties/content`. */
function locationOf(path: readonly PropertyKey[]): string {
  return path.map((key) => (typeof key === 'number' ? '/items' : `/properties/${String(key)}`)).join('')
}

/**
 * Refuses a request for the first reason that the real chat route has (docs/copilot-wire.md, "Parameters by model" and
 * "Errors"). Undefined if there is no reason. Messages without a capture follow the wording of similar ones.
 */
export function refuseChat(subject: InferenceSubject<ChatRequest>): Outcome | undefined {
  return firstRefusal(CHECKS, subject)
}

const checkImages: Check = ({ call, request }) => {
  const urls = request.messages.flatMap(imagesOf)
  if (urls.length === 0) return undefined
  return hasVisionHeader(call) ? undefined : missingVisionHeader()
}

const checkPromptSize: Check = ({ request, model }) => {
  const count = estimateTokens(request)
  return count > model.maxPromptTokens ? gptPromptTooLong(count, model.maxPromptTokens) : undefined
}

const checkOutputSize: Check = ({ request, model }) => {
  if (request.max_tokens !== undefined && model.profile === 'gpt-5') {
    return invalidBody(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    )
  }
  const { maxOutputTokens } = limitsOf(model)
  const asked = request.max_tokens ?? request.max_completion_tokens ?? 0
  return asked > maxOutputTokens
    ? invalidBody(`max_tokens is too large: ${asked}. This model supports at most ${maxOutputTokens} tokens.`)
    : undefined
}

/** The only values that Kimi accepts. The wording is that of its maker's own API. */
const KIMI_SAMPLING = { temperature: 1, top_p: 0.95 } as const

const checkSampling: Check = ({ request, model }) => {
  if (model.profile === 'kimi') {
    for (const name of ['temperature', 'top_p'] as const) {
      const only = KIMI_SAMPLING[name]
      if ((request[name] ?? only) !== only)
        return invalidBody(`invalid ${name}: only ${only} is allowed for this model`)
    }
  }
  if (model.profile !== 'gpt-5') return undefined
  for (const name of ['temperature', 'top_p'] as const) {
    const value = request[name]
    if (value !== undefined && value !== 1) {
      return failure(400, {
        message: `Unsupported value: '${name}' does not support ${value} with this model. Only the default (1) value is supported.`,
        code: 'unsupported_value',
        param: name,
      })
    }
  }
  return undefined
}

const checkEffort: Check = ({ request: { reasoning_effort: effort }, model }) =>
  effort === undefined || model.efforts.includes(effort) ? undefined : invalidEffort(effort, model)

const checkToolTypes: Check = ({ request: { tools = [] }, model }) =>
  model.profile !== 'mai' && tools.some(({ type }) => type !== 'function')
    ? schemaFailure("value must be 'function'", '/properties/tools/items/properties/type')
    : undefined

const checkToolChoice: Check = ({ request }) =>
  request.tool_choice !== undefined && request.tools === undefined
    ? invalidBody("'tool_choice' is only allowed when 'tools' are specified.")
    : undefined

/**
 * Kimi needs ids of name and number (docs/copilot-wire.md, "Parameters by model"). With other ids the real model writes
 * its next calls into the text; the refusal here makes the mistake visible at once.
 */
const checkKimiIds: Check = ({ request, model }) => {
  if (model.profile !== 'kimi') return undefined
  const prefix = model.id.startsWith('kimi-k2') ? 'functions.' : ''
  const calls = request.messages.flatMap(({ tool_calls: own }) => own ?? [])
  const wrong = calls.find(({ id, function: { name } }, at) => id !== `${prefix}${name}:${at}`)
  return wrong && invalidBody(`tool call id '${wrong.id}' is not of the form '${prefix}NAME:IDX'`)
}

/** Each call needs its result directly after its message, and no other result may be there. */
const checkToolPairs: Check = ({ request, model }) => {
  let open = new Set<string>()
  for (const message of request.messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id ?? '')) {
        return invalidBody("messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
      }
    } else if (open.size > 0) {
      break
    } else {
      open = new Set(message.tool_calls?.map((call) => call.id))
    }
  }
  if (open.size === 0) return undefined
  return invalidBody(
    model.profile === 'claude'
      ? `tool_use ids were found without tool_result blocks immediately after: ${[...open].join(', ')}`
      : "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
  )
}

const checkUserMessage: Check = ({ request: { messages } }) =>
  messages.length === 1 && messages[0]?.role === 'system'
    ? textReply(400, 'bad request: no user message, only message was a "system" message')
    : undefined

/** Keys of OpenAI's own replies. GPT accepts them back, and other models do not know them: the CLI sends them `refusal: null`. */
const FOREIGN_KEYS = ['refusal', 'audio', 'annotations']

const checkForeignShapes: Check = ({ request, model }) => {
  if (model.profile === 'gpt-4' || model.profile === 'gpt-5') return undefined
  for (const message of request.messages) {
    if (message.role === 'developer') {
      return schemaFailure(
        "value must be one of 'system', 'user', 'assistant', 'tool'",
        '/properties/messages/items/properties/role',
      )
    }
    const key = FOREIGN_KEYS.find((each) => each in message && !(each === 'refusal' && message[each] === null))
    if (key !== undefined) {
      return schemaFailure(`additional properties '${key}' not allowed`, '/properties/messages/items')
    }
  }
  return undefined
}

const checkClaudeTexts: Check = ({ request: { messages }, model }) => {
  if (model.profile !== 'claude') return undefined
  if (messages.some(hasEmptyText)) return invalidBody('messages: text content blocks must be non-empty')
  return model.version >= 4.6 && messages.at(-1)?.role === 'assistant'
    ? invalidBody(
        'This model does not support assistant message prefill. The conversation must end with a user message.',
      )
    : undefined
}

function hasEmptyText({ content, tool_calls: calls }: ChatMessage): boolean {
  if (Array.isArray(content)) return content.some((part) => part.type === 'text' && (part.text ?? '') === '')
  return (content ?? '') === '' && calls === undefined
}

/** Gemini 3 requires its own opaque reasoning with every call (docs/copilot-wire.md, quirk 12). */
const checkThoughtSignature: Check = ({ request, model }) =>
  model.profile === 'gemini-3' &&
  request.messages.some((message) => message.tool_calls !== undefined && message.reasoning_opaque === undefined)
    ? invalidBody('Function call is missing a thought_signature in functionCall parts.')
    : undefined

const CHECKS: readonly Check[] = [
  checkImages,
  checkPromptSize,
  checkOutputSize,
  checkSampling,
  checkEffort,
  checkToolTypes,
  checkToolChoice,
  checkUserMessage,
  checkForeignShapes,
  checkClaudeTexts,
  checkToolPairs,
  checkKimiIds,
  checkThoughtSignature,
]
