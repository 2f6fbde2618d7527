import { mapSame, mapBlocks } from '../content.ts'
import { isObject } from '../../../json/json.ts'
import type { CacheControl, MessagesBlock, MessagesMessage, MessagesRequest, MessagesTool } from '../wire.ts'
import { CACHE_TTL_BETA, withBeta } from './beta-rules.ts'
import type { Draft, Rule } from './rule.ts'

/** Source: docs/copilot-wire.md, "messages, cache marks". */
const MAX_MARKS = 4

/** Members with marks, in the order in which upstream caches them. */
type Marked = Pick<MessagesRequest, 'tools' | 'system' | 'messages'>

export const cacheRules: readonly Rule[] = [
  {
    name: 'a mark for the whole request put on its last block',
    source: 'messages, unknown fields; Anthropic API reference, prompt caching, 2026-11: its meaning',
    adapt: ({ body }) => {
      const mark = body['cache_control']
      if (mark === undefined) return undefined
      const messages = isObject(mark) ? markLast(body.messages, mark) : body.messages
      return {
        patch: { cache_control: undefined, messages },
        warnings: [{ code: 'adapted', field: 'cache_control', detail: 'moved to the last block' }],
      }
    },
  },
  {
    name: 'cache marks moved from the inside of tool results to the results',
    source: 'messages, cache marks: some backends take none inside (caozhiyuan/copilot-api#241)',
    // No warning, because caching changes only the price of an answer.
    adapt: ({ body }) => {
      const messages = mapSame(body.messages, (message) => mapBlocks(message, markedOutside))
      return messages === body.messages ? undefined : { patch: { messages }, warnings: [] }
    },
  },
  {
    name: 'cache marks added',
    source: 'messages, cache marks',
    applies: ({ marksCache }) => marksCache === true,
    adapt: ({ body }) => {
      const marked = markForCaching(body)
      return marked === body ? undefined : { patch: differing(body, marked), warnings: [] }
    },
  },
  {
    name: 'cache marks reduced',
    source: 'messages, cache marks',
    // No warning, because caching changes only the price of an answer.
    adapt: (draft, target) => {
      const takesTtl = !target.refusedBetas.has(CACHE_TTL_BETA)
      let total = 0
      let usesTtl = false
      const reduced = mapMarks(draft.body, (mark, type) => {
        if (type === 'thinking' || type === 'redacted_thinking') return undefined
        const plain = reduceMark(mark, takesTtl)
        total += 1
        usesTtl ||= plain.ttl !== undefined
        return plain
      })
      let excess = total - MAX_MARKS
      // Keep the last marks, which cover the most.
      const kept = excess <= 0 ? reduced : mapMarks(reduced, (mark) => ((excess -= 1) >= 0 ? undefined : mark))
      const beta = usesTtl ? withBeta(draft, CACHE_TTL_BETA, target) : undefined
      const patch = differing(draft.body, kept)
      if (beta === undefined && Object.keys(patch).length === 0) return undefined
      return { patch, ...beta, warnings: [] }
    },
  },
]

/** States only one hour, because five minutes are the default. */
function reduceMark(mark: CacheControl, takesTtl: boolean): CacheControl {
  const ttl = takesTtl && mark.ttl === '1h' ? mark.ttl : undefined
  const isPlain = mark.type === 'ephemeral' && mark.ttl === ttl && Object.keys(mark).length === (ttl ? 2 : 1)
  return isPlain ? mark : { type: 'ephemeral', ...(ttl && { ttl }) }
}

function markedOutside(block: MessagesBlock): MessagesBlock {
  const { type, content } = block
  if (type !== 'tool_result' || !Array.isArray(content)) return block
  // check-request.ts has checked that these are blocks.
  const inner: readonly MessagesBlock[] = content
  const mark = inner.findLast(({ cache_control: each }) => each)?.cache_control
  if (!mark) return block
  const bare = mapSame(inner, (each) => (each.cache_control ? withoutMark(each) : each))
  return { ...block, content: bare, cache_control: block.cache_control ?? mark }
}

