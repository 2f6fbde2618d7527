import { toToolInput } from '../parts/tool-arguments.ts'
import type { MessageItem, ReasoningItem, ToolResultItem, TurnItem } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { CONTINUED } from './adapt/order-rules.ts'
import type { Target } from './adapt/target.ts'
import { isBlank, wrapReminder } from './reminder.ts'
import { cacheControl, partBlock, partBlocks } from './turn-parts.ts'
import type { MessagesBlock, MessagesMessage, MessagesRole } from './wire-request.ts'

export interface EncodedItems {
  readonly system: readonly MessagesBlock[]
  readonly messages: readonly MessagesMessage[]
}

/** Neighbouring blocks of one role. */
interface Run {
  readonly role: MessagesRole
  readonly blocks: MessagesBlock[]
}

/**
 * Items as the alternating messages Claude wants, in their order but for tool results, which come first in their message.
 * @throws Fault `invalid_request`
 */
export function encodeItems(items: readonly TurnItem[], target: Target, warnings: Warning[]): EncodedItems {
  const system: MessagesBlock[] = []
  const runs: Run[] = []
  const add = (role: MessagesRole, blocks: readonly MessagesBlock[]): void => {
    if (blocks.length === 0) return
    const last = runs.at(-1)
    if (last?.role !== role) runs.push({ role, blocks: [...blocks] })
    // Not spread into the call: a message may have more parts than a call takes arguments.
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
        // Its results are ciphertext of another vendor's, and without them it may not stand in a request.
        warnings.push({ code: 'dropped', field: item.path, detail: 'web searches of another upstream are left out' })
        break
      case 'compaction':
        if (item.opaque !== undefined) {
          const detail = 'history compacted by another upstream cannot be read'
          warnings.push({ code: 'compaction_dropped', field: item.path, detail })
        }
        if (!isBlank(item.text)) add('user', [{ type: 'text', text: item.text }])
        break
    }
  }
  return { system, messages: toMessages(placeSystemRuns(runs, target)) }
}

function messageBlocks({ role, parts, path }: MessageItem, warnings: Warning[]): readonly MessagesBlock[] {
  if (role !== 'assistant') return partBlocks(parts, path)
  return parts.flatMap((part): readonly MessagesBlock[] => {
    if (part.type === 'text' || part.type === 'refusal') return partBlocks([part], path)
    const detail = 'Claude takes only text as the words of the assistant'
    warnings.push({ code: 'dropped', field: path, detail })
    return []
  })
}

/** Claude reads only what Claude wrote; readable text goes to no one else. */
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

/** A result without content is legal, one that reports a failure in no words is not. */
function resultBlock({ callId, content, isError, cache, path }: ToolResultItem): MessagesBlock {
  const said = typeof content === 'string' ? (isBlank(content) ? undefined : content) : partList(content, path)
  return {
    type: 'tool_result',
    tool_use_id: callId,
    ...(isError && { is_error: true }),
    ...(said === undefined ? isError && { content: 'Error' } : { content: said }),
    ...cacheControl(cache),
  }
}

function partList(
  parts: Exclude<ToolResultItem['content'], string>,
  path: string,
): readonly MessagesBlock[] | undefined {
  const blocks = parts.map((part) => partBlock(part, path)).filter((block) => block !== undefined)
  return blocks.length === 0 ? undefined : blocks
}

/**
 * A system run keeps its role behind the user and before the assistant, for models that take it there; anywhere else it is
 * a reminder in the user turn. Source: Anthropic API reference, mid-conversation system messages, 2026-11.
 */
function placeSystemRuns(runs: readonly Run[], { takesSystemMessages }: Target): readonly Run[] {
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

function isResult({ type }: MessagesBlock): boolean {
  return type === 'tool_result'
}

function resultsFirst(blocks: readonly MessagesBlock[]): readonly MessagesBlock[] {
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
}
