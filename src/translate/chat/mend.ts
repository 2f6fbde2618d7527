import { Fault } from '../../errors.ts'
import type { SseEvent } from '../../sse/decode.ts'
import { extrasOf, isBlank, mergeExtras } from './extras.ts'
import { finish, place, speaks, strongerReason } from './finish.ts'
import { hasIdentity, learnIdentity, settleIdentity } from './mend-state.ts'
import type { Frame, MendState } from './mend-state.ts'
import { hasUsage, isAssistant, repair, takeUsage } from './repair.ts'
import { readResponseEnd } from './response-end.ts'
import { toStreamFault } from './stream-error.ts'
import { areToolCallsComplete } from './tool-calls.ts'
import { isObject, objectsOf, parseObject } from './wire-chunk.ts'
import type { WireChoice, WireChunk, WireDelta } from './wire-chunk.ts'

const CR = 13
const nothing: readonly Frame[] = []

/**
 * One upstream event to the chunks it adds to the reply. Mends what copilot-upstream §6.2 lists and nothing else: a
 * chunk that is right keeps its text, unknown keys stay, and keys of chunks that cannot be sent ride on the next one.
 * Once `state.done` is true the finish and the usage have been returned, and later events add nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for an error in the stream, `upstream_unusable` for an empty
 * answer, a call without a name, or endless whitespace
 */
export function stepMend(state: MendState, { event, data }: SseEvent): readonly Frame[] {
  if (state.done || data === '') return nothing
  if (data.startsWith('[DONE]')) {
    const out: Frame[] = []
    finish(state, out)
    return out
  }
  const chunk = parseObject(data)
  if (event === '' && chunk !== undefined && isPlain(state, chunk)) return [{ chunk, text: data }]
  return readEvent(state, event, chunk, data)
}

/**
 * Upstream closed the stream. It may leave out its end mark, but not the finish.
 * @throws Fault `upstream_truncated` without a finish, else as `stepMend`
 */
export function endMend(state: MendState): readonly Frame[] {
  if (state.done) return nothing
  if (state.reason === undefined) throw new Fault({ kind: 'upstream_truncated' })
  const out: Frame[] = []
  finish(state, out)
  return out
}

/**
 * The hot path: a chunk in the middle of an answer that is right as it is and changes nothing of where we are. Each
 * test mirrors one repair below; whatever fails one goes the long way, which finds out what is wrong.
 */
function isPlain(state: MendState, chunk: WireChunk): boolean {
  // Once something was said, the identity is settled and the role sent.
  if (!state.said || state.finish !== undefined || state.carried !== undefined || state.heldReturn) return false
  if (!hasIdentity(state, chunk) || hasUsage(chunk) || !isBlank(chunk.copilot_usage) || hasError(chunk)) {
    return false
  }
  const { choices } = chunk
  if (!Array.isArray(choices) || choices.length !== 1) return false
  const choice: unknown = choices[0]
  if (!isObject(choice) || choice['index'] !== 0 || choice['finish_reason'] !== null) return false
  const delta = choice['delta']
  if (!isObject(delta) || delta['tool_calls'] !== undefined || !isAssistant(delta['role'])) return false
  const content = delta['content']
  return typeof content !== 'string' || content.charCodeAt(content.length - 1) !== CR
}

function readEvent(state: MendState, event: string, chunk: WireChunk | undefined, data: string): readonly Frame[] {
  if (event === 'error') throw toStreamFault(chunk?.error ?? chunk ?? data)
  if (chunk === undefined) {
    // Half a line, a proxy's remark: GitHub's own client passes over it too.
    state.skipped += 1
    return nothing
  }
  const choices = objectsOf(chunk.choices)
  const error = errorOf(chunk, choices.length > 0)
  if (error !== undefined) throw toStreamFault(error)
  const type = event === '' ? chunk.type : event
  if (choices.length === 0 && typeof type === 'string' && type.startsWith('response.')) {
    return readResponseEvent(state, type, chunk)
  }
  const out: Frame[] = []
  readChunk(state, chunk, choices, data, out)
  return out
}

/** The failure a chunk reports. `copilot_errors` beside an answer are remarks of an extension, and stay where they are. */
function errorOf(chunk: WireChunk, hasChoices: boolean): unknown {
  if (hasError(chunk)) return chunk.error
  if (hasChoices) return undefined
  return chunk.type === 'error' ? chunk : objectsOf(chunk.copilot_errors)[0]
}

/** As openai's own client decides it: any value that is not falsy. */
function hasError({ error }: WireChunk): boolean {
  return Boolean(error)
}

/** Some streams end with an event of the Responses dialect. Its earlier events repeat what the chunks or the end say. */
function readResponseEvent(state: MendState, type: string, { response }: WireChunk): readonly Frame[] {
  if (type === 'response.failed') throw toStreamFault(isObject(response) ? response['error'] : undefined)
  if (type !== 'response.completed' && type !== 'response.incomplete') return nothing
  const out: Frame[] = []
  const { chunk, delta, reason } = readResponseEnd(response)
  readChunk(state, chunk, [], undefined, out)
  state.reason = strongerReason(state.reason, reason)
  if (!state.said && (speaks(delta) || reason !== 'stop')) {
    readChunk(state, {}, [{ index: 0, delta, finish_reason: null }], undefined, out)
  }
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
  const delta: WireDelta = isObject(choice.delta) ? choice.delta : {}
  const isRight = !repair(state, chunk, choice, delta) && text !== undefined
  if (!isRight) chunk.choices = [choice]
  state.said ||= speaks(delta)
  place(state, { chunk, choice, delta, text: isRight ? text : undefined }, out)
  if (state.calls.runaway) endRunaway(state, out)
}

/** Endless whitespace after the arguments are whole is the end of the answer; before that there is no answer. */
function endRunaway(state: MendState, out: Frame[]): void {
  if (!areToolCallsComplete(state.calls)) {
    throw new Fault({
      kind: 'upstream_unusable',
      detail: 'it filled the arguments of a tool call with endless whitespace',
    })
  }
  state.reason = undefined
  finish(state, out)
}
