import { MISSING_RESULT } from '../../../fit/pair-calls.ts'
import type { Warning } from '../../../warning.ts'
import type { ChatMessage } from '../../wire.ts'
import { firstWarnings, type Rule } from './rule.ts'

/**
 * Puts every result directly after its call, adds missing results and drops results without a call. Clients that were
 * interrupted or that cut their history leave such gaps, and upstream would refuse every later request of the session.
 */
export const toolPairsRule: Rule = {
  name: 'tool results after their calls',
  source: 'parameters, roles: every call must be answered by tool messages right after it',
  adapt: ({ body: { messages } }, { family }) => {
    // Most conversations have no tools.
    if (!messages.some(({ role, tool_calls: calls }) => role === 'tool' || calls)) return undefined
    const warnings: Warning[] = []
    // Claude's consecutive assistant messages become one, followed by the results of all of them.
    const paired = placeResults(messages, family.kind === 'claude', warnings)
    // If no message is left, upstream's own refusal is clearer.
    if (warnings.length === 0 || paired.length === 0) return undefined
    return { patch: { messages: paired }, warnings: firstWarnings(warnings) }
  },
}

interface Call {
  readonly id: string
  result: { readonly at: number; readonly message: ChatMessage } | undefined
}

function placeResults(messages: readonly ChatMessage[], joinsRuns: boolean, warnings: Warning[]): ChatMessage[] {
  const { callsOf, callOf } = pairResults(messages)
  const placed: ChatMessage[] = []
  /** Calls whose results are not placed yet. */
  let waiting: Call[] = []
  /** Calls whose results the caller has placed here. */
  let answered = new Set<Call>()

  const settle = () => {
    const results = waiting.flatMap(({ result }) => result ?? [])
    for (const { message } of results.toSorted((a, b) => a.at - b.at)) placed.push(message)
    for (const { id, result } of waiting) {
      if (result !== undefined) continue
      placed.push({ role: 'tool', tool_call_id: id, content: `Error: ${MISSING_RESULT}` })
      warnings.push({ code: 'tool_result_synthesised', field: id, detail: 'added an empty result' })
    }
    waiting = []
  }

  for (const message of messages) {
    if (message.role !== 'tool') {
      answered = new Set()
      if (!joinsRuns || message.role !== 'assistant') settle()
      placed.push(message)
      for (const call of callsOf.get(message) ?? []) waiting.push(call)
      continue
    }
    const call = callOf.get(message)
    const field = message.tool_call_id ?? ''
    if (call === undefined) {
      warnings.push({ code: 'tool_result_orphan_dropped', field, detail: 'no earlier call has this id' })
      continue
    }
    if (waiting.length > 0) answered = new Set(waiting)
    settle()
    if (!answered.has(call)) warnings.push({ code: 'tool_result_moved', field, detail: 'moved to follow its call' })
  }
  settle()
  return placed
}

/**
 * The calls of each message, and the call of each result. A result belongs to the last message before it with an
 * unanswered call of its id: ids may be reused.
 */
function pairResults(messages: readonly ChatMessage[]) {
  const callsOf = new Map<ChatMessage, readonly Call[]>()
  const callOf = new Map<ChatMessage, Call>()
  const open = new Map<string, Call[]>()
  messages.forEach((message, at) => {
    if (message.role === 'tool') {
      const call = open.get(message.tool_call_id ?? '')?.shift()
      if (call === undefined) return
      call.result = { at, message }
      callOf.set(message, call)
    } else if (message.role === 'assistant' && message.tool_calls) {
      // Calls of other roles were not checked and do not count.
      const calls = message.tool_calls.map(({ id }): Call => ({ id, result: undefined }))
      callsOf.set(message, calls)
      for (const [id, same] of Map.groupBy(calls, (call) => call.id)) open.set(id, same)
    }
  })
  return { callsOf, callOf }
}
