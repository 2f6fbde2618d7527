import { Fault } from '../../errors.ts'
import { scanArguments, startArgumentScan, type ArgumentScan } from '../parts/argument-scan.ts'
import type { ReplySeed } from '../dialect.ts'
import type { JsonObject } from '../parts/is-object.ts'
import { mintId } from '../parts/mint-id.ts'
import { makerOf } from '../parts/opaque-envelope.ts'
import { isFilled, isObject, objectsOf, parseObject, stringify } from '../parts/wire-json.ts'
import type { Opaque, TurnEvent } from '../turn.ts'

/** The blocks of one reply as they come. Updated in place. */
export interface BlockReader {
  readonly seedId: string
  /** Whose thoughts these are. */
  readonly maker: Pick<Opaque, 'vendor' | 'provider' | 'family'>
  nextSlot: number
  open: OpenBlock | undefined
  /** Calls of the caller's tools. */
  calls: number
  /** Blocks that a turn has no place for. */
  skipped: number
}

interface BlockPlace {
  /** As upstream counts. */
  readonly wireIndex: unknown
  /** Taken with the first event, so that an empty block takes none. */
  slot: number | undefined
}

interface TextBlock extends BlockPlace {
  readonly kind: 'text'
}

interface ThinkingBlock extends BlockPlace {
  readonly kind: 'thinking' | 'redacted'
  signature: string
}

interface ToolBlock extends BlockPlace {
  readonly kind: 'tool'
  readonly slot: number
  readonly scan: ArgumentScan
  /** The whole input, where the block began with it and no delta came. */
  input: JsonObject | undefined
}

interface SearchBlock extends BlockPlace {
  readonly kind: 'search'
  readonly id: string
  readonly input: JsonObject
  json: string
}

/** Left out: results of searches, tools of upstream's own, blocks that are not known here. */
interface OtherBlock extends BlockPlace {
  readonly kind: 'other'
}

type OpenBlock = TextBlock | ThinkingBlock | ToolBlock | SearchBlock | OtherBlock

/** A query is a line or two; of more than this the rest is not kept. Characters. */
const longestQuery = 64 * 1024

export function startBlockReader({ id, traits }: ReplySeed): BlockReader {
  return {
    seedId: id,
    maker: makerOf(traits),
    nextSlot: 0,
    open: undefined,
    calls: 0,
    skipped: 0,
  }
}

/**
 * A block begins; one that upstream left open is over.
 * @throws Fault `upstream_unusable` for a call without a name
 */
export function openBlock(reader: BlockReader, wireIndex: unknown, block: JsonObject, out: TurnEvent[]): void {
  closeBlock(reader, out)
  const open = startBlock(reader, wireIndex, block)
  reader.open = open
  switch (open.kind) {
    case 'text':
      readText(reader, open, block['text'], out)
      for (const citation of objectsOf(block['citations'])) readCitation(reader, open, citation, out)
      return
    case 'thinking':
      return readThought(reader, open, block['thinking'], out)
    case 'tool':
      reader.calls += 1
      out.push({
        type: 'tool.open',
        slot: open.slot,
        id: isFilled(block['id']) ? block['id'] : mintId('toolu', reader.seedId, open.slot),
        name: textOf(block['name']),
        kind: 'function',
      })
      return
    case 'redacted':
    case 'search':
    case 'other':
  }
}

function startBlock(reader: BlockReader, wireIndex: unknown, block: JsonObject): OpenBlock {
  const slot = undefined
  switch (block['type']) {
    case 'text':
      return { kind: 'text', wireIndex, slot }
    case 'thinking':
      return { kind: 'thinking', wireIndex, slot, signature: textOf(block['signature']) }
    case 'redacted_thinking':
      return { kind: 'redacted', wireIndex, slot, signature: textOf(block['data']) }
    case 'tool_use': {
      if (!isFilled(block['name'])) {
        throw new Fault({ kind: 'upstream_unusable', detail: 'it called a tool without naming it' })
      }
      return { kind: 'tool', wireIndex, slot: takeSlot(reader), scan: startArgumentScan(), input: inputOf(block) }
    }
    case 'server_tool_use':
      if (block['name'] !== 'web_search') break
      return { kind: 'search', wireIndex, slot, id: textOf(block['id']), input: inputOf(block) ?? {}, json: '' }
    // The pages a search found: the text that quotes them names them again.
    case 'web_search_tool_result':
      return { kind: 'other', wireIndex, slot }
  }
  reader.skipped += 1
  return { kind: 'other', wireIndex, slot }
}

