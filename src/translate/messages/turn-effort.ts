import { isObject } from '../parts/is-object.ts'
import { isUserPrompt } from './user-prompt.ts'
import type { MessagesMessage } from './wire-request.ts'

/** The effort that a `system` message asks for since the user's last prompt (beta `per-turn-control-2026-07-01`). */
export function effortOfTurn(messages: readonly MessagesMessage[]): string | undefined {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at]
    if (message === undefined || isUserPrompt(message)) return undefined
    const config = message.role === 'system' ? message['output_config'] : undefined
    if (isObject(config) && typeof config['effort'] === 'string') return config['effort']
  }
  return undefined
}
