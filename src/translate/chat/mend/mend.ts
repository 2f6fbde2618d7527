import { Fault } from '../../../errors.ts'
import type { SseEvent } from '../../../sse/decode.ts'
import { extrasOf, isBlank, mergeExtras } from '../extras.ts'
import { isFilled, isObject, objectsOf, parseObject } from '../../parts/wire-json.ts'
import type { WireChoice, WireChunk, WireDelta } from '../wire-chunk.ts'
import { finish, noteReason, place, speaks } from './finish.ts'
import { hasIdentity, learnIdentity, settleIdentity } from './mend-state.ts'
import type { Frame, MendState } from './mend-state.ts'
import { hasError, plainDelta } from './plain.ts'
import { repair, takeUsage } from './repair.ts'
import { draftEvent } from './response-draft.ts'
import { readResponseEnd } from './response-end.ts'
import { restOfResponse } from './response-rest.ts'
import { learnFrame, repeatedFrame } from './repeated-frame.ts'
import { refuseDamaged } from '../../parts/refuse-damaged.ts'
import { toStreamFault } from '../../parts/stream-fault.ts'
import { noteTold } from './told.ts'
import { areToolCallsComplete } from './tool-calls.ts'

const nothing: readonly Frame[] = []

/**
 * One upstream event to the chunks it adds to the reply. Mends the quirks of docs/copilot-wire.md and nothing else: a
 * chunk that is right keeps its text, unknown keys stay, and keys of chunks that cannot be sent ride on the next one.
 * Once `state.done` is true the finish and the usage have been returned, and later events add nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for an error in the stream, `upstream_unusable` for what is not
 * JSON, an empty answer, a call without a name, or endless whitespace
 */
export function stepMend(state: MendState, event: SseEvent): readonly Frame[] {
  const repeated = repeatedFrame(state, event)
  if (repeated !== undefined) return [repeated]
  const frames = stepOnce(state, event)
  learnFrame(state, event, frames)
  return frames
}

/**
 * Upstream closed the stream. It may leave out its end mark, but not the finish.
 * @throws Fault `upstream_truncated` without a finish, else as `stepMend`
 */
export function endMend(state: MendState): readonly Frame[] {
  if (state.failure !== undefined) throw state.failure
  if (state.done) return nothing
  if (state.reasons.size === 0) throw new Fault({ kind: 'upstream_truncated' })
  const out: Frame[] = []
  finish(state, out)
  return out
}

/** Without a look at the event before: of several lines in one event each has a chunk of its own. */
function stepOnce(state: MendState, { event, data }: SseEvent): readonly Frame[] {
  if (state.failure !== undefined) throw state.failure
  if (state.done || data === '') return nothing
  if (data.startsWith('[DONE]')) {
    const out: Frame[] = []
    finish(state, out)
    return out
  }
  const chunk = parseObject(data)
  const delta = event === '' && chunk !== undefined ? plainDelta(state, chunk) : undefined
  if (chunk === undefined || delta === undefined) return readEvent(state, event, chunk, data)
  noteTold(state.told, delta)
  return [{ chunk, text: data }]
}

function readEvent(state: MendState, event: string, chunk: WireChunk | undefined, data: string): readonly Frame[] {
  if (event === 'error') throw toStreamFault(chunk?.error ?? chunk ?? data, state.seed.redact)
  if (chunk === undefined) return readUnparsed(state, event, data)
  const choices = objectsOf(chunk.choices)
  const error = errorOf(chunk, choices.length > 0)
  if (error !== undefined) throw toStreamFault(error, state.seed.redact)
  const type = event === '' ? chunk.type : event
  if (choices.length === 0 && typeof type === 'string' && type.startsWith('response.')) {
    return readResponseEvent(state, type, chunk)
  }
  const out: Frame[] = []
  readChunk(state, chunk, choices, data, out)
  return out
}

/** GitHub's own client reads line by line, so that several chunks may share an event. */
function readUnparsed(state: MendState, event: string, data: string): readonly Frame[] {
  const lines = data.trim().split('\n')
  const [only] = lines
  if (only !== undefined && lines.length === 1 && only !== data) return stepOnce(state, { event, data: only })
  if (lines.length > 1) return readLines(state, event, lines)
  refuseDamaged(data)
  state.skipped += 1
  return nothing
}

