import { refuseType, refuseValue } from './invalid.ts'

/** More than any conversation holds; keeps a body of small messages from growing many times in memory. */
const MAX_MESSAGES = 250_000

/**
 * That `messages` is a list one can walk; then `checkMessage` for each, with its place.
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
