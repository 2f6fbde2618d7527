import { refuseValue, toFieldPath } from '../../parts/invalid.ts'
import { toToolInput } from '../../parts/tool-payload.ts'
import type { CacheMark, MessageItem, ReasoningItem, ToolResultItem, TurnItem, TurnPart } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { isBlank, wrapReminder } from '../content.ts'
import type { CacheControl, MessagesBlock, MessagesMessage, MessagesRole } from '../wire.ts'
import { CONTINUED } from './adapt/order-rules.ts'
import type { Target } from './adapt/target.ts'

export interface EncodedItems {
  readonly system: readonly MessagesBlock[]
  readonly messages: readonly MessagesMessage[]
}

interface Run {
  readonly role: MessagesRole
  readonly blocks: MessagesBlock[]
}

/**
 * Encodes items in order as alternating messages. Tool results come first in their message.
 * @throws Fault `invalid_request`
 */
export function encodeItems(items: readonly TurnItem[], target: Target, warnings: Warning[]): EncodedItems {
  const system: MessagesBlock[] = []
  const runs: Run[] = []
  const add = (role: MessagesRole, blocks: readonly MessagesBlock[]): void => {
    if (blocks.length === 0) return
    const last = runs.at(-1)
    if (last?.role !== role) runs.push({ role, blocks: [...blocks] })
    // Not spread into a call: a message may have more parts than a call takes arguments.
    else for (const block of blocks) last.blocks.push(block)
  }
  for (const item of items) {
    switch (item.type) {
      case 'message': {
        const blocks = messageBlocks(item, warnings)
        if (item.role === 'system' && runs.length === 0) for (const block of blocks) system.push(block)
        else add(item.role, blocks)
        break
      }
      case 'reasoning':
        add('assistant', thinkingBlocks(item, target, warnings))
        break
      case 'tool_call': {
        const { id, name, cache } = item
        const input = toToolInput(item.arguments)
        add('assistant', [{ type: 'tool_use', id, name, input, ...cacheControl(cache) }])
        break
      }
      case 'tool_result':
        add('user', [resultBlock(item)])
        break
      case 'web_search':
        // The search is dropped: its results are another vendor's ciphertext, and upstream refuses a search without
        // results.
        warnings.push({ code: 'dropped', field: item.path, detail: 'web searches of another provider dropped' })
        break
      case 'compaction':
        if (item.opaque !== undefined) {
          const detail = 'history compacted by another provider cannot be read; dropped'
          warnings.push({ code: 'compaction_dropped', field: item.path, detail })
        }
        if (!isBlank(item.text)) add('user', [{ type: 'text', text: item.text }])
        break
    }
  }
  return { system, messages: toMessages(orderSystemRuns(runs, target)) }
}

function messageBlocks({ role, parts, path }: MessageItem, warnings: Warning[]): readonly MessagesBlock[] {
  if (role !== 'assistant') return partBlocks(parts, path)
  return parts.flatMap((part): readonly MessagesBlock[] => {
    if (part.type === 'text' || part.type === 'refusal') return partBlocks([part], path)
    const detail = 'assistant messages for Claude can only have text'
    warnings.push({ code: 'dropped', field: path, detail })
    return []
  })
}

/** Claude reads only Claude's reasoning, and readable thinking is sent to no other vendor. */
function thinkingBlocks(item: ReasoningItem, target: Target, warnings: Warning[]): readonly MessagesBlock[] {
  const { opaque, text, path } = item
  if (opaque === undefined) return []
  const isOurs = opaque.vendor === target.vendor && opaque.vendor !== 'unknown' && opaque.value !== ''
  if (isOurs && opaque.form === 'signature') return [{ type: 'thinking', thinking: text, signature: opaque.value }]
  if (isOurs && opaque.form === 'redacted') return [{ type: 'redacted_thinking', data: opaque.value }]
  const detail = `${target.traits.id} cannot read the reasoning of another model`
  warnings.push({ code: 'thinking_dropped', field: path, detail })
  return []
}

/** A result may be empty, but not with `is_error`. */
function resultBlock({ callId, content, isError, cache, path }: ToolResultItem): MessagesBlock {
  const sent = typeof content === 'string' ? content.trim() && content : partBlocks(content, path)
  return {
    type: 'tool_result',
    tool_use_id: callId,
    ...(isError && { is_error: true }),
    ...(sent.length === 0 ? isError && { content: 'Error' } : { content: sent }),
    ...cacheControl(cache),
  }
}

/**
 * Consecutive system items keep the role `system` between a user and an assistant message, if the model accepts it
 * there. Otherwise they become a reminder in the user turn. Source: Anthropic API reference, mid-conversation system
 * messages, 2026-11.
 */
