import {
  type CallHistory,
  inOrder,
  isInOrder,
  MISSING_RESULT,
  type PairedCall,
  type Pairs,
  pairResults,
} from '../../engine/tool-codec/pair-results.ts'
import type { Warning } from '../../warning.ts'
import type { ChatMessage } from '../wire.ts'
import { firstWarnings, type Rule } from './rule.ts'

const none: readonly string[] = []

/**
 * Puts every result directly after its call, adds missing results and drops results without a call. Clients that were
 * interrupted or that cut their history leave such gaps, and upstream would refuse every later request of the session.
 */
export const toolPairsRule: Rule = {
  name: 'tool results after their calls',
  source: 'parameters, roles: every call must be answered by tool messages right after it',
  adapt: ({ body: { messages } }, { family }) => {
    // Claude's consecutive assistant messages become one, followed by the results of all of them.
    const joinsRuns = family.kind === 'claude'
    const history: CallHistory = {
      length: messages.length,
      calls: (at) => callsOf(messages[at]),
      results: (at) => (messages[at]?.role === 'tool' ? [messages[at].tool_call_id ?? ''] : none),
      continues: (at) => joinsRuns && messages[at]?.role === 'assistant' && messages[at - 1]?.role === 'assistant',
    }
    const pairs = isInOrder(history) ? undefined : pairResults(history)
    if (pairs === undefined) return undefined
    const warnings: Warning[] = []
    const paired = placeResults(messages, pairs, joinsRuns, warnings)
    // If no message is left, upstream's own refusal is clearer.
    if (warnings.length === 0 || paired.length === 0) return undefined
    return { patch: { messages: paired }, warnings: firstWarnings(warnings) }
  },
}

/** Calls of other roles were not checked and do not count. */
function callsOf(message: ChatMessage | undefined): readonly string[] {
  return message?.role === 'assistant' && message.tool_calls ? message.tool_calls.map(({ id }) => id) : none
}

function placeResults(
  messages: readonly ChatMessage[],
  { calls, results }: Pairs,
  joinsRuns: boolean,
  warnings: Warning[],
): readonly ChatMessage[] {
  const placed: ChatMessage[] = []
  /** Calls whose results are not placed yet. */
  let waiting: PairedCall[] = []
  /** Calls whose results the caller has placed here. */
  let answered: ReadonlySet<PairedCall> = new Set()

  const settle = (): void => {
    for (const { at } of waiting.flatMap(({ result }) => result ?? []).toSorted(inOrder)) {
      const message = messages[at]
      if (message !== undefined) placed.push(message)
    }
    for (const { id, result } of waiting) {
      if (result !== undefined) continue
      placed.push({ role: 'tool', tool_call_id: id, content: `Error: ${MISSING_RESULT}` })
      warnings.push({ code: 'tool_result_synthesised', field: id, detail: 'added an empty result' })
    }
    waiting = []
  }

  for (const [at, message] of messages.entries()) {
    if (message.role !== 'tool') {
      answered = new Set()
      if (!joinsRuns || message.role !== 'assistant') settle()
      placed.push(message)
      for (const call of calls.get(at) ?? []) waiting.push(call)
      continue
    }
    const call = results.get(at)?.[0]?.call
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
