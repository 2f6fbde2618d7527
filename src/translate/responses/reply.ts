import { encodeEvent, encodeJsonEvent } from '../../sse/encode.ts'
import type { ReplyFold, ReplyRecord, ReplySeed, ReplyStream } from '../dialect.ts'
import { stringify } from '../parts/wire-json.ts'
import { encodeResponsesFailure } from './error.ts'
import { toBody } from './fold.ts'
import { endFailed, endMend, ensureOpen, unfinishedResponse } from './mend/lifecycle.ts'
import { startMend } from './mend/mend-state.ts'
import type { Frame, MendState } from './mend/mend-state.ts'
import { stepMend } from './mend/mend.ts'
import { toUsage } from './usage.ts'

/** What upstream says before it has anything to say: alone it must not begin a reply that then fails at once. */
const opening = new Set(['response.created', 'response.queued', 'response.in_progress'])

/** An opening is a few events of a few kB. What goes on beyond this is told, so that memory stays bounded. Characters. */
const MOST_HELD = 1024 * 1024
const MOST_HELD_EVENTS = 1000

/** Upstream's events, mended, with their original text wherever nothing had to be. */
export function createResponsesStream(seed: ReplySeed): ReplyStream {
  const state = startMend(seed, optionsOf(seed))
  let held = ''
  let heldEvents = 0
  let isHolding = true

  function write(frames: readonly Frame[]): string {
    const text = encode(frames)
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
    push: (event) => write(stepMend(state, event)),
    end() {
      endMend(state)
      return ''
    },
    fail(error, requestId) {
      if (state.done) return ''
      state.done = true
      state.hasFailed = true
      if (state.failed !== undefined) return write(endFailed(state))
      const out: Frame[] = []
      ensureOpen(state, out)
      isHolding = false
      const { next } = state
      return held + encode(out) + encodeResponsesFailure(error, requestId, unfinishedResponse(state), next, state.error)
    },
    ...watch(state),
  }
}

/** What the events of a streaming caller amount to, as one body. */
export function createResponsesFold(seed: ReplySeed): ReplyFold {
  const state = startMend(seed, optionsOf(seed))
  return {
    push(event) {
      stepMend(state, event)
    },
    end() {
      endMend(state)
      const body = toBody(state.draft)
      // Beside the response it would be lost with its event.
      return state.copilotUsage === undefined ? body : { ...body, copilot_usage: state.copilotUsage }
    },
    ...watch(state),
  }
}

/** Copilot's own ciphertext stays as it came, byte by byte: what is in no envelope counts as its. */
function optionsOf({ traits }: ReplySeed) {
  return { fillsCalls: true, seals: traits.provider === 'codex' }
}

function encode(frames: readonly Frame[]): string {
  let text = ''
  for (const { type, event, text: own, json } of frames) {
    text += own === undefined ? encodeJsonEvent(type, json ?? stringify(event)) : encodeEvent(type, own)
  }
  return text
}

function watch(state: MendState) {
  return {
    isDone: () => state.done,
    usage: () => toUsage(state.usage, state.copilotUsage),
    skipped: () => state.skipped,
    record: (): ReplyRecord | undefined =>
      state.done && !state.hasFailed ? { id: state.id, response: toBody(state.draft) } : undefined,
  }
}
