import { Fault } from '../../../errors.ts'
import type { FinishReason } from '../completion.ts'
import { isBlank, kindOf, mergeExtras } from '../extras.ts'
import { identityOf } from './mend-state.ts'
import type { FinishFrame, Frame, MendState } from './mend-state.ts'
import { closeToolCalls, hasCalls } from './tool-calls.ts'
import type { WireChoice, WireChunk, WireDelta } from '../wire-chunk.ts'

/**
 * Sends a mended chunk on, or keeps it back when it is the one that says upstream has finished: reasoning summaries and
 * further choices come after it (docs/copilot-wire.md, quirks 6 and 11), and a caller must read exactly one
 * finish, last.
 */
export function place(state: MendState, frame: FinishFrame, out: Frame[]): void {
  const isFinish = frame.choice.finish_reason !== null
  const waiting = state.finish
  // An empty finish chunk can let others pass and keep its text; one that says something has its turn now.
  if (waiting !== undefined && (isFinish || speaks(waiting.delta))) releaseFinish(state, out)
  if (isFinish) state.finish = frame
  else emit(state, frame, out)
}

/**
 * Everything that is left to say once upstream is done: arguments for calls that got none, the finish, the usage.
 * @throws Fault `upstream_unusable` when upstream ended without an answer or with a tool call that has no name
 */
export function finish(state: MendState, out: Frame[]): void {
  if (!state.sawChoice) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it ended the stream without an answer' })
  }
  const cut = cutReason(state)
  const closing = closeToolCalls(state.calls, cut !== undefined)
  const reason = cut ?? fullReason(state)
  if (closing.length > 0) {
    if (state.finish !== undefined && speaks(state.finish.delta)) releaseFinish(state, out)
    emit(state, newFrame(state, { tool_calls: closing }, null), out)
  }
  const usage = usageFrame(state)
  const last = state.finish ?? newFrame(state, {}, reason)
  const isRight = last.choice.finish_reason === reason
  last.choice.finish_reason = reason
  emit(state, isRight ? last : { ...last, text: undefined }, out)
  if (usage !== undefined) out.push(usage)
  state.done = true
}

/** Notes the reason of a choice. Of two, the one that says more: a filter, then a limit, then whatever came last. */
export function noteReason({ reasons }: MendState, choice: number, reason: string): void {
  const before = reasons.get(choice)
  if (before === 'content_filter' || (before === 'length' && reason !== 'content_filter')) return
  reasons.set(choice, reason)
}

/** Whether a delta says anything beside whose turn it is. */
export function speaks(delta: WireDelta): boolean {
  for (const key in delta) {
    const value = delta[key]
    const isSilent = isBlank(value) || (Array.isArray(value) && value.length === 0)
    if (key !== 'role' && !isSilent && kindOf(key) !== 'padding') return true
  }
  return false
}

/**
 * Why the answer is not whole; undefined when it is. A cut answer stays cut, because its last call may be a fragment.
 * Where upstream spreads one answer over choices (docs/copilot-wire.md, quirk 6), a limit in a choice without calls
 * does not cut the calls of a choice that upstream itself finished with `tool_calls`: those are whole, and meant to be
 * run.
 */
function cutReason({ reasons, calls }: MendState): 'length' | 'content_filter' | undefined {
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
 * The reason of a whole answer. Some models say `stop` after tool calls, some say nothing, some say `tool_calls` without
 * any (docs/copilot-wire.md, quirk 8). Unknown reasons are a stop.
 */
function fullReason({ reasons, calls }: MendState): FinishReason {
  if (calls.opened > 0) return 'tool_calls'
  return [...reasons.values()].at(-1) === 'function_call' ? 'function_call' : 'stop'
}

function releaseFinish(state: MendState, out: Frame[]): void {
  if (state.finish === undefined) return
  state.finish.choice.finish_reason = null
  emit(state, { ...state.finish, text: undefined }, out)
  state.finish = undefined
}

function emit(state: MendState, { chunk, delta, text }: FinishFrame, out: Frame[]): void {
  let isRight = text !== undefined
  if (!state.started) {
    state.started = true
    if (delta.role !== 'assistant') {
      delta.role = 'assistant'
      isRight = false
    }
  }
  if (state.carried === undefined) {
    out.push({ chunk, text: isRight ? text : undefined })
    return
  }
  out.push({ chunk: mergeExtras(state.carried, chunk), text: undefined })
  state.carried = undefined
}

function newFrame(state: MendState, delta: WireDelta, reason: FinishReason | null): FinishFrame {
  const choice: WireChoice = { index: 0, delta, finish_reason: reason }
  const chunk: WireChunk = { ...identityOf(state), choices: [choice] }
  return { chunk, choice, delta, text: undefined }
}

/** The usage chunk, where the caller asked for one and upstream counted. Else its extra keys go with the finish. */
function usageFrame(state: MendState): Frame | undefined {
  const { usage, usageText, usageExtras } = state
  if (usage !== undefined && state.wantsUsage) {
    return { chunk: { ...identityOf(state), choices: [], usage, ...usageExtras }, text: usageText }
  }
  if (usageExtras !== undefined) state.carried = mergeExtras(state.carried, usageExtras)
  return undefined
}
