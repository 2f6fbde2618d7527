import { refuseValue } from '../../parts/invalid.ts'
import { pausedFrom, refusePrefill } from '../prefill.ts'
import { pairResultsRule } from './pair-results.ts'
import type { Rule } from './rule.ts'

const prefillRule: Rule = {
  name: 'prefill refused',
  source: 'messages, prefill',
  adapt: ({ body: { messages } }, { takesPrefill }) => {
    if (!takesPrefill && pausedFrom(messages) === messages.length) refusePrefill(messages)
    return undefined
  },
}

/** How messages must follow each other. Runs when nothing else is left out any more. */
export const orderRules: readonly Rule[] = [
  // Twice: results that are made up would hide an open turn, and results that are left out can leave one.
  prefillRule,
  pairResultsRule,
  prefillRule,
  {
    name: 'a user message at the start',
    source: 'Anthropic API reference, Messages, 2026-11: the first message is from the user',
    adapt: ({ body: { messages } }) => {
      if (!messages.some(({ role }) => role === 'user')) {
        refuseValue('messages', 'there is no user message that says anything', 'invalid_value')
      }
      if (messages[0]?.role === 'user') return undefined
      return {
        patch: { messages: [{ role: 'user', content: CONTINUED }, ...messages] },
        warnings: [{ code: 'adapted', field: 'messages.0', detail: 'a user message was put before it' }],
      }
    },
  },
]

/** What a conversation that begins with the assistant is told to have begun with. */
export const CONTINUED = '(continued)'
