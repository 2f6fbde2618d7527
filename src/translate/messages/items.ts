import { withoutBillingLine } from './content.ts'
import { isSealed, openOpaque, sealOpaque } from '../engine/opaque-envelope.ts'
import type { Opaque, ReasoningItem, ToolCallItem, ToolResultItem, TurnItem, TurnPart, MessageItem } from '../turn.ts'
import type { Warning } from '../warning.ts'
import {
  cacheOf,
  decodeParts,
  type LazyField,
  partsOfBlock,
  refuseAt,
  unreadable,
  cacheControl,
  partBlocks,
} from './parts.ts'
import { everyToolOffered } from './tools.ts'
import { readResultContent } from './search-results.ts'
import {
  isBlock,
  type MessagesBlock,
  type MessagesMessage,
  type MessagesRequest,
  type Block,
  type MessagesRole,
} from './wire.ts'
import { toToolInput } from '../engine/tool-codec/tool-payload.ts'
import { withPath } from '../engine/origin.ts'
import { textOf } from '../../json/json.ts'

/** One item for each text of the system prompt. Upstreams that take a single text join the items with an empty line. */
export function decodeSystem({ system }: MessagesRequest, warnings: Warning[]): readonly TurnItem[] {
  if (system === undefined || system === null) return []
  const texts = decodeParts(system, () => 'system', warnings).map(withoutBilling)
  return texts.flatMap((part, at): TurnItem[] => {
    if (part.type === 'text' && part.text === '') return []
    return [
      { type: 'message', role: 'system', parts: [part], path: typeof system === 'string' ? 'system' : `system.${at}` },
    ]
  })
}

function withoutBilling(part: TurnPart): TurnPart {
  return part.type === 'text' ? { ...part, text: withoutBillingLine(part.text) } : part
}

/** @param thinkingFrom index of the first message whose thinking is kept */
export function decodeItems(
  messages: readonly MessagesMessage[],
  thinkingFrom: number,
  warnings: Warning[],
): readonly TurnItem[] {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  const items: TurnItem[] = []
  messages.forEach((message, at) => {
    // The text of this message was for the user turn before it, which has ended.
    if (message.role === 'system' && message['clear_at'] === 'next_user_message' && at < lastUser) return
    decodeMessage(message, `messages.${at}`, at >= thinkingFrom, items, warnings)
  })
  return items
}

function decodeMessage(
  { role, content }: MessagesMessage,
  path: string,
  keepsThinking: boolean,
  items: TurnItem[],
  warnings: Warning[],
): void {
  if (content === undefined || content === null) return
  if (typeof content === 'string') {
    items.push({ type: 'message', role, parts: [{ type: 'text', text: content }], path })
    return
  }
  let parts: TurnPart[] = []
  const closeMessage = (): void => {
    if (parts.length > 0) items.push({ type: 'message', role, parts, path })
    parts = []
  }
  content.forEach((block, at) => {
    const field = (): string => `${path}.content.${at}`
    const read = partsOfBlock(block, field, warnings)
    if (read !== undefined) {
      // Not passed as arguments, because a document may have more parts than a call accepts arguments.
      for (const part of read) parts.push(part)
      return
    }
    if (block.type === 'web_search_tool_result') {
      noteResult(items, block)
      return
    }
    const item = itemOfBlock(block, path, field, warnings)
    if (item === undefined || (item.type === 'reasoning' && !keepsThinking)) return
    closeMessage()
    items.push(item)
  })
  closeMessage()
}

/** Puts the result of a search into its search item, which is earlier in the same message. */
function noteResult(items: TurnItem[], { tool_use_id: id, content }: MessagesBlock): void {
  const at = items.findLastIndex((item) => item.type === 'web_search' && item.id === id)
  const search = items[at]
  if (search?.type === 'web_search') items[at] = { ...search, outcome: readResultContent(content) }
}

/** Undefined for blocks that a turn leaves out. */
function itemOfBlock(block: MessagesBlock, path: string, field: LazyField, warnings: Warning[]): TurnItem | undefined {
  if (isBlock(block, 'tool_use')) return toolCall(block, path)
  if (isBlock(block, 'tool_result')) return toolResult(block, path, field, warnings)
  if (isBlock(block, 'thinking')) return reasoning(block.thinking, block.signature ?? '', 'signature', path, warnings)
  if (isBlock(block, 'redacted_thinking')) return reasoning('', block.data, 'redacted', path, warnings)
  if (isBlock(block, 'server_tool_use') && block.name === 'web_search') {
    const query = block.input?.['query']
    return { type: 'web_search', id: block.id, query: textOf(query), path }
  }
  if (block.type === 'compaction') {
    // Null marks a failed compaction.
    return typeof block['content'] === 'string' ? { type: 'compaction', text: block['content'], path } : undefined
  }
  leaveOut(block, field, warnings)
  return undefined
}

function leaveOut(block: MessagesBlock, field: LazyField, warnings: Warning[]): void {
  switch (block.type) {
    case 'tool_addition':
    case 'tool_removal':
      // `decodeTools` reads these.
      return
    case 'container_upload':
      return refuseAt(field, 'files in containers are not available for this model')
    default:
      warnings.push(isToolSearch(block) ? everyToolOffered(field) : unreadable(field))
  }
}

function isToolSearch(block: MessagesBlock): boolean {
  if (isBlock(block, 'server_tool_use')) return block.name.startsWith('tool_search_tool')
  return block.type === 'tool_search_tool_result'
}

function toolCall(block: Block<'tool_use'>, path: string): ToolCallItem {
  return {
    type: 'tool_call',
    kind: 'function',
    id: block.id,
    name: block.name,
    arguments: JSON.stringify(block.input ?? {}),
    ...cacheOf(block),
    path,
  }
}

function toolResult(block: Block<'tool_result'>, path: string, field: LazyField, warnings: Warning[]): ToolResultItem {
  const content = block.content ?? ''
  return {
    type: 'tool_result',
    callId: block.tool_use_id,
    content: typeof content === 'string' ? content : decodeParts(content, () => `${field()}.content`, warnings),
    isError: block.is_error ?? false,
    ...cacheOf(block),
    path,
  }
}

function reasoning(
  text: string,
  state: string,
  form: 'signature' | 'redacted',
  path: string,
  warnings: Warning[],
): ReasoningItem {
  if (state === '') return { type: 'reasoning', text, path }
  const opaque: Opaque | undefined = isSealed(state)
    ? openOpaque(state)
    : { vendor: 'anthropic', family: 'claude', form, value: state }
  if (opaque !== undefined) return { type: 'reasoning', text, opaque, path }
  warnings.push({ code: 'thinking_dropped', field: path, detail: 'the signature is damaged' })
  return { type: 'reasoning', text, path }
}

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