function orderSystemRuns(runs: readonly Run[], { takesSystemMessages }: Target): readonly Run[] {
  return runs.map((run, at) => {
    if (run.role !== 'system') return run
    const isInPlace = runs[at - 1]?.role === 'user' && runs[at + 1]?.role !== 'user'
    if (takesSystemMessages && isInPlace) return run
    return { role: 'user', blocks: run.blocks.flatMap(wrapReminder) }
  })
}

function toMessages(runs: readonly Run[]): readonly MessagesMessage[] {
  const merged: Run[] = []
  for (const { role, blocks } of runs) {
    const last = merged.at(-1)
    if (last?.role === role) for (const block of blocks) last.blocks.push(block)
    else merged.push({ role, blocks: [...blocks] })
  }
  const messages = merged.map(({ role, blocks }) => ({
    role,
    content: role === 'user' ? resultsFirst(blocks) : blocks,
  }))
  if (messages[0] === undefined || messages[0].role === 'user') return messages
  return [{ role: 'user', content: [{ type: 'text', text: CONTINUED }] }, ...messages]
}

function resultsFirst(blocks: readonly MessagesBlock[]): readonly MessagesBlock[] {
  return blocks.toSorted((a, b) => Number(b.type === 'tool_result') - Number(a.type === 'tool_result'))
}

/** Source: Anthropic documentation, vision, 2026-11. */
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

type Part<Type extends TurnPart['type']> = Extract<TurnPart, { type: Type }>

/**
 * Returns undefined for blank text, which upstream refuses.
 * @param path of the item, as warnings name it
 * @throws Fault `invalid_request` for content that Claude does not take
 */
function partBlock(part: TurnPart, path: string): MessagesBlock | undefined {
  switch (part.type) {
    case 'text':
      return isBlank(part.text) ? undefined : { type: 'text', text: part.text, ...cacheControl(part.cache) }
    case 'refusal':
      return isBlank(part.text) ? undefined : { type: 'text', text: part.text }
    case 'image':
      return imageBlock(part, path)
    case 'file':
      return fileBlock(part, path)
    case 'audio':
      return refusePart(path, 'audio is not supported by Claude')
  }
}

function partBlocks(parts: readonly TurnPart[], path: string): readonly MessagesBlock[] {
  return parts.map((part) => partBlock(part, path)).filter((block) => block !== undefined)
}

/** The cache mark as a member to spread into a block. Anthropic offers five minutes (the default) and one hour. */
export function cacheControl(mark: CacheMark | undefined): { readonly cache_control?: CacheControl } {
  if (mark === undefined) return {}
  // OpenAI's longer lifetime is twelve hours.
  return { cache_control: { type: 'ephemeral', ...((mark.ttl === '1h' || mark.ttl === '12h') && { ttl: '1h' }) } }
}

function imageBlock({ source, cache }: Part<'image'>, path: string): MessagesBlock {
  switch (source.type) {
    case 'url':
      return { type: 'image', source: { type: 'url', url: source.url }, ...cacheControl(cache) }
    case 'file_id':
      return refusePart(path, 'this model cannot read uploaded images; send the image itself')
    case 'base64': {
      // Some clients write this type for `image/jpeg`.
      const mediaType = source.mediaType === 'image/jpg' ? 'image/jpeg' : source.mediaType
      if (!IMAGE_TYPES.has(mediaType)) refusePart(path, 'images must be PNG, JPEG, GIF or WebP')
      return {
        type: 'image',
        source: { type: 'base64', media_type: mediaType, data: source.data },
        ...cacheControl(cache),
      }
    }
  }
}

/** Source: docs/copilot-wire.md, "messages, documents". */
function fileBlock({ source, filename, cache }: Part<'file'>, path: string): MessagesBlock | undefined {
  switch (source.type) {
    case 'url':
      return refusePart(path, 'document url sources are not supported by this model')
    case 'file_id':
      return refusePart(path, 'this model cannot read uploaded files; send the file itself')
    case 'base64':
      break
  }
  const { mediaType, data } = source
  if (mediaType === 'application/pdf') {
    return {
      type: 'document',
      source: { type: 'base64', media_type: mediaType, data },
      ...(filename !== undefined && filename !== '' && { title: filename }),
      ...cacheControl(cache),
    }
  }
  if (!mediaType.startsWith('text/') && mediaType !== 'application/json') refusePart(path, 'files must be PDF or text')
  const text = Buffer.from(data, 'base64').toString('utf8')
  if (isBlank(text)) return undefined
  return { type: 'text', text: filename ? `${filename}\n\n${text}` : text, ...cacheControl(cache) }
}

/** @param path with dots, as in warnings */
function refusePart(path: string, detail: string): never {
  refuseValue(path === '' ? '' : `${toFieldPath(path)}.content`, detail, 'unsupported_value')
}
