import { MISSING_RESULT } from '../../prepare/pair-calls.ts'
import type { Warning } from '../../warning.ts'
import { contentBlocks } from '../reminder.ts'
import {
  isBlock,
  type MessagesBlock,
  type MessagesMessage,
  type MessagesRole,
  type ToolResultBlock,
} from '../wire-request.ts'
import type { Rule } from './rule.ts'

/**
 * Every call of a turn wants its result at the front of the user message behind it. Runs after `conversationRule` and
 * the system rules, which may leave messages of one role side by side.
 */
export const pairResultsRule: Rule = {
  name: 'tool results paired with their calls',
  source: 'messages, tool results',
  adapt: ({ body: { messages } }) => {
    const warnings: Warning[] = []
    const out: MessagesMessage[] = []
    let changed = false
    let at = 0
    while (at < messages.length) {
      const calls = callsOfTurn(messages, at)
      at = copyRun(messages, at, 'assistant', out)
      const userStart = at
      while (messages[at]?.role === 'user') at += 1
      const user = messages.slice(userStart, at)
      const paired = pairTurn(calls, user, warnings)
      changed ||= paired !== user
      copyRun(paired, 0, 'user', out)
      // They stand between turns.
      at = copyRun(messages, at, 'system', out)
    }
    return changed ? { patch: { messages: out }, warnings } : undefined
  },
}

/** Past the messages of one role, which are put into `out`. */
function copyRun(
  messages: readonly MessagesMessage[],
  from: number,
  role: MessagesRole,
  out: MessagesMessage[],
): number {
  let at = from
  for (let message = messages[at]; message?.role === role; message = messages[at]) {
    out.push(message)
    at += 1
  }
  return at
}

function callsOfTurn(messages: readonly MessagesMessage[], from: number): ReadonlySet<string> {
  const calls = new Set<string>()
  for (let at = from; messages[at]?.role === 'assistant'; at += 1) {
    const content = messages[at]?.content
    if (typeof content !== 'object') continue
    for (const block of content ?? []) if (isBlock(block, 'tool_use')) calls.add(block.id)
  }
  return calls
}

/** The user messages behind a turn; the very array where each call has its result where it belongs. */
function pairTurn(
  calls: ReadonlySet<string>,
  user: readonly MessagesMessage[],
  warnings: Warning[],
): readonly MessagesMessage[] {
  if (isPaired(calls, user)) return user
  const results = new Map<string, ToolResultBlock>()
  const others: MessagesBlock[] = []
  const blocks = user.flatMap(({ content }) => contentBlocks(content))
  let isOrdered = true
  for (const block of blocks) {
    if (!isBlock(block, 'tool_result')) {
      others.push(block)
    } else if (!calls.has(block.tool_use_id) || results.has(block.tool_use_id)) {
      warnings.push({ code: 'tool_result_orphan_dropped', field: block.tool_use_id })
    } else {
      if (others.length > 0 && isOrdered) warnings.push({ code: 'tool_result_moved', field: block.tool_use_id })
      isOrdered &&= others.length === 0
      results.set(block.tool_use_id, block)
    }
  }
  const missing = [...calls].filter((id) => !results.has(id))
  for (const field of missing) warnings.push({ code: 'tool_result_synthesised', field })
  const made = missing.map((id) => ({ type: 'tool_result', tool_use_id: id, is_error: true, content: MISSING_RESULT }))
  const content = [...results.values(), ...made, ...others]
  return content.length === 0 ? [] : [{ ...user[0], role: 'user', content }]
}

function isPaired(calls: ReadonlySet<string>, [first, ...rest]: readonly MessagesMessage[]): boolean {
  if (rest.some(({ content }) => countResults(content) > 0)) return false
  const content = first?.content
  const count = countResults(content)
  if (count !== calls.size) return false
  if (count === 0 || typeof content !== 'object') return true
  const front = content?.slice(0, count) ?? []
  const answered = new Set(front.map((block) => (isBlock(block, 'tool_result') ? block.tool_use_id : undefined)))
  return answered.size === count && [...answered].every((id) => id !== undefined && calls.has(id))
}

function countResults(content: MessagesMessage['content']): number {
  if (typeof content !== 'object') return 0
  return content?.reduce((count, block) => count + Number(block.type === 'tool_result'), 0) ?? 0
}
