import type { JsonObject } from '../parts/is-object.ts'
import { isObject, objectsOf } from '../parts/wire-json.ts'
import { foldDelta, startBlockFold, toBlock } from './fold-block.ts'
import type { BlockFold } from './fold-block.ts'
import type { LooseEvent } from './wire-event.ts'

/** What the events said so far. Owned by one reply, updated in place: copying it per event would be quadratic. */
export interface MessageFold {
  message: JsonObject
  readonly blocks: BlockFold[]
  /** `message_delta.delta`. */
  end: JsonObject
  readonly usage: Map<string, unknown>
  /** What stood beside the members that are known: all that was said under a key, in order. */
  readonly extras: Map<string, unknown[]>
}

export function startFold(): MessageFold {
  return { message: {}, blocks: [], end: {}, usage: new Map(), extras: new Map() }
}

/**
 * Adds one event, by the rules of Anthropic's own client (@anthropic-ai/sdk 1.11.0, MessageStream): blocks are pushed,
 * deltas go by index, a signature is replaced and not appended, usage is replaced where it is not null.
 */
export function foldEvent(fold: MessageFold, event: LooseEvent): MessageFold {
  switch (event.type) {
    case 'message_start':
      fold.message = event.message
      break
    case 'content_block_start':
      fold.blocks.push(startBlockFold(event.content_block))
      break
    case 'content_block_delta': {
      const block = fold.blocks[event.index]
      if (block !== undefined) foldDelta(block, event.delta)
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
    if (!known.has(key)) note(fold.extras, key, event[key])
  }
  return fold
}

/** The whole message as a body. */
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

/** Members of events that have their place in the message. */
const known: ReadonlySet<string> = new Set(['type', 'index', 'message', 'content_block', 'delta', 'usage'])

/** What several events say under one key: objects merge and lists append (`copilot_annotations`), else the last holds. */
function joinExtra(values: readonly unknown[]): unknown {
  const objects = objectsOf(values)
  if (objects.length < values.length) return joinLists(values)
  const members = new Map<string, unknown[]>()
  for (const object of objects) {
    for (const key in object) note(members, key, object[key])
  }
  return Object.fromEntries([...members].map(([key, said]) => [key, joinLists(said)]))
}

function joinLists(values: readonly unknown[]): unknown {
  return values.every(Array.isArray) ? values.flat() : values.at(-1)
}

/** Collected first and joined once: joining with every event would be quadratic. */
function note(lists: Map<string, unknown[]>, key: string, value: unknown): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** The last one counts, whole; a container, once named, stays. */
function foldEnd(fold: MessageFold, delta: JsonObject): void {
  const container = delta['container'] ?? fold.end['container']
  fold.end = isObject(container) ? { ...delta, container } : delta
}

function foldUsage({ usage }: MessageFold, counts: JsonObject): void {
  for (const key in counts) {
    if (counts[key] !== null) usage.set(key, counts[key])
  }
}
