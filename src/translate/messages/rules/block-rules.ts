import { isObject, textOf } from '../../../json/json.ts'
import { imageTypeOf } from '../../engine/media/image-type.ts'
import { isSealed, openOpaque } from '../../engine/opaque-envelope.ts'
import { describeSearch } from '../../web-search.ts'
import { contentBlocks, isBlank, isBlankBlock, toolReferenceText, pausedFrom } from '../content.ts'
import { readResultContent } from '../search-results.ts'
import { isBlock } from '../wire.ts'
import type { MessagesBlock, MessagesMessage } from '../wire.ts'
import { fieldOf } from '../../engine/origin.ts'
import { keepPlaces } from '../../engine/places.ts'
import { createNotes, hasBeta } from './rule.ts'
import type { Draft, Notes, Outcome, Rule } from './rule.ts'
import type { Target } from './target.ts'

/** State of one walk over the blocks of a conversation. */
interface Walk {
  readonly target: Target
  readonly hasToolSearch: boolean
  /** Names of the offered tools. */
  readonly tools: ReadonlySet<string>
  /**
   * Ids of server tool calls that were left out, with the query of a web search, otherwise ''. Their results are left
   * out too.
   */
  readonly droppedCalls: Map<string, string>
  /** The message is part of a paused answer, whose blocks are returned to upstream unchanged. */
  readonly isPaused: () => boolean
  /** The message as warnings name it: `messages.3`. */
  readonly field: (element: MessagesBlock | MessagesMessage) => string
  readonly notes: Notes
}

export interface BlockRow {
  readonly name: string
  /** As `Rule.source`. */
  readonly source: string
  /** Block types. `*_tool_result` means those without rows of their own. */
  readonly types: readonly string[]
  /** Returns the same block if there is nothing to change, an empty array to leave it out. */
  readonly adapt: (block: MessagesBlock, walk: Walk) => MessagesBlock | readonly MessagesBlock[]
}

const NONE: readonly MessagesBlock[] = []

