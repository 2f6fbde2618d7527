import { isClaudeFrom } from '../../parts/model-family.ts'
import { isBlankContent, isEmptyMessage } from '../content-parts.ts'
import type { ChatMessage, ChatPart } from '../wire-request.ts'
import { counted, type Note, type Outcome, type Rule } from './rule.ts'

/**
 * What the order of messages needs. Runs after `messageRules`, which may leave assistant messages side by side and have
 * moved the others, so that notes here name no position.
 */
export const turnRules: readonly Rule[] = [
  {
    name: 'assistant messages in a row merged',
    source: 'parameters, roles: consecutive assistant messages are 400 on Claude',
    applies: ({ family }) => family.kind === 'claude',
    adapt: ({ messages }) => mergeAssistant(messages),
  },
  {
    name: 'user turn after a final assistant message',
    source: 'parameters, roles: Claude from 4.6 on refuses prefill',
    applies: ({ family }) => isClaudeFrom(family, 4, 6),
    adapt: ({ messages }, { traits }) => {
      const last = messages.at(-1)
      // A call without its result and a message without content are other faults, which a user turn would not cure.
      if (last?.role !== 'assistant' || last.tool_calls || isEmptyMessage(last)) return undefined
      const note: Note = {
        code: 'clamped',
        field: 'messages',
        reason: `${traits.id} does not continue a final assistant message`,
        action: 'a user message "Continue." was added',
      }
      return { patch: { messages: [...messages, { role: 'user', content: 'Continue.' }] }, notes: [note] }
    },
  },
]

function mergeAssistant(messages: readonly ChatMessage[]): Outcome | undefined {
  const runs: ChatMessage[][] = []
  for (const message of messages) {
    const run = runs.at(-1)
    if (message.role === 'assistant' && run?.[0]?.role === 'assistant') run.push(message)
    else runs.push([message])
  }
  const merged = messages.length - runs.length
  if (merged === 0) return undefined
  const note: Note = {
    code: 'adapted',
    field: 'messages',
    action: counted('assistant messages in a row merged', merged),
  }
  return { patch: { messages: runs.flatMap((run) => (run.length === 1 ? run : mergeRun(run))) }, notes: [note] }
}

/** Copilot's reasoning of a message, its text also under the name that clients know. At most one pair a message, and only together: docs/copilot-wire.md, quirk 12. */
const REASONING_KEYS = ['reasoning_text', 'reasoning_content', 'reasoning_opaque'] as const

/** A whole run at once and not two by two, which would copy a long run over and over. Of other keys the last counts. */
function mergeRun(run: readonly ChatMessage[]): ChatMessage {
  const others: Record<string, unknown> = {}
  for (const { reasoning_text: _text, reasoning_content: _content, reasoning_opaque: _opaque, ...rest } of run) {
    Object.assign(others, rest)
  }
  const calls = run.flatMap((message) => message.tool_calls ?? [])
  // Reasoning belongs to the message that made the calls.
  const caller = run.findLast((message) => message.tool_calls)
  const reasoner = caller && hasReasoning(caller) ? caller : run.findLast(hasReasoning)
  return {
    ...others,
    role: 'assistant',
    content: mergeContents(run.map((message) => message.content)),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...Object.fromEntries(REASONING_KEYS.flatMap((key) => (reasoner?.[key] ? [[key, reasoner[key]]] : []))),
  }
}

function hasReasoning(message: ChatMessage): boolean {
  return REASONING_KEYS.some((key) => message[key])
}

type Content = ChatMessage['content']

function mergeContents(contents: readonly Content[]): Content {
  const filled = contents.filter((content) => !isBlankContent(content))
  if (filled.length === 0) return contents.at(-1) ?? null
  const texts = filled.filter((content) => typeof content === 'string')
  return texts.length === filled.length ? texts.join('\n\n') : filled.flatMap(toParts)
}

function toParts(content: Content): readonly ChatPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
}
