import { Fault } from '../../../../errors.ts'
import { isBlank, kindOf, mergeExtras } from '../../extras.ts'
import type { FinishReason, WireChoice, WireChunk, WireDelta } from '../../wire.ts'
import type { ChoiceChunk, NormalisedChunk, NormaliserState } from './state.ts'
import { closeToolCalls, hasCalls } from './tool-calls.ts'

/**
 * Emits a chunk, or holds it if it has the finish reason: reasoning summaries and further choices may follow it
 * (docs/copilot-wire.md, quirks 6 and 11), and a caller must read exactly one finish, last.
 */
export function emitOrHold(state: NormaliserState, chunk: ChoiceChunk, out: NormalisedChunk[]): void {
  const isFinish = chunk.choice.finish_reason !== null
  const held = state.finish
  // Only an empty finish chunk can wait and keep its text; one with content keeps its position.
  if (held !== undefined && (isFinish || hasContent(held.delta))) releaseFinish(state, out)
  if (isFinish) state.finish = chunk
  else emit(state, chunk, out)
}

/**
 * Emits the end of the reply: arguments for calls that got none, the finish, the usage.
 * @throws Fault `upstream_unusable` if upstream ended without an answer or with a tool call that has no name
 */
export function finish(state: NormaliserState, out: NormalisedChunk[]): void {
  if (!state.sawChoice) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it ended the stream without an answer' })
  }
  const truncation = truncationReason(state)
  const closing = closeToolCalls(state.calls, truncation !== undefined)
  const reason = truncation ?? completeReason(state)
  if (closing.length > 0) {
    if (state.finish !== undefined && hasContent(state.finish.delta)) releaseFinish(state, out)
    emit(state, newChunk(state, { tool_calls: closing }, null), out)
  }
  const usage = usageChunk(state)
  const last = state.finish ?? newChunk(state, {}, reason)
  const isUnchanged = last.choice.finish_reason === reason
  last.choice.finish_reason = reason
  emit(state, isUnchanged ? last : { ...last, text: undefined }, out)
  if (usage !== undefined) out.push(usage)
  state.done = true
}

/** Stores the finish reason of a choice. A filter wins over a limit, and a limit over any other reason. */
export function noteReason({ reasons }: NormaliserState, choice: number, reason: string): void {
  const before = reasons.get(choice)
  if (before === 'content_filter' || (before === 'length' && reason !== 'content_filter')) return
  reasons.set(choice, reason)
}

/** Whether a delta has anything beside a role and padding. */
export function hasContent(delta: WireDelta): boolean {
  for (const key in delta) {
    const value = delta[key]
    const isEmpty = isBlank(value) || (Array.isArray(value) && value.length === 0)
    if (key !== 'role' && !isEmpty && kindOf(key) !== 'padding') return true
  }
  return false
}

/**
 * Returns why the answer is truncated; undefined if it is complete. The last call of a truncated answer may be a
 * fragment. If upstream spreads one answer over choices (docs/copilot-wire.md, quirk 6), a limit in a choice without
 * calls does not truncate the calls of a choice that upstream finished with `tool_calls`.
 */
function truncationReason({ reasons, calls }: NormaliserState): 'length' | 'content_filter' | undefined {
  let limited = false
  let limitedCall = false
  let finishedCalls = false
  for (const [choice, reason] of reasons) {
    if (reason === 'content_filter') return reason
    if (reason === 'length') {
      limited = true
      limitedCall ||= hasCalls(calls, choice)
    }
    finishedCalls ||= reason === 'tool_calls' && hasCalls(calls, choice)
  }
  return limited && (limitedCall || !finishedCalls) ? 'length' : undefined
}

/**
 * The finish reason of a complete answer. After tool calls some models send `stop` and some no reason; some send
 * `tool_calls` without calls (docs/copilot-wire.md, quirk 8). Unknown reasons mean `stop`.
 */
function completeReason({ reasons, calls }: NormaliserState): FinishReason {
  if (calls.opened > 0) return 'tool_calls'
  return [...reasons.values()].at(-1) === 'function_call' ? 'function_call' : 'stop'
}

function releaseFinish(state: NormaliserState, out: NormalisedChunk[]): void {
  if (state.finish === undefined) return
  state.finish.choice.finish_reason = null
  emit(state, { ...state.finish, text: undefined }, out)
  state.finish = undefined
}

function emit(state: NormaliserState, { chunk, delta, text }: ChoiceChunk, out: NormalisedChunk[]): void {
  let isUnchanged = text !== undefined
  if (!state.started) {
    state.started = true
    if (delta.role !== 'assistant') {
      delta.role = 'assistant'
      isUnchanged = false
    }
  }
  if (state.pendingExtras === undefined) {
    out.push({ chunk, text: isUnchanged ? text : undefined })
    return
  }
  out.push({ chunk: mergeExtras(state.pendingExtras, chunk), text: undefined })
  state.pendingExtras = undefined
}

function newChunk(state: NormaliserState, delta: WireDelta, reason: FinishReason | null): ChoiceChunk {
  const choice: WireChoice = { index: 0, delta, finish_reason: reason }
  const chunk: WireChunk = { ...state.identity, choices: [choice] }
  return { chunk, choice, delta, text: undefined }
}

/** The usage chunk, if the caller asked for one and upstream counted; otherwise its extra keys go with the finish. */
function usageChunk(state: NormaliserState): NormalisedChunk | undefined {
  const { usage, usageText, usageExtras } = state
  if (usage !== undefined && state.wantsUsage) {
    return { chunk: { ...state.identity, choices: [], usage, ...usageExtras }, text: usageText }
  }
  if (usageExtras !== undefined) state.pendingExtras = mergeExtras(state.pendingExtras, usageExtras)
  return undefined
}