export const blockRows: readonly BlockRow[] = [
  {
    name: 'blank text blocks dropped',
    source: 'messages, empty text',
    types: ['text'],
    adapt(block, { notes, field }) {
      if (!isBlankBlock(block)) return block
      notes.add('adapted', field(block), 'blank text blocks dropped')
      return NONE
    },
  },
  {
    name: 'reasoning of other models dropped, our envelope opened',
    source: 'messages, thinking blocks',
    types: ['thinking', 'redacted_thinking'],
    adapt: openReasoning,
  },
  {
    name: 'thinking blocks without a signature dropped',
    source: 'messages, thinking blocks',
    types: ['thinking', 'redacted_thinking'],
    adapt(block, { notes, field }) {
      if (stateOf(block) !== '') return block
      notes.add('thinking_dropped', field(block), 'reasoning without a signature cannot be sent again')
      return NONE
    },
  },
  {
    name: 'tool calls given an object',
    source: 'Anthropic API reference, tool use, 2026-11: input is an object',
    types: ['tool_use'],
    adapt(block) {
      if (!isBlock(block, 'tool_use') || (block.input !== undefined && block.input !== null)) return block
      return { ...block, input: {} }
    },
  },
  {
    name: 'failed tool results given text',
    source: 'Anthropic API reference, tool use, 2026-11: a result with is_error must not be empty',
    types: ['tool_result'],
    adapt(block) {
      if (!isBlock(block, 'tool_result') || block.is_error !== true) return block
      return contentBlocks(block.content).length === 0 ? { ...block, content: 'Error' } : block
    },
  },
  {
    name: 'image types as the bytes state them',
    source: 'messages, images: a type that the bytes contradict is 400',
    types: ['image'],
    adapt(block, { notes, field }) {
      const { source } = block
      if (!isObject(source) || typeof source['data'] !== 'string') return block
      const mediaType = imageTypeOf(source['data'])
      if (mediaType === undefined || mediaType === source['media_type']) return block
      notes.add('adapted', field(block), 'image type corrected')
      return { ...block, source: { ...source, media_type: mediaType } }
    },
  },
  {
    name: 'tool references as text',
    source: 'messages, tool search',
    types: ['tool_reference'],
    adapt(block, { target, hasToolSearch, tools, notes, field }) {
      if (!isBlock(block, 'tool_reference')) return block
      if (hasToolSearch && tools.has(block.tool_name) && !target.refusedReferences.has(block.tool_name)) return block
      notes.add('adapted', field(block), 'tool references sent as text')
      return { type: 'text', text: toolReferenceText(block.tool_name) }
    },
  },
  {
    name: 'calls of server tools that are not offered dropped',
    source:
      'messages, tool search: a server tool in the history must be among the tools; messages, server tools; messages, prefill',
    types: ['server_tool_use', 'mcp_tool_use'],
    adapt(block, { target, tools, isPaused, droppedCalls, notes, field }) {
      const { id, name, input } = block
      if (target.refusedCalls.has(textOf(name))) {
        droppedCalls.set(textOf(id), '')
        notes.add('refused_upstream', field(block), 'the provider does not find the tool of these calls')
        return NONE
      }
      if (tools.has(textOf(name)) || isPaused()) return block
      const query = name === 'web_search' && isObject(input) ? textOf(input['query']) : ''
      droppedCalls.set(textOf(id), query)
      if (query !== '') notes.add('adapted', field(block), 'web searches of earlier answers sent as text')
      else
        notes.add(
          'dropped',
          field(block),
          'calls and results of a server tool dropped: the provider does not have the tool',
        )
      return NONE
    },
  },
  {
    name: 'results of server tools without their call dropped',
    source: 'messages, tool search',
    types: ['*_tool_result'],
    adapt(block, { droppedCalls }) {
      const query = droppedCalls.get(textOf(block['tool_use_id']))
      if (query === undefined) return block
      return query === '' ? NONE : { type: 'text', text: describeSearch(query, readResultContent(block['content'])) }
    },
  },
  {
    name: 'documents that are no PDF as text',
    source: 'messages, documents',
    types: ['document'],
    adapt(block, { notes, field }) {
      if (!isBlock(block, 'document')) return block
      const { source, title, context } = block
      if (source.type !== 'text' && source.type !== 'content') return block
      notes.add('adapted', field(block), 'documents other than PDF sent as text')
      const heading = [title, context].filter((text) => typeof text === 'string' && text !== '').join('\n\n')
      const mark = block.cache_control ? { cache_control: block.cache_control } : {}
      const blocks: MessagesBlock[] = [
        ...contentBlocks(heading),
        ...contentBlocks(source.type === 'text' ? source.data : source.content).filter((inner) => !isBlankBlock(inner)),
      ]
      const last = blocks.pop()
      return last === undefined ? NONE : [...blocks, { ...last, ...mark }]
    },
  },
  {
    name: 'compacted history as text',
    source: 'messages, betas: compaction needs one that upstream refuses',
    types: ['compaction'],
    adapt(block, { notes, field }) {
      const { content } = block
      notes.add('compaction_dropped', field(block), 'compacted history sent as text')
      return typeof content === 'string' ? contentBlocks(content) : NONE
    },
  },
  {
    name: 'files in containers dropped',
    source: 'messages, betas: files and code execution need ones that upstream refuses',
    types: ['container_upload'],
    adapt(block, { notes, field }) {
      notes.add('dropped', field(block), 'files in containers are not supported by Copilot')
      return NONE
    },
  },
]

/** The signature or ciphertext of a thinking block. */
function stateOf(block: MessagesBlock): string {
  if (isBlock(block, 'thinking')) return block.signature ?? ''
  return isBlock(block, 'redacted_thinking') ? block.data : ''
}

