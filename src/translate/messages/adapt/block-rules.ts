import { isObject } from '../../parts/is-object.ts'
import { openOpaque, isSealed } from '../../parts/opaque-envelope.ts'
import { describeSearch } from '../../web-search.ts'
import { contentBlocks, isBlankBlock, tellTool } from '../reminder.ts'
import { readResultContent } from '../search-results.ts'
import { isBlock, type MessagesBlock } from '../wire-request.ts'
import type { Notes } from './notes.ts'
import type { Target } from './target.ts'

/** What is known while the blocks of a conversation are walked. */
export interface Walk {
  readonly target: Target
  /** Types of block that upstream was seen to refuse. */
  readonly refused: ReadonlySet<string>
  readonly hasToolSearch: boolean
  /** Names of the tools that are offered. */
  readonly tools: ReadonlySet<string>
  /** Server tool calls that were left out, whose results go too: what each web search was for, by its id; else ''. */
  readonly droppedCalls: Map<string, string>
  /** The message is part of an answer that upstream paused: it gets its own blocks back as they came. */
  readonly isPaused: () => boolean
  /** `messages.3` */
  readonly field: () => string
  readonly notes: Notes
}

export interface BlockRow {
  readonly name: string
  /** As `Rule.source`. */
  readonly source: string
  /** Types of block, or what they end in, after a `*`. */
  readonly types: readonly string[]
  /** The block as it should be: itself where nothing is to do, several in its place, none to leave it out. */
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
      notes.add('adapted', field(), 'text blocks of nothing but white space are left out')
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
      notes.add('thinking_dropped', field(), 'reasoning without a signature cannot be sent again')
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
    name: 'failed tool results given words',
    source: 'Anthropic API reference, tool use, 2026-11: a result with is_error must not be empty',
    types: ['tool_result'],
    adapt(block) {
      if (!isBlock(block, 'tool_result') || block.is_error !== true) return block
      return contentBlocks(block.content).length === 0 ? { ...block, content: 'Error' } : block
    },
  },
  {
    name: 'tool references as text',
    source: 'messages, tool search',
    types: ['tool_reference'],
    adapt(block, { hasToolSearch, tools, notes, field }) {
      if (!isBlock(block, 'tool_reference') || (hasToolSearch && tools.has(block.tool_name))) return block
      notes.add('adapted', field(), 'references to tools that upstream cannot follow are sent as text')
      return { type: 'text', text: tellTool(block.tool_name) }
    },
  },
  {
    name: 'calls of server tools that are not offered dropped',
    source:
      'messages, tool search: a server tool in the history must be among the tools; messages, server tools; messages, prefill',
    types: ['server_tool_use', 'mcp_tool_use'],
    adapt(block, { tools, isPaused, droppedCalls, notes, field }) {
      const { id, name, input } = block
      if (tools.has(textOf(name)) || isPaused()) return block
      const query = name === 'web_search' && isObject(input) ? textOf(input['query']) : ''
      droppedCalls.set(textOf(id), query)
      if (query !== '') notes.add('adapted', field(), 'web searches of earlier answers are sent as text')
      else
        notes.add(
          'dropped',
          field(),
          'what a tool on the server did is left out, since upstream does not have the tool',
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
      notes.add('adapted', field(), 'documents that are no PDF are sent as text')
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
      notes.add('compaction_dropped', field(), 'compacted history is sent as text')
      return typeof content === 'string' ? contentBlocks(content) : NONE
    },
  },
  {
    name: 'files in containers dropped',
    source: 'messages, betas: files and code execution need ones that upstream refuses',
    types: ['container_upload'],
    adapt(_block, { notes, field }) {
      notes.add('dropped', field(), 'files in containers are not supported by Copilot')
      return NONE
    },
  },
]

/** Members of blocks that are not checked may be anything. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** What a thinking block proves itself with. */
function stateOf(block: MessagesBlock): string {
  if (isBlock(block, 'thinking')) return block.signature ?? ''
  return isBlock(block, 'redacted_thinking') ? block.data : ''
}

/** Callers of this dialect got other models' reasoning in an envelope; what Claude made came to them as it is. */
function openReasoning(block: MessagesBlock, { target, notes, field }: Walk): MessagesBlock | readonly MessagesBlock[] {
  const state = stateOf(block)
  if (!isSealed(state)) return block
  const opaque = openOpaque(state)
  const isOurs = opaque?.vendor === target.vendor && opaque.vendor !== 'unknown'
  if (isOurs && opaque.form === 'redacted') return { type: 'redacted_thinking', data: opaque.value }
  if (isOurs && opaque.form === 'signature') {
    return { type: 'thinking', thinking: isBlock(block, 'thinking') ? block.thinking : '', signature: opaque.value }
  }
  notes.add('thinking_dropped', field(), `${target.traits.id} cannot read the reasoning of another model`)
  return NONE
}
