import { Fault } from '../../errors.ts'
import type { JsonObject } from '../parts/is-object.ts'
import { isFilled, isObject } from '../parts/wire-json.ts'
import type { ContentBlock } from './wire-event.ts'

/** Where a delta has its text. */
const textMembers: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'signature'],
  ['input_json_delta', 'partial_json'],
])

/** Whether clients can add the delta to its block: they append `undefined` where the text is not there. */
export function isReadableDelta(delta: unknown): delta is JsonObject {
  if (!isObject(delta)) return false
  const member = textMembers.get(delta['type'])
  if (member !== undefined) return typeof delta[member] === 'string'
  return delta['type'] === 'citations_delta' ? isObject(delta['citation']) : isFilled(delta['type'])
}

/** What each kind of block is made of; one that has no deltas comes whole. */
const deltasOfBlock: ReadonlyMap<unknown, ReadonlySet<unknown>> = new Map([
  ['text', new Set(['text_delta', 'citations_delta'])],
  ['thinking', new Set(['thinking_delta', 'signature_delta'])],
  ['redacted_thinking', new Set()],
  ['tool_use', new Set(['input_json_delta'])],
  ['server_tool_use', new Set(['input_json_delta'])],
  ['web_search_tool_result', new Set()],
])

export function isKnownBlock(blockType: unknown): boolean {
  return deltasOfBlock.has(blockType)
}

/**
 * Whether a delta can be for a block: some clients fail on one that cannot. Of blocks and deltas that are not known here
 * nothing is known.
 */
export function fitsBlock(deltaType: unknown, blockType: unknown): boolean {
  const isKnown = textMembers.has(deltaType) || deltaType === 'citations_delta'
  return !isKnown || (deltasOfBlock.get(blockType)?.has(deltaType) ?? true)
}

/** The block a delta belongs to when none was opened for it; undefined where a delta alone does not tell. */
export function blockForDelta(type: unknown): ContentBlock | undefined {
  switch (type) {
    case 'text_delta':
      return { type: 'text', text: '', citations: null }
    case 'thinking_delta':
      return { type: 'thinking', thinking: '', signature: '' }
    default:
      return undefined
  }
}

/**
 * Whether an event is about the block that is open. Where either side does not count, there is only one it can mean.
 */
export function isForBlock(wireIndex: unknown, index: unknown): boolean {
  return index === wireIndex || typeof index !== 'number' || typeof wireIndex !== 'number'
}

/**
 * A delta of a block nobody knows can be left out. Arguments of a call that was over when they came cannot: the caller
 * has the call without them, and would run it.
 * @param calls indexes of the calls so far, as upstream counts
 * @throws Fault `upstream_unusable`
 */
export function refuseLateArguments(
  { type, partial_json: piece }: JsonObject,
  index: unknown,
  calls: ReadonlySet<unknown>,
): void {
  if (type !== 'input_json_delta' || !isFilled(piece) || !calls.has(index)) return
  throw new Fault({ kind: 'upstream_unusable', detail: 'it sent arguments of a tool call that was over' })
}