/**
 * Adds a delta to the open block. `unfit`: it does not go with the block. `runaway`: the arguments have gone over into
 * endless whitespace, of which nothing was added.
 */
export function readDelta(reader: BlockReader, delta: JsonObject, out: TurnEvent[]): 'read' | 'unfit' | 'runaway' {
  const { open } = reader
  if (open?.kind === 'other') return 'read'
  switch (delta['type']) {
    case 'text_delta':
      if (open?.kind !== 'text') return 'unfit'
      readText(reader, open, delta['text'], out)
      return 'read'
    case 'thinking_delta':
      if (open?.kind !== 'thinking') return 'unfit'
      readThought(reader, open, delta['thinking'], out)
      return 'read'
    case 'signature_delta':
      if (open?.kind !== 'thinking') return 'unfit'
      open.signature = textOf(delta['signature'])
      return 'read'
    case 'input_json_delta':
      if (open?.kind === 'tool') return readArguments(open, textOf(delta['partial_json']), out)
      if (open?.kind !== 'search') return 'unfit'
      if (open.json.length < longestQuery) open.json += textOf(delta['partial_json'])
      return 'read'
    case 'citations_delta':
      if (open?.kind !== 'text') return 'unfit'
      if (isObject(delta['citation'])) readCitation(reader, open, delta['citation'], out)
      return 'read'
    default:
      return 'unfit'
  }
}

/** The open block is over. Nothing where none is open. */
export function closeBlock(reader: BlockReader, out: TurnEvent[]): void {
  const { open } = reader
  if (open === undefined) return
  reader.open = undefined
  switch (open.kind) {
    case 'thinking':
    case 'redacted':
      readSignature(reader, open, out)
      break
    case 'tool':
      if (open.input !== undefined) out.push({ type: 'tool.args', slot: open.slot, text: stringify(open.input) })
      break
    case 'search': {
      const { query } = open.json === '' ? open.input : (parseObject(open.json) ?? {})
      out.push({ type: 'search', slot: slotOf(reader, open), id: open.id, query: textOf(query) })
      break
    }
    case 'text':
    case 'other':
  }
  if (open.slot !== undefined) out.push({ type: 'part.close', slot: open.slot })
}

/** Whether the arguments so far are whole. */
export function hasWholeArguments({ open }: BlockReader): boolean {
  return open?.kind === 'tool' && open.scan.closed
}

function readText(reader: BlockReader, open: TextBlock, text: unknown, out: TurnEvent[]): void {
  if (isFilled(text)) out.push({ type: 'text.delta', slot: slotOf(reader, open), text })
}

function readThought(reader: BlockReader, open: ThinkingBlock, text: unknown, out: TurnEvent[]): void {
  if (isFilled(text)) out.push({ type: 'think.delta', slot: slotOf(reader, open), text })
}

function readSignature(reader: BlockReader, open: ThinkingBlock, out: TurnEvent[]): void {
  if (open.signature === '') return
  const form = open.kind === 'thinking' ? 'signature' : 'redacted'
  const opaque: Opaque = { ...reader.maker, form, value: open.signature }
  out.push({ type: 'think.sign', slot: slotOf(reader, open), opaque })
}

function readArguments(open: ToolBlock, piece: string, out: TurnEvent[]): 'read' | 'runaway' {
  if (piece === '') return 'read'
  // Where deltas come after all, they are the input.
  open.input = undefined
  const kept = scanArguments(open.scan, piece)
  const text = piece.slice(0, kept)
  if (text !== '') out.push({ type: 'tool.args', slot: open.slot, text })
  return kept < piece.length ? 'runaway' : 'read'
}

/** Only pages have an address to pass on; places in documents are the caller's own. */
function readCitation(reader: BlockReader, open: TextBlock, citation: JsonObject, out: TurnEvent[]): void {
  const { type, url, title } = citation
  if (type !== 'web_search_result_location' || !isFilled(url)) return
  out.push({ type: 'citation', slot: slotOf(reader, open), citation: { url, title: textOf(title) } })
}

function slotOf(reader: BlockReader, open: BlockPlace): number {
  open.slot ??= takeSlot(reader)
  return open.slot
}

function takeSlot(reader: BlockReader): number {
  const slot = reader.nextSlot
  reader.nextSlot += 1
  return slot
}

function inputOf({ input }: JsonObject): JsonObject | undefined {
  return isObject(input) && Object.keys(input).length > 0 ? input : undefined
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
