import { Fault } from '../../../errors.ts'
import { isBlank, mergeExtras } from '../extras.ts'
import { noteReason } from './finish.ts'
import { chunkObject, hasIdentity } from './mend-state.ts'
import type { MendState } from './mend-state.ts'
import { noteTold } from './told.ts'
import { mendToolCalls } from './tool-calls.ts'
import { isFilled, isObject } from '../../parts/wire-json.ts'
import type { WireChoice, WireChunk, WireDelta } from '../wire-chunk.ts'

/**
 * Repairs a chunk and its choice in place: both were parsed for us, and copies would cost more than the repairs.
 * Returns true when there was something to repair, as every repair below does.
 * @throws Fault `upstream_failed` when the choice says that upstream failed
 */
export function repair(state: MendState, chunk: WireChunk, choice: WireChoice, delta: WireDelta): boolean {
  const from = typeof choice.index === 'number' ? choice.index : 0
  let repaired = takeUsage(state, chunk)
  if (repairWrapping(state, chunk, choice, delta)) repaired = true
  takeReason(state, choice, from)
  if (joinTextParts(delta)) repaired = true
  noteTold(state.told, delta)
  if (mendText(state, delta)) repaired = true
  if (mendCalls(state, delta, from)) repaired = true
  return repaired
}

/**
 * The repairs that leave the state as it is, and are the same for every piece that comes in the same wrapping. In place;
 * returns whether there was something to repair.
 */
export function repairWrapping(state: MendState, chunk: WireChunk, choice: WireChoice, delta: WireDelta): boolean {
  let repaired = mendIdentity(state, chunk)
  if (mendShape(choice, delta)) repaired = true
  if (mendBlankReason(choice)) repaired = true
  if (mendRole(delta)) repaired = true
  return repaired
}

export function hasUsage({ usage }: WireChunk): boolean {
  return usage !== undefined && usage !== null
}

export function isAssistant(role: unknown): boolean {
  return role === undefined || role === null || role === 'assistant'
}

/** Takes the counts out of a chunk that goes on without them. */
export function takeUsage(state: MendState, chunk: WireChunk): boolean {
  let taken = false
  if (hasUsage(chunk)) {
    if (isObject(chunk.usage)) {
      state.usage = chunk.usage
      state.usageText = undefined
    }
    // Not `delete`, which would make the object slow to write; undefined is not written at all.
    chunk.usage = undefined
    taken = true
  }
  if (!isBlank(chunk.copilot_usage) && state.wantsUsage) {
    state.usageExtras = mergeExtras(state.usageExtras, { copilot_usage: chunk.copilot_usage })
    state.usageText = undefined
    chunk.copilot_usage = undefined
    taken = true
  }
  return taken
}

function mendIdentity(state: MendState, chunk: WireChunk): boolean {
  if (hasIdentity(state, chunk)) return false
  chunk.object = chunkObject
  chunk.id = state.id
  chunk.created = state.created
  chunk.model = state.model
  return true
}

function mendShape(choice: WireChoice, delta: WireDelta): boolean {
  if (choice.index === 0 && choice.delta === delta) return false
  // A whole message in place of a delta: its content goes on as the delta, and only there.
  if (choice.message === delta) choice.message = undefined
  choice.index = 0
  choice.delta = delta
  return true
}

function mendBlankReason(choice: WireChoice): boolean {
  if (choice.finish_reason === null || isFilled(choice.finish_reason)) return false
  choice.finish_reason = null
  return true
}

function takeReason(state: MendState, { finish_reason: reason }: WireChoice, from: number): void {
  if (!isFilled(reason)) return
  if (reason === 'error') {
    throw new Fault({ kind: 'upstream_failed', message: 'Upstream broke off the answer with an error.' })
  }
  noteReason(state, from, reason)
}

/** A role that is repeated or null harms nobody (openai's own helper takes the last one that is set); another one does. */
function mendRole(delta: WireDelta): boolean {
  if (isAssistant(delta.role)) return false
  delta.role = undefined
  return true
}

/** Text that came as parts is text. Parts that are more than text stay what they are. */
function joinTextParts(delta: WireDelta): boolean {
  const { content } = delta
  if (typeof content !== 'object' || content === null) return false
  const texts = (Array.isArray(content) ? content : [content]).map(textOfPart)
  if (texts.includes(undefined)) return false
  delta.content = texts.join('')
  return true
}

function textOfPart(part: unknown): string | undefined {
  if (typeof part === 'string') return part
  if (!isObject(part) || typeof part['text'] !== 'string') return undefined
  const isText = Object.entries(part).every(([key, value]) => key === 'type' || key === 'text' || isBlank(value))
  return isText && (part['type'] === 'text' || part['type'] === undefined) ? part['text'] : undefined
}

/**
 * Models that write CRLF text are cut between its two characters, and some end pieces with a stray `\r`. A final `\r`
 * waits for the next piece: it belongs to a `\n`, or it goes, as in GitHub's own client.
 */
function mendText(state: MendState, delta: WireDelta): boolean {
  const { content } = delta
  if (!isFilled(content)) return false
  let text = state.heldReturn && content.startsWith('\n') ? `\r${content}` : content
  state.heldReturn = text.endsWith('\r')
  if (state.heldReturn) text = text.slice(0, -1)
  if (text === content) return false
  delta.content = text
  return true
}

function mendCalls(state: MendState, delta: WireDelta, choice: number): boolean {
  if (!Array.isArray(delta.tool_calls)) return false
  const mended = mendToolCalls(state.calls, delta.tool_calls, choice)
  if (mended === undefined) return false
  delta.tool_calls = mended.length > 0 ? mended : undefined
  return true
}
