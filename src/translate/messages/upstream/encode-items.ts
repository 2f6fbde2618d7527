import { refuseValue, toFieldPath } from '../../parts/invalid.ts'
import { toToolInput } from '../../parts/tool-payload.ts'
import type { CacheMark, MessageItem, ReasoningItem, ToolResultItem, TurnItem, TurnPart } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { withPath } from '../../engine/origin.ts'
import { imageTypeOf } from '../../parts/image-type.ts'
import { sealOpaque } from '../../parts/opaque-envelope.ts'
import type { CacheControl, MessagesBlock, MessagesMessage, MessagesRole } from '../wire.ts'

export interface EncodedItems {
  readonly system: readonly MessagesBlock[]
  readonly messages: readonly MessagesMessage[]
}

/** Messages in a row with one role. An alias, so that it is assignable to a message, which may have any member. */
type Run = { readonly role: MessagesRole; readonly content: MessagesBlock[] }

/**
 * Encodes items in order. Items of one role in a row are one message.
 * @throws Fault `invalid_request`
 */
export function encodeItems(items: readonly TurnItem[], warnings: Warning[]): EncodedItems {
  const system: MessagesBlock[] = []
  const runs: Run[] = []
  const add = (role: MessagesRole, { path }: TurnItem, blocks: readonly MessagesBlock[]): void => {
    if (blocks.length === 0) return
    let last = runs.at(-1)
    if (last?.role !== role) {
      last = withPath<Run>({ role, content: [] }, path)
      runs.push(last)
    }
    // Not spread into a call: a message may have more parts than a call takes arguments.
    for (const block of blocks) last.content.push(withPath(block, path))
  }
  for (const item of items) {
    switch (item.type) {
      case 'message': {
        const blocks = messageBlocks(item, warnings)
        if (item.role === 'system' && runs.length === 0) for (const block of blocks) system.push(block)
        else add(item.role, item, blocks)
        break
      }
      case 'reasoning':
        add('assistant', item, thinkingBlocks(item))
        break
      case 'tool_call': {
        const { id, name, cache } = item
        const input = toToolInput(item.arguments)
        add('assistant', item, [{ type: 'tool_use', id, name, input, ...cacheControl(cache) }])
        break
      }
      case 'tool_result':
        add('user', item, [resultBlock(item)])
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
        add('user', item, [{ type: 'text', text: item.text }])
        break
    }
  }
  return { system, messages: runs }
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

/** The envelope states whose reasoning it is. A rule opens it for the model that made it. */
function thinkingBlocks({ opaque, text }: ReasoningItem): readonly MessagesBlock[] {
  return opaque === undefined ? [] : [{ type: 'thinking', thinking: text, signature: sealOpaque(opaque) }]
}

function resultBlock({ callId, content, isError, cache, path }: ToolResultItem): MessagesBlock {
  const sent = typeof content === 'string' ? content.trim() && content : partBlocks(content, path)
  return {
    type: 'tool_result',
    tool_use_id: callId,
    ...(isError && { is_error: true }),
    ...(sent.length > 0 && { content: sent }),
    ...cacheControl(cache),
  }
}

/** Source: Anthropic documentation, vision, 2026-11. */
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

type Part<Type extends TurnPart['type']> = Extract<TurnPart, { type: Type }>

/**
 * @param path of the item, as warnings name it
 * @throws Fault `invalid_request` for content that Claude does not take
 */
function partBlock(part: TurnPart, path: string): MessagesBlock {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...cacheControl(part.cache) }
    case 'refusal':
      return { type: 'text', text: part.text }
    case 'image':
      return imageBlock(part, path)
    case 'file':
      return fileBlock(part, path)
    case 'audio':
      return refusePart(path, 'audio is not supported by Claude')
  }
}

function partBlocks(parts: readonly TurnPart[], path: string): readonly MessagesBlock[] {
  return parts.map((part) => partBlock(part, path))
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
      // Some clients write `image/jpg` for `image/jpeg`.
      const declared = source.mediaType === 'image/jpg' ? 'image/jpeg' : source.mediaType
      const mediaType = imageTypeOf(source.data) ?? declared
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
function fileBlock({ source, filename, cache }: Part<'file'>, path: string): MessagesBlock {
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
  return { type: 'text', text: filename ? `${filename}\n\n${text}` : text, ...cacheControl(cache) }
}

/** @param path with dots, as in warnings */
function refusePart(path: string, detail: string): never {
  refuseValue(path === '' ? '' : `${toFieldPath(path)}.content`, detail, 'unsupported_value')
}
