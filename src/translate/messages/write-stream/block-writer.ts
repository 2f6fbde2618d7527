import { Fault } from '../../../errors.ts'
import { sealOpaque } from '../../engine/opaque-envelope.ts'
import type { Citation, Opaque, TurnEvent } from '../../turn.ts'
import { startJsonPrefix, takeJson, type JsonPrefix } from './json-prefix.ts'
import { toResultContent } from '../search-results.ts'
import type { BlockDelta, ContentBlock, MessagesEvent, WebSearchContent, WebSearchResult } from '../wire.ts'

/** An event of one part of the reply. `closeBlock` takes the signature. */
export type PartEvent = Exclude<TurnEvent, { readonly type: 'start' | 'think.sign' | 'part.close' | 'usage' | 'stop' }>

/** Owned by one reply, updated in place. */
export interface BlockWriter {
  readonly emit: (event: MessagesEvent) => void
  /** The caller asked for thinking without its text. */
  readonly hidesThinking: boolean
  /** The index of the next block. Indexes are 0, 1, 2… without gaps, because clients look up deltas by index. */
  next: number
  open: OpenBlock | undefined
  endsWithText: boolean
  /** Thinking after a text. It waits for the next block. */
  late: LateThought[]
  /** Calls of the caller's tools. */
  calls: number
  /** Searches upstream ran. */
  searches: number
  /** The last search that upstream ran, until its result is written: the texts after it cite its pages. */
  citedSearch: CitedSearch | undefined
  /** The model has refused in a `refusal` part. */
  refused: boolean
}

interface CitedSearch {
  readonly id: string
  /** By address, in the order they were cited. */
  readonly pages: Map<string, WebSearchResult>
}

interface LateThought {
  readonly pieces: string[]
  signature: Opaque | undefined
  closed: boolean
}

type OpenBlock =
  /** `text` is kept for citations, which quote it. */
  | { readonly type: 'text'; readonly index: number; text: string }
  | { readonly type: 'thinking'; readonly index: number }
  | { readonly type: 'tool'; readonly index: number; readonly json: JsonPrefix; unread: string }
  | { readonly type: 'custom_tool'; readonly index: number }

const direct = { type: 'direct' } as const
const noInput = {}

/**
 * Writes an event of the first part. A block opens with its first content, so an empty part leaves no block, except a
 * call without arguments.
 * @throws Fault `upstream_unusable` for arguments that stop being JSON
 */
export function writeEvent(writer: BlockWriter, event: PartEvent): void {
  switch (event.type) {
    case 'text.delta':
      return writeText(writer, event.text)
    case 'refusal.delta':
      writer.refused = true
      return writeText(writer, event.text)
    case 'think.delta':
      return writeThought(writer, event.text)
    case 'tool.open':
      writeCitedPages(writer)
      return openTool(writer, event.id, event.name, event.kind)
    case 'tool.args':
      return writeArguments(writer, event.text)
    case 'citation':
      return writeCitation(writer, event.citation)
    case 'search':
      writeCitedPages(writer)
      writer.searches += 1
      writer.citedSearch = { id: event.id, pages: new Map() }
      return openSearch(writer, event.id, event.query)
    case 'search.open':
      return openSearch(writer, event.id, event.query)
    case 'search.result':
      if (!('failure' in event.outcome)) writer.searches += 1
      writeLate(writer)
      return writeResult(writer, event.id, toResultContent(event.outcome))
  }
}

/** Writes the end of a part: its signature and the end of its block. */
export function closeBlock(writer: BlockWriter, signature: Opaque | undefined): void {
  if (isAfterText(writer)) return closeLate(writer, signature)
  if (signature !== undefined) writeSignature(writer, signature)
  const { open } = writer
  if (open === undefined) return
  if (open.type === 'tool') closeArguments(writer, open)
  else if (open.type === 'custom_tool') writeDelta(writer, { type: 'input_json_delta', partial_json: '"}' })
  writer.emit({ type: 'content_block_stop', index: open.index })
  writer.open = undefined
}

/**
 * Writes the result of the last search that upstream ran, before the next search, the next call or the end of the
 * answer. Other dialects name the pages only where a text cites them, so that text is written first.
 */
export function writeCitedPages(writer: BlockWriter): void {
  const { citedSearch } = writer
  if (citedSearch === undefined) return
  writer.citedSearch = undefined
  // Late thinking waits for the block after the search result.
  writeResult(writer, citedSearch.id, [...citedSearch.pages.values()])
}

function writeText(writer: BlockWriter, text: string): void {
  const block = textBlock(writer)
  // Citations come with searches only.
  if (writer.searches > 0) block.text += text
  writeDelta(writer, { type: 'text_delta', text })
}

function textBlock(writer: BlockWriter): Extract<OpenBlock, { type: 'text' }> {
  if (writer.open?.type === 'text') return writer.open
  const index = startBlock(writer, { type: 'text', text: '', citations: null })
  const block = { type: 'text', index, text: '' } as const
  writer.open = block
  return block
}

function writeThought(writer: BlockWriter, thinking: string): void {
  if (writer.hidesThinking) return
  if (isAfterText(writer)) {
    lateThought(writer).pieces.push(thinking)
    return
  }
  openThinking(writer)
  writeDelta(writer, { type: 'thinking_delta', thinking })
}

function openThinking(writer: BlockWriter): void {
  if (writer.open?.type === 'thinking') return
  const index = startBlock(writer, { type: 'thinking', thinking: '', signature: '' })
  writer.open = { type: 'thinking', index }
}