function readLines(state: MendState, event: string, lines: readonly string[]): readonly Frame[] {
  const out: Frame[] = []
  for (const line of lines) {
    try {
      out.push(...stepOnce(state, { event, data: line }))
    } catch (error) {
      if (out.length === 0 || !(error instanceof Fault)) throw error
      // What the lines before it said belongs to the caller.
      state.failure = error
      break
    }
  }
  return out
}

/** The failure a chunk reports. `copilot_errors` beside an answer are remarks of an extension, and stay where they are. */
function errorOf(chunk: WireChunk, hasChoices: boolean): unknown {
  if (hasError(chunk)) return chunk.error
  if (hasChoices) return undefined
  // A body that is nothing but a message: the older shape of an error (docs/copilot-wire.md, "Errors").
  const isMessage = chunk.choices === undefined && isFilled(chunk['message'])
  return isMessage || chunk.type === 'error' ? chunk : objectsOf(chunk.copilot_errors)[0]
}

/** Some streams end with an event of the Responses dialect. Its earlier events repeat what the chunks or the end say. */
function readResponseEvent(state: MendState, type: string, event: WireChunk): readonly Frame[] {
  const { response } = event
  if (type === 'response.failed')
    throw toStreamFault(isObject(response) ? response['error'] : undefined, state.seed.redact)
  if (type !== 'response.completed' && type !== 'response.incomplete') {
    draftEvent(state.draft, type, event)
    return nothing
  }
  const out: Frame[] = []
  const end = readResponseEnd(response, state.draft)
  // It stands in the response, or beside it.
  readChunk(state, { copilot_usage: event.copilot_usage, ...end.chunk }, [], undefined, out)
  const rest = restOfResponse(state, end)
  if (rest.length > 0) readChunk(state, {}, rest, undefined, out)
  if (state.done) return out
  noteReason(state, 0, end.reason)
  finish(state, out)
  return out
}

/** @param text the chunk as upstream wrote it; undefined where upstream did not */
function readChunk(
  state: MendState,
  chunk: WireChunk,
  choices: readonly WireChoice[],
  text: string | undefined,
  out: Frame[],
): void {
  learnIdentity(state, chunk)
  if (!isBlank(chunk.copilot_usage)) state.copilotUsage = chunk.copilot_usage
  if (choices.length === 0) {
    readBareChunk(state, chunk, text)
    return
  }
  state.sawChoice = true
  settleIdentity(state)
  const isOnly = Array.isArray(chunk.choices) && chunk.choices.length === 1
  let carrier = chunk
  for (const choice of choices) {
    mendChoice(state, carrier, choice, isOnly ? text : undefined, out)
    if (state.done) return
    // An answer may be spread over several choices; each gets a chunk of its own, as the one choice that was asked for.
    carrier = {}
  }
}

/** A chunk without a choice: usage, filter results, references. Clients do not expect one, so nothing is sent yet. */
function readBareChunk(state: MendState, chunk: WireChunk, text: string | undefined): void {
  if (state.wantsUsage && isObject(chunk.usage)) {
    const isOnly = state.sawChoice && state.usageExtras === undefined
    const isRight = isOnly && Array.isArray(chunk.choices) && chunk.choices.length === 0 && hasIdentity(state, chunk)
    state.usage = chunk.usage
    state.usageText = isRight ? text : undefined
    state.usageExtras = mergeExtras(state.usageExtras, extrasOf(chunk))
    return
  }
  takeUsage(state, chunk)
  state.carried = mergeExtras(state.carried, extrasOf(chunk))
}

function mendChoice(
  state: MendState,
  chunk: WireChunk,
  choice: WireChoice,
  text: string | undefined,
  out: Frame[],
): void {
  const delta = deltaOf(choice)
  const isRight = !repair(state, chunk, choice, delta) && text !== undefined
  if (!isRight) chunk.choices = [choice]
  state.said ||= speaks(delta)
  place(state, { chunk, choice, delta, text: isRight ? text : undefined }, out)
  if (state.calls.runaway) endRunaway(state, out)
}

/** An upstream that does not stream, or speaks as if it did not, has a whole message where a delta belongs. */
function deltaOf({ delta, message }: WireChoice): WireDelta {
  if (isObject(delta)) return delta
  return isObject(message) ? message : {}
}

/** Endless whitespace after the arguments are whole is the end of the answer; before that there is no answer. */
function endRunaway(state: MendState, out: Frame[]): void {
  if (!areToolCallsComplete(state.calls)) {
    throw new Fault({
      kind: 'upstream_unusable',
      detail: 'it filled the arguments of a tool call with endless whitespace',
    })
  }
  state.reasons.clear()
  finish(state, out)
}
