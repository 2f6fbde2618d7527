import { Fault } from '../../../errors.ts'
import type { ModelTraits } from '../../model-traits.ts'
import { refuseType, refuseValue } from './invalid.ts'
import { modelFamily } from '../model-family.ts'
import type { JsonObject } from '../../../json/json.ts'

// Checks of a request that more than one dialect makes.

/** More than any conversation holds. Bounds the memory that a body of very small messages takes. */
const MAX_MESSAGES = 250_000

/**
 * Checks that `messages` is an array of a sensible length, then each message.
 * @throws Fault `invalid_request`
 */
export function checkMessageList(messages: unknown, checkMessage: (message: unknown, at: number) => void): void {
  if (!Array.isArray(messages)) refuseType('messages', 'an array of messages', messages)
  if (messages.length === 0) refuseValue('messages', 'expected at least one message, got an empty array', 'empty_array')
  if (messages.length > MAX_MESSAGES) {
    refuseValue(
      'messages',
      `expected at most ${MAX_MESSAGES} messages, got ${messages.length}`,
      'array_above_max_length',
    )
  }
  messages.forEach(checkMessage)
}

/** Refuses a conversation that ends with the assistant, in Anthropic's own sentence, which clients recognise. */
export function refuseAsPrefill(): never {
  throw new Fault({
    kind: 'invalid_request',
    path: 'messages',
    detail: 'This model does not support assistant message prefill. The conversation must end with a user message.',
    code: 'assistant_prefill',
  })
}

/** Members of a web search's user location that OpenAI and Anthropic share. */
const LOCATION_MEMBERS = ['city', 'region', 'country', 'timezone'] as const

/** @throws Fault `invalid_request` */
export function checkLocation(location: JsonObject, path: string): void {
  for (const member of LOCATION_MEMBERS) {
    const value = location[member]
    if (value !== undefined && value !== null && typeof value !== 'string') {
      refuseType(`${path}.${member}`, 'text', value)
    }
  }
}

/** @throws Fault `invalid_request` */
export function checkLocationType(type: unknown, path: string): void {
  if (type !== 'approximate') refuseValue(`${path}.type`, 'expected approximate', 'invalid_value')
}

/**
 * Tools in one request on Copilot's chat and Responses routes, for models without tool search
 * (docs/copilot-wire.md, "Parameters by model").
 */
const MAX_TOOLS = 128

/**
 * Refuses rather than drops: without some of its tools the model could do less than the caller expects.
 * @param path of the list, as the caller named it
 * @throws Fault `invalid_request`
 */
export function refuseTooManyTools(count: number, path: string, model: ModelTraits): void {
  if (!exceedsToolLimit(count, model)) return
  const detail = `expected at most ${MAX_TOOLS} tools for ${model.id}, got ${count}`
  refuseValue(path, detail, 'array_above_max_length')
}

/** Claude's tool search is part of Messages, and does not lift the limit of the other routes. */
export function exceedsToolLimit(count: number, model: ModelTraits): boolean {
  if (count <= MAX_TOOLS || model.provider === 'codex') return false
  return model.supports.toolSearch !== true || modelFamily(model).kind === 'claude'
}
