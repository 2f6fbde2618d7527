import { pausedFrom, refusePrefill } from '../content.ts'
import { refuseValue } from '../../engine/request/invalid.ts'
import { fieldOf } from '../../engine/origin.ts'
import { isBlock } from '../wire.ts'
import type { MessagesMessage } from '../wire.ts'
import { callIdsRule, pairResultsRule } from './call-rules.ts'
import type { Rule } from './rule.ts'

const prefillRule: Rule = {
  name: 'prefill refused',
  source: 'messages, prefill',
  adapt: ({ body: { messages } }, { takesPrefill }) => {
    if (!takesPrefill && pausedFrom(messages) === messages.length) refusePrefill(messages)
    return undefined
  },
}

/** Rules about the order of messages. They run after the rules that leave messages out. */
export const orderRules: readonly Rule[] = [
  // This rule runs twice: an added result could hide a prefill, and a dropped result can leave one.
  prefillRule,
  pairResultsRule,
  callIdsRule,
  prefillRule,
  {
    name: 'no white space at the end of a begun answer',
    source: 'messages, prefill: Claude refuses it (caozhiyuan/copilot-api#216)',
    adapt: ({ body: { messages } }) => {
      const last = messages.at(-1)
      const trimmed = last?.role === 'assistant' ? withoutEndSpace(last) : last
      if (last === undefined || trimmed === undefined || trimmed === last) return undefined
      const field = fieldOf(last, 'messages', messages.length - 1)
      return {
        patch: { messages: [...messages.slice(0, -1), trimmed] },
        warnings: [{ code: 'dropped', field, detail: 'white space at the end' }],
      }
    },
  },
  {
    name: 'a user message at the start',
    source: 'Anthropic API reference, Messages, 2026-11: the first message is from the user',
    adapt: ({ body: { messages }, made }) => {
      if (!messages.some(({ role }) => role === 'user')) {
        refuseValue(made?.conversation ?? 'messages', 'no user message has any content', 'invalid_value')
      }
      if (messages[0]?.role === 'user') return undefined
      return {
        patch: { messages: [{ role: 'user', content: CONTINUED }, ...messages] },
        warnings: [{ code: 'adapted', field: 'messages.0', detail: 'added a user message before it' }],
      }
    },
  },
]

function withoutEndSpace(message: MessagesMessage): MessagesMessage {
  const { content } = message
  if (typeof content === 'string') {
    const text = content.trimEnd()
    return text === content ? message : { ...message, content: text }
  }
  const last = content?.at(-1)
  if (!content || last === undefined || !isBlock(last, 'text')) return message
  const text = last.text.trimEnd()
  return text === last.text ? message : { ...message, content: [...content.slice(0, -1), { ...last, text }] }
}

/** The user message that is added if a conversation begins with the assistant. */
const CONTINUED = '(continued)'

/**
 * Whether the request ends with tool results and the turn that made the calls begins without thinking. Models with a
 * thinking budget then refuse to think. Source: Anthropic API reference, extended thinking with tool use, 2026-11.
 */
export function toolLoopLacksThought(messages: readonly MessagesMessage[]): boolean {
  let at = messages.length - 1
  let hasResult = false
  while (at >= 0 && messages[at]?.role !== 'assistant') {
    hasResult ||= contains(messages[at], 'tool_result')
    at -= 1
  }
  if (!hasResult) return false
  // Adjacent assistant messages are one turn.
  while (messages[at - 1]?.role === 'assistant') at -= 1
  const first = messages[at]?.content?.[0]
  const type = typeof first === 'object' ? first.type : undefined
  return type !== 'thinking' && type !== 'redacted_thinking'
}

function contains(message: MessagesMessage | undefined, type: string): boolean {
  return typeof message?.content === 'object' && message.content?.some((block) => block.type === type) === true
}
