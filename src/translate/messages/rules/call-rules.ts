import {
  inOrder,
  MISSING_RESULT,
  type PairedCall,
  type PairedResult,
  type Pairs,
  pairResults,
} from '../../engine/tool-codec/pair-results.ts'
import { createIdSource, startTurn } from '../../engine/tool-codec/call-ids.ts'
import { fieldOf } from '../../engine/origin.ts'
import type { Warning } from '../../warning.ts'
import { contentBlocks, mapBlocks } from '../content.ts'
import { isBlock } from '../wire.ts'
import type { MessagesBlock, MessagesMessage } from '../wire.ts'
import type { Rule } from './rule.ts'

/**
 * Gives new ids to calls that share one. Some models number the calls of every answer from the start, and some clients
 * continue a session from another provider. Runs after `pairResultsRule`, which puts the first result after the first call.
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
    const pairs = pairResults({
      length: messages.length,
      calls: (at) => (messages[at]?.role === 'assistant' ? idsOf(messages[at], 'tool_use') : none),
      results: (at) => (messages[at]?.role === 'user' ? idsOf(messages[at], 'tool_result') : none),
      continues: (at) => at > 0 && messages[at]?.role === messages[at - 1]?.role,
    })
    if (pairs === undefined) return undefined
    const warnings: Warning[] = []
    const out: MessagesMessage[] = []
    let waiting: readonly PairedCall[] = []
    for (const run of runsOfRole(messages)) {
      const role = messages[run.from]?.role
      if (role === 'user') {
        out.push(...pairTurn(messages, run, waiting, pairs, warnings))
        waiting = []
        continue
      }
      // System messages stand between turns.
      if (role === 'assistant') {
        out.push(...pairTurn(messages, noRun, waiting, pairs, warnings))
        waiting = callsIn(run, pairs)
      }
      for (const message of messages.slice(run.from, run.to)) out.push(message)
    }
    out.push(...pairTurn(messages, noRun, waiting, pairs, warnings))
    const isSame = out.length === messages.length && out.every((message, at) => message === messages[at])
    return isSame ? undefined : { patch: { messages: out }, warnings }
  },
}

const none: readonly string[] = []

function idsOf({ content }: MessagesMessage, type: 'tool_use' | 'tool_result'): readonly string[] {
  if (typeof content !== 'object' || content === null) return none
  return content.flatMap((block) => {
    if (type === 'tool_use') return isBlock(block, type) ? block.id : none
    return isBlock(block, type) ? block.tool_use_id : none
  })
}

/** Adjacent messages of one role form a turn. */
interface Run {
  readonly from: number
  readonly to: number
}

const noRun: Run = { from: 0, to: 0 }

function runsOfRole(messages: readonly MessagesMessage[]): readonly Run[] {
  const starts = [...messages.keys()].filter((at) => at === 0 || messages[at]?.role !== messages[at - 1]?.role)
  return starts.map((from, nth) => ({ from, to: starts[nth + 1] ?? messages.length }))
}

function callsIn({ from, to }: Run, { calls }: Pairs): readonly PairedCall[] {
  const found: PairedCall[] = []
  for (let at = from; at < to; at += 1) for (const call of calls.get(at) ?? []) found.push(call)
  return found
}

/** A user turn with the results of the waiting calls at its front, and no others. The same messages if nothing changes. */
function pairTurn(
  messages: readonly MessagesMessage[],
  { from, to }: Run,
  waiting: readonly PairedCall[],
  { results }: Pairs,
  warnings: Warning[],
): readonly MessagesMessage[] {
  const user = messages.slice(from, to)
  const wanted = waiting.flatMap(({ result }) => result ?? []).toSorted(inOrder)
  const missing = waiting.filter(({ result }) => result === undefined)
  const here = user.flatMap((_, at) => results.get(from + at) ?? [])
  const front = contentBlocks(user[0]?.content).slice(0, wanted.length)
  const isFront =
    wanted.every((result, at) => result === here[at] && result.at === from) &&
    front.every(({ type }) => type === 'tool_result')
  if (missing.length === 0 && here.length === wanted.length && isFront) return user
  for (const { id, call } of here)
    if (call === undefined) warnings.push({ code: 'tool_result_orphan_dropped', field: id })
  const blocks = user.flatMap(({ content }) => contentBlocks(content))
  const moved = movedResults(blocks, wanted, from, to)
  for (const field of moved) warnings.push({ code: 'tool_result_moved', field })
  for (const { id } of missing) warnings.push({ code: 'tool_result_synthesised', field: id })
  const content = [
    ...wanted.flatMap(({ at, nth }) => {
      const found = contentBlocks(messages[at]?.content).filter(({ type }) => type === 'tool_result')
      return found[nth] ?? []
    }),
    ...missing.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, is_error: true, content: MISSING_RESULT })),
    ...blocks.filter(({ type }) => type !== 'tool_result'),
  ]
  return content.length === 0 ? [] : [{ ...user[0], role: 'user', content }]
}

/** The ids of results that come from another turn, and of the first result of this turn that follows other content. */
function movedResults(
  blocks: readonly MessagesBlock[],
  wanted: readonly PairedResult[],
  from: number,
  to: number,
): readonly string[] {
  const elsewhere = wanted.filter(({ at }) => at < from || at >= to).map(({ id }) => id)
  const ids = new Set(wanted.map(({ id }) => id))
  const other = blocks.findIndex(({ type }) => type !== 'tool_result')
  const late = blocks.find((block, at) => at > other && isBlock(block, 'tool_result') && ids.has(block.tool_use_id))
  return other === -1 || late === undefined || !isBlock(late, 'tool_result')
    ? elsewhere
    : [late.tool_use_id, ...elsewhere]
}