function writeSignature(writer: BlockWriter, opaque: Opaque): void {
  const sealed = sealOpaque(opaque)
  if (opaque.form === 'redacted' && writer.open === undefined) {
    const index = startBlock(writer, { type: 'redacted_thinking', data: sealed })
    return writer.emit({ type: 'content_block_stop', index })
  }
  openThinking(writer)
  writeDelta(writer, { type: 'signature_delta', signature: sealed })
}

function openTool(writer: BlockWriter, id: string, name: string, kind: 'function' | 'custom'): void {
  if (writer.open !== undefined) return
  writer.calls += 1
  const index = startBlock(writer, { type: 'tool_use', id, name, input: noInput, caller: direct })
  if (kind === 'function') {
    writer.open = { type: 'tool', index, json: startJsonPrefix(), unread: '' }
    return
  }
  // No Messages caller has custom tools; the text is wrapped as in `prepareTurn`.
  writer.open = { type: 'custom_tool', index }
  writeDelta(writer, { type: 'input_json_delta', partial_json: '{"input":"' })
}

function writeArguments(writer: BlockWriter, text: string): void {
  const { open } = writer
  if (open?.type === 'custom_tool') {
    writeJson(writer, JSON.stringify(text).slice(1, -1))
    return
  }
  if (open?.type !== 'tool') return
  const { json } = open
  if (json.state !== 'notObject') writeJson(writer, takeJson(json, text))
  if (json.state === 'notObject') open.unread += text
  else if (json.state === 'broken') {
    // The caller already has the beginning, and a client must not execute half a command.
    throw new Fault({ kind: 'upstream_unusable', detail: 'it sent tool arguments that are not JSON' })
  }
}

/** Arguments that are not an object become one, as in `toToolInput`; some models write "no arguments" as `null`. */
function closeArguments(writer: BlockWriter, { json, unread }: Extract<OpenBlock, { type: 'tool' }>): void {
  if (json.state === 'notObject' && unread.trim() !== 'null') writeJson(writer, JSON.stringify({ input: unread }))
}

function writeJson(writer: BlockWriter, partial_json: string): void {
  if (partial_json !== '') writeDelta(writer, { type: 'input_json_delta', partial_json })
}

function writeCitation(writer: BlockWriter, { url, title, start, end, quote }: Citation): void {
  const { text } = textBlock(writer)
  const pages = writer.citedSearch?.pages
  if (pages?.has(url) === false) {
    pages.set(url, { type: 'web_search_result', url, title, encrypted_content: '', page_age: null })
  }
  const cited_text = quote ?? (start === undefined || end === undefined ? '' : text.slice(start, end))
  writeDelta(writer, {
    type: 'citations_delta',
    citation: { type: 'web_search_result_location', url, title, cited_text, encrypted_index: '' },
  })
}

function searchIdOf(id: string): string {
  return `srvtoolu_${id.replace(/^(?:srv)?toolu_/, '').replaceAll(/\W/g, '_')}`
}

function openSearch(writer: BlockWriter, searchId: string, query: string): void {
  const id = searchIdOf(searchId)
  const index = startBlock(writer, { type: 'server_tool_use', id, name: 'web_search', input: noInput, caller: direct })
  const partial_json = JSON.stringify({ query })
  writer.emit({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } })
  writer.emit({ type: 'content_block_stop', index })
}

function writeResult(writer: BlockWriter, searchId: string, content: WebSearchContent): void {
  const tool_use_id = searchIdOf(searchId)
  const index = addBlock(writer, { type: 'web_search_tool_result', tool_use_id, content, caller: direct })
  writer.emit({ type: 'content_block_stop', index })
}

function startBlock(writer: BlockWriter, content_block: ContentBlock): number {
  writeLate(writer)
  return addBlock(writer, content_block)
}

function addBlock(writer: BlockWriter, content_block: ContentBlock): number {
  writer.endsWithText = content_block.type === 'text'
  const index = writer.next
  writer.next += 1
  writer.emit({ type: 'content_block_start', index, content_block })
  return index
}

/**
 * Thinking after a text is written with the block that follows it, and not at all at the end: for `claude -p`, an
 * answer that ends in thinking has no text (seen with Claude Code 2.1.329), and Anthropic's own answers never end in
 * thinking. Upstreams that think or sign that late need the thinking back with calls only (docs/copilot-wire.md, quirks
 * 11 and 12).
 */
function isAfterText({ open, endsWithText }: BlockWriter): boolean {
  return open === undefined && endsWithText
}

function lateThought({ late }: BlockWriter): LateThought {
  const last = late.at(-1)
  if (last?.closed === false) return last
  const thought: LateThought = { pieces: [], signature: undefined, closed: false }
  late.push(thought)
  return thought
}

function closeLate(writer: BlockWriter, signature: Opaque | undefined): void {
  if (signature !== undefined) lateThought(writer).signature = signature
  const last = writer.late.at(-1)
  if (last !== undefined) last.closed = true
}

function writeLate(writer: BlockWriter): void {
  const { late } = writer
  if (late.length === 0) return
  writer.late = []
  writer.endsWithText = false
  for (const { pieces, signature } of late) {
    for (const piece of pieces) writeThought(writer, piece)
    closeBlock(writer, signature)
  }
}

function writeDelta(writer: BlockWriter, delta: BlockDelta): void {
  if (writer.open !== undefined) writer.emit({ type: 'content_block_delta', index: writer.open.index, delta })
}
