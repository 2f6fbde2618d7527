import type { JsonObject } from '../../json/json.ts'
import { toAnswerInput } from '../engine/tool-codec/tool-payload.ts'
import { type FoldSize, grow, lengthOf, startFoldSize } from '../engine/reply/fold-size.ts'
import { isObject, objectsOf } from '../../json/json.ts'
import type { LooseEvent } from './wire.ts'

/** Owned by one reply, updated in place: copying it per event would be quadratic. */
export interface MessageFold {
  message: JsonObject
  readonly blocks: BlockFold[]
  /** `message_delta.delta`. */
  end: JsonObject
  readonly usage: Map<string, unknown>
  /** Unknown members of events, with all values of each key in order. */
  readonly extras: Map<string, unknown[]>
  readonly size: FoldSize
}

export function startFold(): MessageFold {
  return { message: {}, blocks: [], end: {}, usage: new Map(), extras: new Map(), size: startFoldSize() }
}

/**
 * Follows Anthropic's client (@anthropic-ai/sdk 1.11.0, MessageStream): blocks are pushed, deltas go by index, a
 * signature is replaced and not appended, usage is replaced unless it is null.
 * @throws Fault `upstream_unusable` for an answer that is too long for one body
 */
export function foldEvent(fold: MessageFold, event: LooseEvent): MessageFold {
  switch (event.type) {
    case 'message_start':
      fold.message = event.message
      break
    case 'content_block_start':
      grow(fold.size, 100 + lengthOf(event.content_block))
      fold.blocks.push(startBlockFold(event.content_block))
      break
    case 'content_block_delta': {
      const block = fold.blocks[event.index]
      if (block === undefined) break
      grow(fold.size, lengthOfDelta(event.delta))
      foldDelta(block, event.delta)
      break
    }
    case 'content_block_stop':
    case 'message_stop':
      break
    case 'message_delta':
      foldEnd(fold, event.delta)
      foldUsage(fold, event.usage)
      break
    default:
      event satisfies never
  }
  for (const key in event) {
    if (known.has(key)) continue
    grow(fold.size, lengthOf(event[key]))
    note(fold.extras, key, event[key])
  }
  return fold
}

/** A signature replaces the one before. */
function lengthOfDelta(delta: JsonObject): number {
  let length = 0
  for (const key in delta) if (key !== 'type' && key !== 'signature') length += lengthOf(delta[key])
  return length
}

export function toMessage({ message, blocks, end, usage, extras }: MessageFold): JsonObject {
  const body: JsonObject = {
    ...message,
    content: blocks.map(toBlock),
    ...end,
    usage: { ...(isObject(message['usage']) && message['usage']), ...Object.fromEntries(usage) },
  }
  const others = [...extras].filter(([key]) => !Object.hasOwn(body, key))
  return { ...body, ...Object.fromEntries(others.map(([key, values]) => [key, joinExtra(values)])) }
}

/** Members of events that belong to the message. */
const known: ReadonlySet<string> = new Set(['type', 'index', 'message', 'content_block', 'delta', 'usage'])

/** Objects merge and lists append (`copilot_annotations`). For other values the last one counts. */
function joinExtra(values: readonly unknown[]): unknown {
  const objects = objectsOf(values)
  if (objects.length < values.length) return joinLists(values)
  const members = new Map<string, unknown[]>()
  for (const object of objects) {
    for (const key in object) note(members, key, object[key])
  }
  return Object.fromEntries([...members].map(([key, lists]) => [key, joinLists(lists)]))
}

function joinLists(values: readonly unknown[]): unknown {
  return values.every(Array.isArray) ? values.flat() : values.at(-1)
}

/** Pieces are collected first and joined once, because joining at every event would be quadratic. */
function note(lists: Map<string, unknown[]>, key: string, value: unknown): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** The last `delta` replaces earlier ones, except for their container. */
function foldEnd(fold: MessageFold, delta: JsonObject): void {
  const container = delta['container'] ?? fold.end['container']
  fold.end = isObject(container) ? { ...delta, container } : delta
}

function foldUsage({ usage }: MessageFold, counts: JsonObject): void {
  for (const key in counts) {
    if (counts[key] !== null) usage.set(key, counts[key])
  }
}

/** Updated in place. */
export interface BlockFold {
  readonly start: JsonObject
  /** Pieces of `input`; undefined until the first one. */
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
      // Deltas of unknown blocks (for example, compaction) are pieces of the members they name.
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

export function toBlock({ start, json, members }: BlockFold): JsonObject {
  return {
    ...start,
    ...Object.fromEntries(members),
    ...(json !== undefined && { input: toAnswerInput(json) }),
  }
}

/** The deltas of each kind of block. A block without deltas is complete when it starts. */
export const deltasOfBlock: ReadonlyMap<unknown, ReadonlySet<unknown>> = new Map([
  ['text', new Set(['text_delta', 'citations_delta'])],
  ['thinking', new Set(['thinking_delta', 'signature_delta'])],
  ['redacted_thinking', new Set()],
  ['tool_use', new Set(['input_json_delta'])],
  ['server_tool_use', new Set(['input_json_delta'])],
  ['web_search_tool_result', new Set()],
])

function isKnownBlock(blockType: unknown): boolean {
  return deltasOfBlock.has(blockType)
}
