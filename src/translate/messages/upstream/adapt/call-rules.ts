import { MISSING_RESULT } from '../../../fit/pair-calls.ts'
import { createIdSource, startTurn } from '../../../engine/call-ids.ts'
import { fieldOf } from '../../../engine/origin.ts'
import type { Warning } from '../../../warning.ts'
import { contentBlocks, mapBlocks } from '../../content.ts'
import { isBlock } from '../../wire.ts'
import type { MessagesBlock, MessagesMessage, Block } from '../../wire.ts'
import type { Rule } from './rule.ts'

/**
 * Gives new ids to calls that share one. Some models number the calls of every answer from the start, and some clients
 * continue a session from another provider. Runs before `pairResultsRule`, so that each result gets the new id of its
 * call. The first result belongs to the first call.
 */
export const callIdsRule: Rule = {
  name: 'ids of tool calls made legal and unique',
  source: 'messages, tool results; Anthropic API reference, tool use, 2026-11: ids are letters, digits, _ and -',
  adapt: ({ body: { messages } }) => {
    const idOf = createIdSource({ isPlain: true })
    /** The last assistant turn. */
    let turn = startTurn()
    let before: string | undefined
    let first: string | undefined
    const out = messages.map((message, at) => {
      if (message.role === 'assistant' && before !== 'assistant') turn = startTurn()
      before = message.role
      const named = mapBlocks(message, (block) => {
        if (isBlock(block, 'tool_use') && message.role === 'assistant') {
          const id = idOf(block.id)
          turn.call(block.id, id)
          return id === block.id ? block : { ...block, id }
        }
        if (!isBlock(block, 'tool_result')) return block
        const id = turn.result(block.tool_use_id)
        return id === undefined || id === block.tool_use_id ? block : { ...block, tool_use_id: id }
      })
      if (named !== message) first ??= fieldOf(message, 'messages', at)
      return named
    })
    if (first === undefined) return undefined
    const detail = 'changed tool call ids that the provider refuses or that repeat'
    return { patch: { messages: out }, warnings: [{ code: 'adapted', field: first, detail }] }
  },
}

/**
 * Each call of a turn needs its result at the front of the next user message. Runs after `conversationRule` and the
 * system rules, which may leave adjacent messages of one role.
 */
export const pairResultsRule: Rule = {
  name: 'tool results paired with their calls',
  source: 'messages, tool results',
  adapt: ({ body: { messages } }) => {
    const warnings: Warning[] = []
    let calls: ReadonlySet<string> = new Set()
    let changed = false
    const runs = runsOfRole(messages)
    const out = runs.flatMap((run, at) => {
      const role = run[0]?.role
      if (role === 'system') return run
      if (role === 'user') return pair(run)
      calls = callsOf(run)
      // System messages stand between turns.
      return runs[at + 1]?.[0]?.role === 'user' ? run : run.concat(pair([]))
    })
    return changed ? { patch: { messages: out }, warnings } : undefined

    function pair(user: readonly MessagesMessage[]): readonly MessagesMessage[] {
      const paired = pairTurn(calls, user, warnings)
      calls = new Set()
      changed ||= paired !== user
      return paired
    }
  },
}

/** Adjacent messages of one role form a turn. */
function runsOfRole(messages: readonly MessagesMessage[]): readonly (readonly MessagesMessage[])[] {
  const runs: MessagesMessage[][] = []
  for (const message of messages) {
    const last = runs.at(-1)
    if (last?.[0]?.role === message.role) last.push(message)
    else runs.push([message])
  }
  return runs
}

function callsOf(messages: readonly MessagesMessage[]): ReadonlySet<string> {
  const blocks = messages.flatMap(({ content }) => contentBlocks(content))
  return new Set(blocks.flatMap((block) => (isBlock(block, 'tool_use') ? block.id : [])))
}

/** Returns the same array if every call has its result at the front. */
function pairTurn(
  calls: ReadonlySet<string>,
  user: readonly MessagesMessage[],
  warnings: Warning[],
): readonly MessagesMessage[] {
  if (isPaired(calls, user)) return user
  const results = new Map<string, Block<'tool_result'>>()
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

function isPaired(calls: ReadonlySet<string>, [first, ...later]: readonly MessagesMessage[]): boolean {
  if (later.some(({ content }) => countResults(content) > 0)) return false
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
