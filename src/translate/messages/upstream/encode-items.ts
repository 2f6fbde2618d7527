import { toToolInput } from '../../parts/tool-payload.ts'
import type { MessageItem, ReasoningItem, ToolResultItem, TurnItem } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { withPath } from '../../engine/origin.ts'
import { sealOpaque } from '../../parts/opaque-envelope.ts'
import { cacheControl, partBlocks } from '../parts.ts'
import type { MessagesBlock, MessagesMessage, MessagesRole } from '../wire.ts'

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
