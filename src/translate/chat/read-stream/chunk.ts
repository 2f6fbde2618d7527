import { Fault } from '../../../errors.ts'
import { isFilled, isObject } from '../../../json/json.ts'
import { isBlank, mergeExtras } from '../extras.ts'
import type { WireChoice, WireChunk, WireDelta } from '../wire.ts'
import { hasIdentity, noteReason } from './state.ts'
import type { NormaliserState } from './state.ts'
import { normaliseToolCalls } from './tool-calls.ts'

/**
 * Normalises a chunk and its choice in place: copies would cost more than the changes. Returns true if anything changed,
 * as every function below does.
 * @throws Fault `upstream_failed` if the choice says that upstream failed
 */
export function normaliseChunk(
  state: NormaliserState,
  chunk: WireChunk,
  choice: WireChoice,
  delta: WireDelta,
): boolean {
  const choiceIndex = typeof choice.index === 'number' ? choice.index : 0
  let changed = takeUsage(state, chunk)
  if (normaliseWrapping(state, chunk, choice, delta)) changed = true
  takeReason(state, choice, choiceIndex)
  if (joinTextParts(delta)) changed = true
  if (normaliseText(state, delta)) changed = true
  if (normaliseCalls(state, delta, choiceIndex)) changed = true
  return changed
}

/** Removes the counts from a chunk that is emitted without them. */
export function takeUsage(state: NormaliserState, chunk: WireChunk): boolean {
  let changed = false
  if (hasUsage(chunk)) {
    if (isObject(chunk.usage)) {
      state.usage = chunk.usage
      state.usageText = undefined
    }
    // `delete` would make the object slow to serialise; `undefined` is not serialised at all.
    chunk.usage = undefined
    changed = true
  }
  if (!isBlank(chunk.copilot_usage) && state.wantsUsage) {
    state.usageExtras = mergeExtras(state.usageExtras, { copilot_usage: chunk.copilot_usage })
    state.usageText = undefined
    chunk.copilot_usage = undefined
    changed = true
  }
  return changed
}

/**
 * Whether a chunk in the middle of an answer needs no change and changes nothing in the state. Each test mirrors a
 * function of `normaliseChunk`; a property test holds the two together.
 */
export function isPlain(state: NormaliserState, chunk: WireChunk): boolean {
  // Once there is content, the identity is complete and the role emitted.
  if (!state.hasContent || state.finish !== undefined || state.pendingExtras !== undefined || state.heldReturn) {
    return false
  }
  if (hasUsage(chunk) || !isBlank(chunk.copilot_usage) || hasError(chunk)) return false
  const { choices } = chunk
  if (!Array.isArray(choices) || choices.length !== 1) return false
  const choice: unknown = choices[0]
  if (!isObject(choice) || choice['index'] !== 0 || choice['finish_reason'] !== null) return false
  const delta = choice['delta']
  if (!isObject(delta) || delta['tool_calls'] !== undefined || !isAssistant(delta['role'])) return false
  // Last, because it is the most expensive test.
  return isPlainContent(delta['content']) && hasIdentity(state, chunk)
}

/** Like openai's own client, accepts any truthy value. */
export function hasError({ error }: WireChunk): boolean {
  return Boolean(error)
}

function hasUsage({ usage }: WireChunk): boolean {
  return usage !== undefined && usage !== null
}

function isAssistant(role: unknown): boolean {
  return role === undefined || role === null || role === 'assistant'
}

const CR = 13

function isPlainContent(content: unknown): boolean {
  if (typeof content === 'string') return content.charCodeAt(content.length - 1) !== CR
  return content === undefined || content === null
}

/** Applies the changes that do not depend on the state and are the same for every piece in the same wrapping. */
function normaliseWrapping(state: NormaliserState, chunk: WireChunk, choice: WireChoice, delta: WireDelta): boolean {
  let changed = false
  if (!hasIdentity(state, chunk)) {
    const { id, object, created, model } = state.identity
    // Members that the chunk lacks are added in this order.
    chunk.object = object
    chunk.id = id
    chunk.created = created
    chunk.model = model
    changed = true
  }
  if (choice.index !== 0 || choice.delta !== delta) {
    // A message in place of a delta becomes the delta.
    if (choice.message === delta) choice.message = undefined
    choice.index = 0
    choice.delta = delta
    changed = true
  }
  if (choice.finish_reason !== null && !isFilled(choice.finish_reason)) {
    choice.finish_reason = null
    changed = true
  }
  // openai's own helper takes the last role that is set, so that a repeated or null role does no harm.
  if (!isAssistant(delta.role)) {
    delta.role = undefined
    changed = true
  }
  return changed
}

function takeReason(state: NormaliserState, { finish_reason: reason }: WireChoice, choiceIndex: number): void {
  if (!isFilled(reason)) return
  if (reason === 'error') {
    throw new Fault({ kind: 'upstream_failed', message: 'The provider ended the answer with an error.' })
  }
  noteReason(state, choiceIndex, reason)
}

/** Joins text parts into one text. Content with other parts stays as it is. */
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
 * Holds a final `\r` back. CRLF text may be cut between its two characters, and some pieces end in a stray `\r`
 * (docs/copilot-wire.md, quirk 18): it is emitted before a `\n` and dropped otherwise, as in GitHub's own client.
 */
function normaliseText(state: NormaliserState, delta: WireDelta): boolean {
  const { content } = delta
  if (!isFilled(content)) return false
  let text = state.heldReturn && content.startsWith('\n') ? `\r${content}` : content
  state.heldReturn = text.endsWith('\r')
  if (state.heldReturn) text = text.slice(0, -1)
  if (text === content) return false
  delta.content = text
  return true
}

function normaliseCalls(state: NormaliserState, delta: WireDelta, choiceIndex: number): boolean {
  if (!Array.isArray(delta.tool_calls)) return false
  const calls = normaliseToolCalls(state.calls, delta.tool_calls, choiceIndex)
  if (calls === undefined) return false
  delta.tool_calls = calls.length > 0 ? calls : undefined
  return true
}
