import { Fault } from '../../../errors.ts'
import type { SseEvent } from '../../../sse/decode.ts'
import { refuseDamaged, toStreamFault } from '../../engine/reply/stream-fault.ts'
import { isFilled, isObject, objectsOf, parseObject, objectOf } from '../../../json/json.ts'
import { extrasOf, isBlank, mergeExtras, kindOf } from '../extras.ts'
import type { WireChoice, WireChunk, WireDelta, FinishReason } from '../wire.ts'
import { hasError, isPlain, normaliseChunk, takeUsage } from './chunk.ts'
import { readResponseEnd } from './response-end.ts'
import {
  completeIdentity,
  hasIdentity,
  noteIdentity,
  noteReason,
  type NormalisedChunk,
  type NormaliserState,
  type ChoiceChunk,
} from './state.ts'
import { areToolCallsComplete, closeToolCalls, hasCalls } from './tool-calls.ts'

const nothing: readonly NormalisedChunk[] = []

/**
 * Returns the chunks that one upstream event adds to the reply. This is the only reader of upstream's chat stream:
 * replies to chat callers forward each chunk's text, and the decoder reads the chunk. Normalises the quirks of
 * docs/copilot-wire.md and nothing else: a conforming chunk keeps its text, unknown keys stay, and keys of chunks that
 * cannot be emitted move to the next one. Events after `state.done` add nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for an error in the stream, `upstream_unusable` for an event that
 * is not JSON, an empty answer, a call without a name, or runaway whitespace
 */
export function normaliseEvent(state: NormaliserState, { event, data }: SseEvent): readonly NormalisedChunk[] {
  if (state.failure !== undefined) throw state.failure
  if (state.done || data === '') return nothing
  if (data.startsWith('[DONE]')) return finished(state)
  const chunk = parseObject(data)
  if (event === '' && chunk !== undefined && isPlain(state, chunk)) return [{ chunk, text: data }]
  return readEvent(state, event, chunk, data)
}

/**
 * Returns the remaining chunks when upstream has closed the stream. Upstream may omit its end mark, but not the finish.
 * @throws Fault `upstream_truncated` without a finish, otherwise as `normaliseEvent`
 */
export function normaliseEnd(state: NormaliserState): readonly NormalisedChunk[] {
  if (state.failure !== undefined) throw state.failure
  if (state.done) return nothing
  if (state.reasons.size === 0) throw new Fault({ kind: 'upstream_truncated' })
  return finished(state)
}

function finished(state: NormaliserState): readonly NormalisedChunk[] {
  const out: NormalisedChunk[] = []
  finish(state, out)
  return out
}

function readEvent(
  state: NormaliserState,
  event: string,
  chunk: WireChunk | undefined,
  data: string,
): readonly NormalisedChunk[] {
  if (event === 'error') throw toStreamFault(chunk?.error ?? chunk ?? data, state.seed.redact)
  if (chunk === undefined) return readUnparsed(state, event, data)
  const choices = objectsOf(chunk.choices)
  const error = errorOf(chunk, choices.length > 0)
  if (error !== undefined) throw toStreamFault(error, state.seed.redact)
  const type = event === '' ? chunk.type : event
  if (choices.length === 0 && typeof type === 'string' && type.startsWith('response.')) {
    return readResponseEvent(state, type, chunk)
  }
  const out: NormalisedChunk[] = []
  readChunk(state, chunk, choices, data, out)
  return out
}

/** Reads line by line, as GitHub's own client does: several chunks may share an event. */
function readUnparsed(state: NormaliserState, event: string, data: string): readonly NormalisedChunk[] {
  const lines = data.trim().split('\n')
  const [only] = lines
  if (only !== undefined && lines.length === 1 && only !== data) return normaliseEvent(state, { event, data: only })
  if (lines.length > 1) return readLines(state, event, lines)
  refuseDamaged(data)
  state.skipped += 1
  return nothing
}

function readLines(state: NormaliserState, event: string, lines: readonly string[]): readonly NormalisedChunk[] {
  const out: NormalisedChunk[] = []
  for (const line of lines) {
    try {
      out.push(...normaliseEvent(state, { event, data: line }))
    } catch (error) {
      if (out.length === 0 || !(error instanceof Fault)) throw error
      // The lines before the failure belong to the caller.
      state.failure = error
      break
    }
  }
  return out
}

/**
 * Returns the failure that a chunk reports. `copilot_errors` beside an answer are remarks of an extension and stay in
 * the chunk.
 */
function errorOf(chunk: WireChunk, hasChoices: boolean): unknown {
  if (hasError(chunk)) return chunk.error
  if (hasChoices) return undefined
  // The older shape of an error is a body with a message only (docs/copilot-wire.md, "Errors").
  const isMessage = chunk.choices === undefined && isFilled(chunk['message'])
  return isMessage || chunk.type === 'error' ? chunk : objectsOf(chunk.copilot_errors)[0]
}