/** Callers return other models' reasoning in an envelope, and Claude's reasoning as Claude sent it. */
function openReasoning(block: MessagesBlock, { target, notes, field }: Walk): MessagesBlock | readonly MessagesBlock[] {
  const state = stateOf(block)
  if (!isSealed(state)) return block
  const opaque = openOpaque(state)
  const isOurs = opaque?.vendor === target.vendor && opaque.vendor !== 'unknown'
  if (isOurs && opaque.form === 'redacted') return { type: 'redacted_thinking', data: opaque.value }
  if (isOurs && opaque.form === 'signature') {
    return { type: 'thinking', thinking: isBlock(block, 'thinking') ? block.thinking : '', signature: opaque.value }
  }
  notes.add('thinking_dropped', field(block), `${target.traits.id} cannot read the reasoning of another model`)
  return NONE
}

const rowsByType: ReadonlyMap<string, readonly { readonly row: BlockRow }[]> = Map.groupBy(
  blockRows.flatMap((row) => row.types.map((type) => ({ type, row }))),
  ({ type }) => type,
)

/** Adapts all blocks in one walk. Leaves out messages that have no block left. */
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
    hasToolSearch: hasBeta(draft, 'advanced-tool-use'),
    tools: new Set(tools?.map(({ name }) => name ?? '')),
    droppedCalls: new Map(),
    isPaused: () => at >= paused,
    field: (element) => fieldOf(element, 'messages', at),
    notes,
  }
  const adapted = messages.map((message) => {
    const fitted = adaptMessage(message, walk)
    at += 1
    return fitted
  })
  if (adapted.every((message, index) => message === messages[index])) return undefined
  const { kept, places } = keepPlaces(adapted)
  return { patch: { messages: kept }, places: { messages: places }, warnings: notes.warnings() }
}

/** Returns the same message if no block changes, undefined if none is left. */
function adaptMessage(message: MessagesMessage, walk: Walk): MessagesMessage | undefined {
  const { content } = message
  if (typeof content === 'string') {
    if (!isBlank(content)) return message
    walk.notes.add('adapted', walk.field(message), 'blank messages dropped')
    return undefined
  }
  const blocks = adaptBlocks(content ?? [], walk)
  if (blocks.length === 0) return undefined
  return blocks === content ? message : { ...message, content: blocks }
}

/** Returns the same array if no block changes. */
function adaptBlocks(blocks: readonly MessagesBlock[], walk: Walk): readonly MessagesBlock[] {
  /** Undefined until the first change. */
  let out: MessagesBlock[] | undefined
  for (const [at, block] of blocks.entries()) {
    const adapted = adaptBlock(block, walk)
    if (out === undefined && adapted === block) continue
    out ??= blocks.slice(0, at)
    // Not passed as arguments, because a document may become more blocks than a call accepts arguments.
    if (isList(adapted)) for (const each of adapted) out.push(each)
    else out.push(adapted)
  }
  return out ?? blocks
}

function adaptBlock(block: MessagesBlock, walk: Walk): MessagesBlock | readonly MessagesBlock[] {
  let current = adaptResultContent(block, walk)
  const ofResults = block.type.endsWith('_tool_result') ? rowsByType.get('*_tool_result') : undefined
  for (const { row } of rowsByType.get(block.type) ?? ofResults ?? []) {
    const adapted = row.adapt(current, walk)
    if (isList(adapted)) return adapted
    current = adapted
  }
  if (!walk.target.refusedBlocks.has(current.type)) return current
  const what = /^(?:redacted_)?thinking$/.test(current.type) ? 'the thinking of this answer' : 'blocks of this type'
  walk.notes.add('refused_upstream', walk.field(block), `the provider has refused ${what}; sent without`)
  return NONE
}

/** Tool results contain blocks. */
function adaptResultContent(block: MessagesBlock, walk: Walk): MessagesBlock {
  const { type, content } = block
  if (type !== 'tool_result' || !Array.isArray(content)) return block
  // check-request.ts has checked that these are blocks.
  const blocks: readonly MessagesBlock[] = content
  const adapted = adaptBlocks(blocks, walk)
  return adapted === blocks ? block : { ...block, content: adapted }
}

function isList(value: MessagesBlock | readonly MessagesBlock[]): value is readonly MessagesBlock[] {
  return Array.isArray(value)
}