function withoutMark({ cache_control: _mark, ...block }: MessagesBlock): MessagesBlock {
  return block
}

/** Returns undefined to remove the mark. */
type MapMark = (mark: CacheControl, type: string) => CacheControl | undefined

/** Members in which no mark changes keep their identity. */
function mapMarks({ tools, system, messages }: Marked, map: MapMark): Marked {
  return {
    tools: tools && mapSame(tools, (tool) => mapMark(tool, map)),
    system: typeof system === 'object' ? system && mapSame(system, (block) => mapMark(block, map)) : system,
    messages: mapSame(messages, (message) => mapBlocks(message, (block) => mapMark(block, map))),
  }
}

function mapMark<Marks extends MessagesBlock | MessagesTool>(marked: Marks, map: MapMark): Marks {
  const { cache_control: mark } = marked
  if (mark === undefined || mark === null) return marked
  const mapped = map(mark, marked.type ?? '')
  return mapped === mark ? marked : { ...marked, cache_control: mapped }
}

function differing(before: Draft['body'], after: Marked): Partial<Marked> {
  const keys = ['tools', 'system', 'messages'] as const
  return Object.fromEntries(keys.filter((key) => before[key] !== after[key]).map((key) => [key, after[key]]))
}

/** Marks the last block that takes a mark, unless it has one. */
function markLast(messages: readonly MessagesMessage[], mark: CacheControl): readonly MessagesMessage[] {
  const last = messages.at(-1)
  const content = blocksOf(last?.content ?? [])
  const at = content.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  const block = content[at]
  if (last === undefined || block === undefined || block.cache_control) return messages
  return messages.with(messages.length - 1, { ...last, content: content.with(at, { ...block, cache_control: mark }) })
}

const MARK: CacheControl = { type: 'ephemeral' }

/**
 * Marks the tools, the system text and the last two messages, because the next request repeats them. GitHub's own
 * client does the same. A body with marks of the caller's is returned as it is. Source: docs/copilot-wire.md,
 * "messages, cache marks".
 */
function markForCaching(body: MessagesRequest): MessagesRequest {
  const { tools, system, messages } = body
  let hasMark = false
  mapMarks(body, (mark) => {
    hasMark = true
    return mark
  })
  if (hasMark) return body
  const last = messages.findLastIndex(takesMark)
  const before = messages.findLastIndex((message, at) => at < last && takesMark(message))
  return {
    ...body,
    ...(tools && { tools: markLastTool(tools) }),
    ...(system && { system: markLastOf(blocksOf(system)) }),
    messages: messages.map((message, at) => (at === last || at === before ? markMessage(message) : message)),
  }
}

/** Thinking accepts no mark. Source: docs/copilot-wire.md, "messages, cache marks". */
function takesMark({ role, content }: MessagesMessage): boolean {
  if (role === 'system' || !content) return false
  return typeof content === 'string' || content.at(-1)?.type.endsWith('thinking') === false
}

function blocksOf(content: string | readonly MessagesBlock[]): readonly MessagesBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function markMessage(message: MessagesMessage): MessagesMessage {
  const { content } = message
  return content ? { ...message, content: markLastOf(blocksOf(content)) } : message
}

/** A deferred tool accepts no mark. Source: Anthropic documentation, tool search, 2026-11. */
function markLastTool(tools: readonly MessagesTool[]): readonly MessagesTool[] {
  const at = tools.findLastIndex(({ defer_loading: isDeferred }) => isDeferred !== true)
  return at === -1 ? tools : [...markLastOf(tools.slice(0, at + 1)), ...tools.slice(at + 1)]
}

function markLastOf<Element extends object>(elements: readonly Element[]): readonly Element[] {
  const last = elements.at(-1)
  return last === undefined ? elements : elements.with(elements.length - 1, { ...last, cache_control: MARK })
}
