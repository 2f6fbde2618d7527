import { toFault } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import type { Tools } from '../tools/tool.ts'
import { addToDraft, draftedItems, type DraftPart } from '../translate/fold-turn.ts'
import { createTurn, userMessage } from '../translate/turn-request.ts'
import type { Turn, TurnEvent, Usage } from '../translate/turn.ts'
import type { AgentOutcome, AgentTask } from './agent-task.ts'

export interface AgentDeps {
  /** As the pipeline has it. @throws Fault; the signal's reason on abort */
  readonly runTurn: (call: {
    readonly id: string
    readonly turn: Turn
    readonly model: string
    readonly signal: AbortSignal
    readonly keyName?: string | undefined
    readonly initiator?: 'user' | 'agent' | undefined
  }) => Promise<{
    readonly model: { readonly id: string }
    readonly events: AsyncIterable<{ readonly event: TurnEvent }>
  }>
  readonly tools: Tools
  /** What the loop must know of a model; undefined: there is no such model. */
  readonly modelFacts: (
    name: string,
  ) => { readonly contextTokens: number | undefined; readonly hasToolCalls: boolean } | undefined
  /** Monotonic. Ms. */
  readonly now: () => number
  /** Returns a function that ends the timer. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  readonly randomId: () => string
  readonly log: Logger
}

/** Runs a task to its end. Never rejects: failures are outcomes. */
export async function runAgent(deps: AgentDeps, task: AgentTask): Promise<AgentOutcome> {
  const { id, signal, keyName, initiator, settings, emit } = task
  const user = userMessage(task.text)
  const parts = new Map<number, DraftPart>()
  let usage: Usage | undefined
  let model: string | undefined
  const end = (outcome: AgentOutcome['outcome'], reason: string): AgentOutcome => {
    const items = draftedItems(parts)
    const answer = items
      .flatMap((item) => (item.type === 'message' ? item.parts : []))
      .map((part) => (part.type === 'text' ? part.text : ''))
      .join('')
    const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0 } = usage ?? {}
    const counted = { inputTokens, outputTokens, cachedInputTokens }
    const base = { answer, summary: answer, files: [], steps: 1, requests: 1, usage: counted, model }
    return { ...base, outcome, reason, items: [user, ...items] }
  }
  try {
    const turn = createTurn([...task.history, user], { sessionId: task.session.id })
    const answered = await deps.runTurn({ id, turn, model: settings.model || 'auto', signal, keyName, initiator })
    model = answered.model.id
    for await (const { event } of answered.events) {
      addToDraft(parts, event)
      if (event.type === 'usage') ({ usage } = event)
      if (event.type === 'text.delta') emit({ type: 'fragment', kind: 'answer', text: event.text, step: 1, model })
    }
    return end('completed', 'The model answered.')
  } catch (error) {
    if (signal.aborted) return end('cancelled', 'The run was cancelled.')
    deps.log.warn({ requestId: id, error: toFault(error).error }, 'a run failed')
    return end('failed', `The model did not answer (${toFault(error).error.kind}).`)
  }
}
