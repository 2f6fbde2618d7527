import { isBlock, type MessagesBlock, type MessagesMessage } from '../wire-request.ts'
import { isLegalName } from '../../prepare/short-name.ts'
import type { Rule } from './rule.ts'

/**
 * Ids that several calls share come from models that count their calls anew with every answer, and from clients that
 * moved a session here. Runs before results are paired: an id that was changed is changed in the results as well, the
 * first of them for the first call.
 */
export const callIdsRule: Rule = {
  name: 'ids of tool calls made legal and unique',
  source: 'messages, tool results; Anthropic API reference, tool use, 2026-11: ids are letters, digits, _ and -',
  adapt: ({ body: { messages } }) => {
    if (areFine(messages)) return undefined
    const ids = createIds()
    /** Calls of the last turn of the assistant by the id they came with, those without a result. */
    let open = new Map<string, { readonly ids: string[]; next: number }>()
    let before: string | undefined
    let first: number | undefined
    const out = messages.map((message, at) => {
      if (message.role === 'assistant' && before !== 'assistant') open = new Map()
      before = message.role
      const named = withBlocks(message, (block) => {
        if (isBlock(block, 'tool_use') && message.role === 'assistant') {
          const id = ids.give(block.id)
          const known = open.get(block.id)
          if (known === undefined) open.set(block.id, { ids: [id], next: 0 })
          else known.ids.push(id)
          return id === block.id ? block : { ...block, id }
        }
        if (!isBlock(block, 'tool_result')) return block
        const known = open.get(block.tool_use_id)
        const id = known?.ids[known.next]
        if (known === undefined || id === undefined) return block
        known.next += 1
        return id === block.tool_use_id ? block : { ...block, tool_use_id: id }
      })
      if (named !== message) first ??= at
      return named
    })
    if (first === undefined) return undefined
    const detail = 'ids of tool calls that upstream refuses, or that are there twice, are sent in another form'
    return { patch: { messages: out }, warnings: [{ code: 'adapted', field: `messages.${first}`, detail }] }
  },
}

/** The common case: nothing to do, and nothing built to find out but a set of the ids. */
function areFine(messages: readonly MessagesMessage[]): boolean {
  const seen = new Set<string>()
  for (const { role, content } of messages) {
    if (role !== 'assistant' || typeof content !== 'object') continue
    for (const block of content ?? []) {
      if (!isBlock(block, 'tool_use')) continue
      if (seen.has(block.id) || !isLegalName(block.id, Infinity)) return false
      seen.add(block.id)
    }
  }
  return true
}

/** Depends on nothing but the calls before, so that every turn of a session says the same. */
function createIds() {
  const uses = new Map<string, number>()
  const taken = new Set<string>()
  return {
    give(original: string): string {
      const base = original.replaceAll(/[^A-Za-z0-9_-]/g, '_') || 'call'
      let use = (uses.get(base) ?? 0) + 1
      let id = use === 1 ? base : `${base}__${use}`
      while (taken.has(id)) {
        use += 1
        id = `${base}__${use}`
      }
      uses.set(base, use)
      taken.add(id)
      return id
    },
  }
}

/** The very message where no block changes. */
function withBlocks(message: MessagesMessage, map: (block: MessagesBlock) => MessagesBlock): MessagesMessage {
  const { content } = message
  if (typeof content !== 'object' || content === null) return message
  let changed = false
  const mapped = content.map((block) => {
    const result = map(block)
    changed ||= result !== block
    return result
  })
  return changed ? { ...message, content: mapped } : message
}
