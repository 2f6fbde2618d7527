import { isObject } from '../../parts/is-object.ts'
import type { CacheControl, MessagesBlock, MessagesMessage, MessagesRequest, MessagesTool } from '../wire-request.ts'
import { CACHE_TTL_BETA, withBeta } from './beta-rules.ts'
import type { Draft, Rule } from './rule.ts'

/** Source: docs/copilot-wire.md, "messages, cache marks". */
const MAX_MARKS = 4

/** Members that hold marks, in the order in which upstream caches them. */
type Marked = Pick<MessagesRequest, 'tools' | 'system' | 'messages'>

export const cacheRules: readonly Rule[] = [
  {
    name: 'a mark for the whole request put on its last block',
    source: 'messages, unknown fields; Anthropic API reference, prompt caching, 2026-11: that is what it stands for',
    adapt: ({ body }) => {
      const mark = body['cache_control']
      if (mark === undefined) return undefined
      const messages = isObject(mark) ? markLast(body.messages, mark) : body.messages
      return {
        patch: { cache_control: undefined, messages },
        warnings: [{ code: 'adapted', field: 'cache_control', detail: 'sent on the last block' }],
      }
    },
  },
  {
    name: 'cache marks reduced',
    source: 'messages, cache marks',
    // Without a warning: what is cached changes the price of an answer, not the answer.
    adapt: (draft, target) => {
      const takesTtl = !target.lessons.betas.has(CACHE_TTL_BETA)
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
      // The last marks are those that cover most.
      const kept = excess <= 0 ? reduced : mapMarks(reduced, (mark) => ((excess -= 1) >= 0 ? undefined : mark))
      const beta = usesTtl ? withBeta(draft, CACHE_TTL_BETA, target) : undefined
      const patch = differing(draft.body, kept)
      if (beta === undefined && Object.keys(patch).length === 0) return undefined
      return { patch, ...beta, warnings: [] }
    },
  },
]

/** Only an hour needs saying: five minutes are the default. */
function reduceMark(mark: CacheControl, takesTtl: boolean): CacheControl {
  const ttl = takesTtl && mark.ttl === '1h' ? mark.ttl : undefined
  const isPlain = mark.type === 'ephemeral' && mark.ttl === ttl && Object.keys(mark).length === (ttl ? 2 : 1)
  return isPlain ? mark : { type: 'ephemeral', ...(ttl && { ttl }) }
}

/** The mark as it should be, undefined for none. */
type MapMark = (mark: CacheControl, type: string) => CacheControl | undefined

/** Members in which no mark changes are the very values. */
function mapMarks({ tools, system, messages }: Marked, map: MapMark): Marked {
  return {
    tools: tools && mapSame(tools, (tool) => mapMark(tool, map)),
    system: typeof system === 'object' ? system && mapSame(system, (block) => mapBlock(block, map)) : system,
    messages: mapSame(messages, (message) => {
      const { content } = message
      if (typeof content !== 'object' || content === null) return message
      const mapped = mapSame(content, (block) => mapBlock(block, map))
      return mapped === content ? message : { ...message, content: mapped }
    }),
  }
}

function mapBlock(block: MessagesBlock, map: MapMark): MessagesBlock {
  const { type, content } = block
  if (type !== 'tool_result' || !Array.isArray(content)) return mapMark(block, map)
  // What a tool result holds was checked to be blocks.
  const blocks: readonly MessagesBlock[] = content
  const mapped = mapSame(blocks, (inner) => mapMark(inner, map))
  return mapMark(mapped === blocks ? block : { ...block, content: mapped }, map)
}

function mapMark<Marks extends MessagesBlock | MessagesTool>(marked: Marks, map: MapMark): Marks {
  const { cache_control: mark } = marked
  if (mark === undefined || mark === null) return marked
  const mapped = map(mark, marked.type ?? '')
  return mapped === mark ? marked : { ...marked, cache_control: mapped }
}

function mapSame<Element>(elements: readonly Element[], map: (element: Element) => Element): readonly Element[] {
  let changed = false
  const mapped = elements.map((element) => {
    const result = map(element)
    changed ||= result !== element
    return result
  })
  return changed ? mapped : elements
}

function differing(before: Draft['body'], after: Marked): Partial<Marked> {
  const keys = ['tools', 'system', 'messages'] as const
  return Object.fromEntries(keys.filter((key) => before[key] !== after[key]).map((key) => [key, after[key]]))
}

/** The last block that takes a mark gets one, unless it has one. */
function markLast(messages: readonly MessagesMessage[], mark: CacheControl): readonly MessagesMessage[] {
  const last = messages.at(-1)
  const content: readonly MessagesBlock[] =
    typeof last?.content === 'string' ? [{ type: 'text', text: last.content }] : (last?.content ?? [])
  const at = content.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  const block = content[at]
  if (last === undefined || block === undefined || block.cache_control) return messages
  const marked = { ...last, content: content.with(at, { ...block, cache_control: mark }) }
  return [...messages.slice(0, -1), marked]
}