/**
 * Some streams end in an event of the Responses dialect (docs/copilot-wire.md, "Chat stream"). It ends the reply, and
 * contains the answer if the chunks before it had none. Earlier events of that dialect are skipped.
 */
function readResponseEvent(state: NormaliserState, type: string, event: WireChunk): readonly NormalisedChunk[] {
  if (type === 'response.failed') {
    throw toStreamFault(isObject(event.response) ? event.response['error'] : undefined, state.seed.redact)
  }
  if (type !== 'response.completed' && type !== 'response.incomplete') return nothing
  const out: NormalisedChunk[] = []
  const { chunk, delta, reason } = readResponseEnd(event)
  readChunk(state, chunk, [], undefined, out)
  // A response that reached its limit before any output is an empty answer.
  if (!state.hasContent && (hasContent(delta) || reason !== 'stop')) {
    readChunk(state, {}, [{ index: 0, delta, finish_reason: null }], undefined, out)
  }
  if (state.done) return out
  noteReason(state, 0, reason)
  finish(state, out)
  return out
}

/** @param text the chunk as upstream wrote it; undefined if the proxy made the chunk */
function readChunk(
  state: NormaliserState,
  chunk: WireChunk,
  choices: readonly WireChoice[],
  text: string | undefined,
  out: NormalisedChunk[],
): void {
  noteIdentity(state, chunk)
  if (!isBlank(chunk.copilot_usage)) state.copilotUsage = chunk.copilot_usage
  if (choices.length === 0) {
    readBareChunk(state, chunk, text)
    return
  }
  state.sawChoice = true
  completeIdentity(state)
  const isOnly = Array.isArray(chunk.choices) && chunk.choices.length === 1
  let envelope = chunk
  for (const choice of choices) {
    readChoice(state, envelope, choice, isOnly ? text : undefined, out)
    if (state.done) return
    // An answer may be spread over several choices: each becomes a chunk with the one choice that was asked for.
    envelope = {}
  }
}

/** A chunk without a choice: usage, filter results, references. Clients do not expect one, so nothing is emitted yet. */
function readBareChunk(state: NormaliserState, chunk: WireChunk, text: string | undefined): void {
  if (state.wantsUsage && isObject(chunk.usage)) {
    const isOnly = state.sawChoice && state.usageExtras === undefined
    const isUnchanged =
      isOnly && Array.isArray(chunk.choices) && chunk.choices.length === 0 && hasIdentity(state, chunk)
    state.usage = chunk.usage
    state.usageText = isUnchanged ? text : undefined
    state.usageExtras = mergeExtras(state.usageExtras, extrasOf(chunk))
    return
  }
  takeUsage(state, chunk)
  state.pendingExtras = mergeExtras(state.pendingExtras, extrasOf(chunk))
}

function readChoice(
  state: NormaliserState,
  chunk: WireChunk,
  choice: WireChoice,
  text: string | undefined,
  out: NormalisedChunk[],
): void {
  const delta = deltaOf(choice)
  const isUnchanged = !normaliseChunk(state, chunk, choice, delta) && text !== undefined
  if (!isUnchanged) chunk.choices = [choice]
  state.hasContent ||= hasContent(delta)
  emitOrHold(state, { chunk, choice, delta, text: isUnchanged ? text : undefined }, out)
  if (state.calls.runawayWhitespace) endRunawayCall(state, out)
}

/** An upstream that does not stream has a message in place of the delta. */
function deltaOf({ delta, message }: WireChoice): WireDelta {
  return isObject(delta) ? delta : objectOf(message)
}

/** Runaway whitespace after complete arguments ends the answer. Before complete arguments there is no usable answer. */
function endRunawayCall(state: NormaliserState, out: NormalisedChunk[]): void {
  if (!areToolCallsComplete(state.calls)) {
    throw new Fault({
      kind: 'upstream_unusable',
      detail: 'it filled the arguments of a tool call with endless whitespace',
    })
  }
  state.reasons.clear()
  finish(state, out)
}

/**
 * Emits a chunk, or holds it if it has the finish reason: reasoning summaries and further choices may follow it
 * (docs/copilot-wire.md, quirks 6 and 11), and a caller must read exactly one finish, last.
 */
function emitOrHold(state: NormaliserState, chunk: ChoiceChunk, out: NormalisedChunk[]): void {
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
function finish(state: NormaliserState, out: NormalisedChunk[]): void {
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

/** Whether a delta has anything beside a role and padding. */
function hasContent(delta: WireDelta): boolean {
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
