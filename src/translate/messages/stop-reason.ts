import type { TurnStop } from '../turn.ts'
import type { RefusalCategory, RefusalDetails, StopReason } from './wire-event.ts'

/** Source: @anthropic-ai/sdk 1.11.0, StopReason and BetaStopReason, 2026-11-19. */
const turnStops: ReadonlyMap<unknown, TurnStop> = new Map([
  ['end_turn', 'end'],
  ['stop_sequence', 'stop_sequence'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'max_tokens'],
  ['model_context_window_exceeded', 'context_full'],
  ['refusal', 'content_filter'],
  ['pause_turn', 'pause'],
  ['compaction', 'compaction'],
])

/**
 * Why upstream stopped; a reason nobody knows is a plain end.
 * @param calls calls of the caller's tools in the answer: without any there is nothing to run, whatever the reason says
 */
export function toTurnStop(reason: unknown, calls: number): TurnStop {
  const stop = turnStops.get(reason) ?? 'end'
  if (stop !== 'end' && stop !== 'tool_calls') return stop
  return calls > 0 ? 'tool_calls' : 'end'
}

const stopReasons: Readonly<Record<TurnStop, StopReason>> = {
  end: 'end_turn',
  stop_sequence: 'stop_sequence',
  tool_calls: 'tool_use',
  max_tokens: 'max_tokens',
  context_full: 'model_context_window_exceeded',
  content_filter: 'refusal',
  pause: 'pause_turn',
  // Its own reason exists in a beta only, which a caller that is translated for has not asked for.
  compaction: 'end_turn',
}

export function toStopReason(stop: TurnStop): StopReason {
  return stopReasons[stop]
}

const categories: ReadonlySet<string | undefined> = new Set<RefusalCategory>([
  'cyber',
  'bio',
  'frontier_llm',
  'reasoning_extraction',
  'general_harms',
])

export function toRefusalDetails(category?: string, explanation?: string): RefusalDetails {
  return { type: 'refusal', category: isCategory(category) ? category : null, explanation: explanation ?? null }
}

function isCategory(category: string | undefined): category is RefusalCategory {
  return categories.has(category)
}
