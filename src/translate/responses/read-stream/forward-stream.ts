import type { ReplyFold, ReplySeed, ReplyStream } from '../../dialect.ts'
import type { ReplyMemory } from '../../reply-memory.ts'
import { encodeResponsesFailure } from '../error.ts'
import { grow, lengthOf, startFoldSize } from '../../engine/reply/fold-size.ts'
import { toBody } from '../snapshot.ts'
import { toUsage } from '../usage.ts'
import { type Frame, beginFrames, encodeFrames } from '../write-stream/writer.ts'
import { endFailed, ensureOpen, requireFinalEvent, unfinishedResponse } from './lifecycle.ts'
import { normaliseEvent } from './normalise.ts'
import { type NormaliserState, startNormaliser } from './state.ts'

/** Events that precede any output. They are held back, so that a reply that fails at once can still be a status. */
const opening = new Set(['response.created', 'response.queued', 'response.in_progress'])

/** Limits the memory for held events, which are usually a few kB. Characters. */
const MOST_HELD = 1024 * 1024
const MOST_HELD_EVENTS = 1000

/** Upstream's events, normalised, each with its original text if it needed no repair. */
export function createResponsesStream(seed: ReplySeed): ReplyStream {
  const state = startNormaliser(seed, optionsOf(seed))
  let held = ''
  let heldEvents = 0
  let isHolding = true

  function write(frames: readonly Frame[]): string {
    const text = encodeFrames(frames)
    if (!isHolding) return text
    held += text
    heldEvents += frames.length
    const isWithin = held.length <= MOST_HELD && heldEvents <= MOST_HELD_EVENTS
    if (isWithin && frames.every(({ type }) => opening.has(type))) return ''
    const all = held
    held = ''
    isHolding = false
    return all
  }

  return {
    push: (event) => write(normaliseEvent(state, event)),
    end() {
      requireFinalEvent(state)
      return ''
    },
    fail(error, requestId) {
      if (state.done) return ''
      state.done = true
      state.hasFailed = true
      if (state.failed !== undefined) return write(endFailed(state))
      beginFrames(state)
      ensureOpen(state)
      isHolding = false
      const failure = encodeResponsesFailure(error, requestId, unfinishedResponse(state), state.next, state.error)
      return held + encodeFrames(state.frames) + failure
    },
    ...watch(state),
  }
}

/** The body of a non-streaming reply, folded from the events for a streaming caller. */
export function createResponsesFold(seed: ReplySeed): ReplyFold {
  const state = startNormaliser(seed, optionsOf(seed))
  const size = startFoldSize()
  /** Of the open items. Their last event repeats it. */
  let repeatedLength = 0

  function count({ type, event }: Frame): void {
    if (typeof event.delta === 'string') {
      repeatedLength += event.delta.length
      grow(size, event.delta.length)
    } else if (type === 'response.output_item.done') {
      grow(size, Math.max(0, lengthOf(event.item) - repeatedLength))
      repeatedLength = 0
    } else if (type.endsWith('.added')) grow(size, 100 + lengthOf(event))
  }

  return {
    push(event) {
      for (const frame of normaliseEvent(state, event)) count(frame)
    },
    end() {
      requireFinalEvent(state)
      const body = toBody(state.snapshot)
      // The final event may have the credits beside the response. The body is the response alone.
      return state.copilotUsage === undefined ? body : { ...body, copilot_usage: state.copilotUsage }
    },
    ...watch(state),
  }
}

/**
 * Whose ciphertext it is. Copilot's ciphertext is forwarded byte by byte, so one without an envelope counts as
 * Copilot's.
 */
function optionsOf({ traits }: ReplySeed) {
  return { fillsCalls: true, wrapsCiphertext: traits.provider === 'codex' }
}

function watch(state: NormaliserState) {
  return {
    isDone: () => state.done,
    usage: () => toUsage(state.usage, state.copilotUsage),
    skipped: () => state.skipped,
    remember({ responses }: ReplyMemory): void {
      if (!state.done || state.hasFailed || state.storedInput === undefined) return
      responses.put(state.id, { response: toBody(state.snapshot), ...state.storedInput })
    },
  }
}
