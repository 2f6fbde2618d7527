import { Fault } from '../../../../errors.ts'
import type { SseEvent } from '../../../../sse/decode.ts'
import { refuseDamaged, toStreamFault } from '../../../parts/stream-fault.ts'
import { isFilled, isObject, objectsOf, parseObject } from '../../../../json/json.ts'
import { extrasOf, isBlank, mergeExtras } from '../../extras.ts'
import type { WireChoice, WireChunk, WireDelta } from '../../wire.ts'
import { hasError, isPlain, learnChunk, normaliseChunk, repeatedChunk, takeUsage } from './chunk.ts'
import { emitOrHold, finish, hasContent, noteReason } from './finish.ts'
import { readResponseEnd } from './response-end.ts'
import { completeIdentity, hasIdentity, noteIdentity } from './state.ts'
import type { NormalisedChunk, NormaliserState } from './state.ts'
import { areToolCallsComplete } from './tool-calls.ts'

const nothing: readonly NormalisedChunk[] = []

/**
 * Returns the chunks that one upstream event adds to the reply. This is the only reader of upstream's chat stream:
 * replies to chat callers forward each chunk's text, and the decoder reads the chunk. Normalises the quirks of
 * docs/copilot-wire.md and nothing else: a conforming chunk keeps its text, unknown keys stay, and keys of chunks that
 * cannot be emitted move to the next one. Events after `state.done` add nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for an error in the stream, `upstream_unusable` for an event that
 * is not JSON, an empty answer, a call without a name, or runaway whitespace
 */
export function normaliseEvent(state: NormaliserState, event: SseEvent): readonly NormalisedChunk[] {
  const repeated = repeatedChunk(state, event)
  if (repeated !== undefined) return [repeated]
  const chunks = readData(state, event)
  learnChunk(state, event, chunks)
  return chunks
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

function readData(state: NormaliserState, { event, data }: SseEvent): readonly NormalisedChunk[] {
  if (state.failure !== undefined) throw state.failure
  if (state.done || data === '') return nothing
  if (data.startsWith('[DONE]')) return finished(state)
  const chunk = parseObject(data)
  if (event === '' && chunk !== undefined && isPlain(state, chunk)) return [{ chunk, text: data }]
  return readEvent(state, event, chunk, data)
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
  if (only !== undefined && lines.length === 1 && only !== data) return readData(state, { event, data: only })
  if (lines.length > 1) return readLines(state, event, lines)
  refuseDamaged(data)
  state.skipped += 1
  return nothing
}

function readLines(state: NormaliserState, event: string, lines: readonly string[]): readonly NormalisedChunk[] {
  const out: NormalisedChunk[] = []
  for (const line of lines) {
    try {
      out.push(...readData(state, { event, data: line }))
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
  if (isObject(delta)) return delta
  return isObject(message) ? message : {}
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
