import type { JsonObject } from '../parts/is-object.ts'
import { toToolInput } from '../parts/tool-arguments.ts'
import { isKnownBlock } from './deltas.ts'

/** One block of a message, as its events told it. Updated in place. */
export interface BlockFold {
  readonly start: JsonObject
  /** Pieces of `input`; undefined where none came, and the block began with all of it. */
  json: string | undefined
  /** Members that deltas changed. */
  readonly members: Map<string, unknown>
}

/** @param start the `content_block` it began with */
export function startBlockFold(start: JsonObject): BlockFold {
  return { start, json: undefined, members: new Map() }
}

/** Adds a delta, by the rules of Anthropic's own client: a signature is replaced, all else is appended. */
export function foldDelta(block: BlockFold, delta: JsonObject): void {
  switch (delta['type']) {
    case 'text_delta':
      return append(block, 'text', delta['text'])
    case 'thinking_delta':
      return append(block, 'thinking', delta['thinking'])
    case 'signature_delta':
      block.members.set('signature', delta['signature'])
      return
    case 'input_json_delta':
      if (typeof delta['partial_json'] === 'string') block.json = (block.json ?? '') + delta['partial_json']
      return
    case 'citations_delta':
      return foldCitation(block, delta['citation'])
    default:
      // A delta of a block that is not known here (compaction, say) is taken for pieces of the members it names.
      if (isKnownBlock(block.start['type'])) return
      for (const key in delta) if (key !== 'type') append(block, key, delta[key])
  }
}

function append({ start, members }: BlockFold, key: string, piece: unknown): void {
  const before = members.get(key) ?? (Object.hasOwn(start, key) ? start[key] : undefined)
  members.set(key, typeof before === 'string' && typeof piece === 'string' ? before + piece : piece)
}

function foldCitation({ start, members }: BlockFold, citation: unknown): void {
  const before = members.get('citations')
  if (Array.isArray(before)) before.push(citation)
  else members.set('citations', [...(Array.isArray(start['citations']) ? start['citations'] : []), citation])
}

/** The block as it stands in a message. */
export function toBlock({ start, json, members }: BlockFold): JsonObject {
  return {
    ...start,
    ...Object.fromEntries(members),
    ...(json !== undefined && { input: toToolInput(json) }),
  }
}
