import { pausedFrom } from '../prefill.ts'
import { isBlank } from '../reminder.ts'
import type { MessagesBlock, MessagesMessage } from '../wire-request.ts'
import { blockRows, type BlockRow, type Walk } from './block-rules.ts'
import { createNotes } from './notes.ts'
import { hasBeta, type Draft, type Outcome, type Rule } from './rule.ts'
import type { Target } from './target.ts'

/** Rows by type, and those for types that end in something, by what they end in. */
const exactRows = new Map<string, BlockRow[]>()
const endingRows = new Map<string, BlockRow[]>()
for (const row of blockRows) {
  for (const type of row.types) {
    const [rows, key] = type.startsWith('*') ? [endingRows, type.slice(1)] : [exactRows, type]
    rows.set(key, [...(rows.get(key) ?? []), row])
  }
}

/** All blocks, in one walk over the conversation; messages that keep nothing are left out. */
export const conversationRule: Rule = {
  name: 'content blocks',
  source: 'see the rows of block-rules.ts',
  adapt: adaptConversation,
}

function adaptConversation(draft: Draft, target: Target): Outcome | undefined {
  const { messages, tools } = draft.body
  let at = 0
  const paused = pausedFrom(messages)
  const notes = createNotes()
  const walk: Walk = {
    target,
    refused: new Set(target.lessons.tags.filter(({ member }) => member === 'messages').map(({ tag }) => tag)),
    hasToolSearch: hasBeta(draft, 'advanced-tool-use'),
    tools: new Set(tools?.map(({ name }) => name ?? '')),
    droppedCalls: new Map(),
    isPaused: () => at >= paused,
    field: () => `messages.${at}`,
    notes,
  }
  const kept: MessagesMessage[] = []
  let changed = false
  for (const message of messages) {
    const adapted = adaptMessage(message, walk)
    changed ||= adapted !== message
    if (adapted !== undefined) kept.push(adapted)
    at += 1
  }
  return changed ? { patch: { messages: kept }, warnings: notes.warnings() } : undefined
}

/** The very message where nothing is to do, undefined where nothing is left of it. */
function adaptMessage(message: MessagesMessage, walk: Walk): MessagesMessage | undefined {
  const { content } = message
  if (typeof content === 'string') {
    if (!isBlank(content)) return message
    walk.notes.add('adapted', walk.field(), 'messages of nothing but white space are left out')
    return undefined
  }
  const blocks = adaptBlocks(content ?? [], walk)
  if (blocks.length === 0) return undefined
  return blocks === content ? message : { ...message, content: blocks }
}

/** The very array where nothing is to do. */
function adaptBlocks(blocks: readonly MessagesBlock[], walk: Walk): readonly MessagesBlock[] {
  /** Made only once something changes. */
  let out: MessagesBlock[] | undefined
  for (const [at, block] of blocks.entries()) {
    const adapted = adaptBlock(block, walk)
    if (out === undefined && adapted === block) continue
    out ??= blocks.slice(0, at)
    // Not spread into the call: a document can become more blocks than a call takes arguments.
    if (isList(adapted)) for (const each of adapted) out.push(each)
    else out.push(adapted)
  }
  return out ?? blocks
}

function adaptBlock(block: MessagesBlock, walk: Walk): MessagesBlock | readonly MessagesBlock[] {
  if (walk.refused.has(block.type)) {
    walk.notes.add('refused_upstream', walk.field(), 'upstream has refused blocks of this type before')
    return NO_BLOCKS
  }
  let current = adaptResultContent(block, walk)
  for (const row of rowsFor(block.type)) {
    const adapted = row.adapt(current, walk)
    if (isList(adapted)) return adapted
    current = adapted
  }
  return current
}

const NO_BLOCKS: readonly MessagesBlock[] = []
const NO_ROWS: readonly BlockRow[] = []

function rowsFor(type: string): readonly BlockRow[] {
  const exact = exactRows.get(type)
  if (exact !== undefined) return exact
  for (const [ending, rows] of endingRows) if (type.endsWith(ending)) return rows
  return NO_ROWS
}

/** Tool results hold blocks themselves. */
function adaptResultContent(block: MessagesBlock, walk: Walk): MessagesBlock {
  const { type, content } = block
  if (type !== 'tool_result' || !Array.isArray(content)) return block
  // What a tool result holds was checked to be blocks.
  const blocks: readonly MessagesBlock[] = content
  const adapted = adaptBlocks(blocks, walk)
  return adapted === blocks ? block : { ...block, content: adapted }
}

function isList(value: MessagesBlock | readonly MessagesBlock[]): value is readonly MessagesBlock[] {
  return Array.isArray(value)
}
