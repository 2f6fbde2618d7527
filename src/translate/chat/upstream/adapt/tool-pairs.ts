import { MISSING_RESULT } from '../../../fit/pair-calls.ts'
import type { ChatMessage } from '../../wire.ts'
import { always, firstNotes, type Note, type Rule } from './rule.ts'

/** The result of a call for which the caller has none. */
const NO_RESULT = `Error: ${MISSING_RESULT}`

/**
 * Puts every result right behind its call, adds missing results and drops results without a call. Clients that were
 * interrupted or that cut their history leave such gaps, and upstream would refuse every later request of the session.
 */
export const toolPairsRule: Rule = {
  name: 'tool results behind their calls',
  source: 'parameters, roles: every call must be answered by tool messages right after it',
  applies: always,
  adapt: ({ messages }, { family }) => {
    const notes: Note[] = []
    // Claude's consecutive assistant messages become one, followed by the results of all of them.
    const paired = placeResults(messages, family.kind === 'claude', notes)
    // If no message is left, upstream's own refusal is clearer.
    if (notes.length === 0 || paired.length === 0) return undefined
    return { patch: { messages: paired }, notes: firstNotes(notes) }
  },
}

function placeResults(messages: readonly ChatMessage[], joinsRuns: boolean, notes: Note[]): ChatMessage[] {
  const { resultsOf, callOf } = pairResults(messages)
  const placed: ChatMessage[] = []
  /** Positions of messages whose results are not placed yet. */
  let waiting: number[] = []
  /** Positions of the messages whose results the caller has placed here. */
  let answered: readonly number[] = []
  const settled = new Set<number>()

  const settle = () => {
    if (waiting.length === 0) return
    const results = waiting.flatMap((at) => resultsOf.get(at) ?? []).toSorted((a, b) => a - b)
    for (const at of results) {
      const message = messages[at]
      if (message !== undefined) placed.push(message)
      settled.add(at)
    }
    for (const at of waiting) {
      for (const id of unansweredIds(messages, at, resultsOf.get(at) ?? [])) {
        placed.push({ role: 'tool', tool_call_id: id, content: NO_RESULT })
        notes.push({ code: 'tool_result_synthesised', field: id, action: 'a result was put in its place' })
      }
    }
    waiting = []
  }

  messages.forEach((message, at) => {
    if (message.role === 'tool') {
      const id = message.tool_call_id ?? ''
      const call = callOf.get(at)
      if (call === undefined) {
        notes.push({ code: 'tool_result_orphan_dropped', field: id, action: 'no call before it has this id' })
        return
      }
      if (!settled.has(at)) {
        answered = waiting
        settle()
      }
      if (!answered.includes(call))
        notes.push({ code: 'tool_result_moved', field: id, action: 'moved behind its call' })
      return
    }
    answered = []
    if (!joinsRuns || message.role !== 'assistant') settle()
    placed.push(message)
    if (callIdsOf(message).length > 0) waiting.push(at)
  })
  settle()
  return placed
}

interface Pairs {
  /** Positions of the results of a message's calls, by the position of that message. */
  readonly resultsOf: ReadonlyMap<number, readonly number[]>
  /** The position of the message with the call, by that of its result. */
  readonly callOf: ReadonlyMap<number, number>
}

/** A result belongs to the last message before it with an unanswered call of its id: ids may be reused. */
function pairResults(messages: readonly ChatMessage[]): Pairs {
  const resultsOf = new Map<number, number[]>()
  const callOf = new Map<number, number>()
  const open = new Map<string, { readonly at: number; count: number }>()
  messages.forEach((message, at) => {
    if (message.role === 'tool') {
      const call = open.get(message.tool_call_id ?? '')
      if (call === undefined || call.count === 0) return
      call.count -= 1
      callOf.set(at, call.at)
      const results = resultsOf.get(call.at)
      if (results === undefined) resultsOf.set(call.at, [at])
      else results.push(at)
      return
    }
    for (const id of callIdsOf(message)) {
      const known = open.get(id)
      if (known?.at === at) known.count += 1
      else open.set(id, { at, count: 1 })
    }
  })
  return { resultsOf, callOf }
}

function unansweredIds(messages: readonly ChatMessage[], at: number, results: readonly number[]): string[] {
  const ids = callIdsOf(messages[at])
  if (ids.length === results.length) return []
  const answered = new Map<string, number>()
  for (const result of results) {
    const id = messages[result]?.tool_call_id ?? ''
    answered.set(id, (answered.get(id) ?? 0) + 1)
  }
  return ids.filter((id) => {
    const left = answered.get(id) ?? 0
    answered.set(id, left - 1)
    return left <= 0
  })
}

const none: readonly string[] = []

/** Calls of other roles were not checked and do not count. */
function callIdsOf(message: ChatMessage | undefined): readonly string[] {
  if (message?.role !== 'assistant' || !message.tool_calls) return none
  return message.tool_calls.map(({ id }) => id)
}
