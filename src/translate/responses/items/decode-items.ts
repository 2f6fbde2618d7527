import { refuseValue } from '../../engine/request/invalid.ts'
import { isFilled, isObject, type JsonObject, objectsOf, textOf } from '../../../json/json.ts'
import { isSealed, openOpaque } from '../../engine/opaque-envelope.ts'
import type {
  MessageItem,
  Opaque,
  ReasoningItem,
  SearchItem,
  ToolCallItem,
  ToolResultItem,
  TurnItem,
  TurnTool,
} from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { COMPACTION_REQUEST, decodeSummary, summaryPrompt } from '../compaction.ts'
import { openAgentMessage } from '../agent-messages.ts'
import { itemTypeOf, makerOfId } from './item.ts'
import { decodeParts } from '../parts.ts'
import { decodeTools } from '../tools.ts'
import { decodeSearchCall, decodeSearchOutput } from '../tool-search.ts'

export interface DecodedItems {
  readonly items: readonly TurnItem[]
  /** Tools among the items. */
  readonly tools: readonly TurnTool[]
  /** The input ends with a request for a summary of itself. */
  readonly asksForCompaction: boolean
  readonly warnings: readonly Warning[]
}

/**
 * Decodes the items of `input` one by one, in order. It trusts no member, because items of stored replies were not
 * checked.
 * @throws Fault `invalid_request` for a reference that leads nowhere
 */
export function decodeItems(input: string | readonly JsonObject[]): DecodedItems {
  if (typeof input === 'string') {
    return { items: [userText(input, 'input')], tools: [], asksForCompaction: false, warnings: [] }
  }
  const items: TurnItem[] = []
  const tools: TurnTool[] = []
  const warnings: Warning[] = []
  const isCompaction = asksForCompaction(input)
  const conversation = isCompaction ? input.slice(0, -1) : input
  conversation.forEach((item, at) => {
    const path = `input.${at}`
    const type = itemTypeOf(item) ?? ''
    // Not passed to `push` as arguments, because a call takes a limited number of them.
    const listed = TOOL_LISTS.has(type) ? decodeTools(item['tools'], `${path}.tools`, warnings) : []
    for (const tool of listed) tools.push(tool)
    const decoded =
      type === 'tool_search_output'
        ? decodeSearchOutput(item, path, listed)
        : decoders.get(type)?.(item, path, warnings)
    if (decoded !== undefined) items.push(decoded)
    else if (type !== 'additional_tools') warnings.push({ code: 'dropped', field: path, detail: dropReason(type) })
  })
  // A user message, because upstreams answer the last user message, and some accept no system message after the first.
  if (isCompaction) items.push(userText(COMPACTION_REQUEST, `input.${input.length - 1}`))
  return { items, tools, asksForCompaction: isCompaction, warnings }
}

/** The answer is to be a summary that replaces the history. */
export function asksForCompaction(input: string | readonly JsonObject[]): boolean {
  return typeof input !== 'string' && input.at(-1)?.['type'] === 'compaction_trigger'
}

/** Items that add tools in mid-conversation. A Turn has one list of tools, so it offers them from the start. */
const TOOL_LISTS = new Set(['additional_tools', 'tool_search_output'])

function dropReason(type: string): string {
  return type === 'configuration_update'
    ? 'this model cannot change settings during a conversation'
    : 'only the provider that created this item accepts it'
}

type Decode = (item: JsonObject, path: string, warnings: Warning[]) => TurnItem | undefined

/**
 * Undefined: the item is dropped. Neither calls of hosted tools nor their outputs have a row, so no half of a pair is
 * left.
 */
const decoders: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['message', decodeMessage],
  ['agent_message', decodeAgentMessage],
  ['reasoning', decodeReasoning],
  ['function_call', (item, path) => decodeCall(item, 'function', item['arguments'], path)],
  ['custom_tool_call', (item, path) => decodeCall(item, 'custom', item['input'], path)],
  ['function_call_output', decodeOutput],
  ['custom_tool_call_output', decodeOutput],
  ['web_search_call', decodeSearch],
  ['tool_search_call', decodeSearchCall],
  ['compaction', decodeCompaction],
  // Codex's older name.
  ['compaction_summary', decodeCompaction],
  ['item_reference', (_item, path) => refuseValue(path, 'the referenced item is not stored', 'item_not_found')],
])

const roles: ReadonlyMap<unknown, MessageItem['role']> = new Map<unknown, MessageItem['role']>([
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['system', 'system'],
  ['developer', 'system'],
])

function decodeMessage(item: JsonObject, path: string, warnings: Warning[]): MessageItem | undefined {
  const { role: named, content, phase } = item
  const role = roles.get(named)
  if (role === undefined) return undefined
  return {
    type: 'message',
    role,
    parts: decodeParts(content, `${path}.content`, warnings),
    ...(isFilled(phase) && { phase }),
    path,
  }
}

/** A user message, because no other dialect has messages of other agents. */
function decodeAgentMessage(item: JsonObject, path: string, warnings: Warning[]): MessageItem {
  const parts = decodeParts(openAgentMessage(item, path), `${path}.content`, warnings)
  return { type: 'message', role: 'user', parts, path }
}

function decodeReasoning(item: JsonObject, path: string, warnings: Warning[]): ReasoningItem {
  const { encrypted_content: sealed } = item
  const opaque = isFilled(sealed) ? toOpaque(sealed, item) : undefined
  if (opaque === undefined && isFilled(sealed)) {
    warnings.push({ code: 'thinking_dropped', field: path, detail: 'its encrypted_content is damaged' })
  }
  const summary = textsOf(item['summary'])
  return {
    type: 'reasoning',
    text: (summary.length > 0 ? summary : textsOf(item['content'])).join('\n\n'),
    ...(opaque !== undefined && { opaque }),
    path,
  }
}

/**
 * Decodes reasoning from an envelope, or bare ciphertext from an upstream of this dialect. Undefined for a damaged
 * envelope.
 */
function toOpaque(value: string, { id }: JsonObject): Opaque | undefined {
  if (isSealed(value)) return openOpaque(value)
  const provider = makerOfId(id)
  return {
    vendor: 'openai',
    ...(provider !== undefined && { provider }),
    family: '',
    form: 'encrypted_content',
    ...(isFilled(id) && { id }),
    value,
  }
}

function textsOf(parts: unknown): readonly string[] {
  return objectsOf(parts).flatMap(({ text }) => (isFilled(text) ? [text] : []))
}

function decodeCall(
  item: JsonObject,
  kind: ToolCallItem['kind'],
  input: unknown,
  path: string,
): ToolCallItem | undefined {
  const { call_id: id, name, namespace } = item
  if (!isFilled(id) || !isFilled(name)) return undefined
  const text = textOf(input)
  return {
    type: 'tool_call',
    kind,
    id,
    name,
    ...(isFilled(namespace) && { namespace }),
    arguments: kind === 'function' && text.trim() === '' ? '{}' : text,
    path,
  }
}

function decodeOutput(item: JsonObject, path: string, warnings: Warning[]): ToolResultItem | undefined {
  const { call_id: callId, output } = item
  if (!isFilled(callId)) return undefined
  return {
    type: 'tool_result',
    callId,
    content: typeof output === 'string' ? output : decodeParts(output, `${path}.output`, warnings),
    isError: false,
    path,
  }
}

/** Source of the actions: OpenAI API reference, responses, web search tool call, 2026-11. */
function decodeSearch({ id, action }: JsonObject, path: string): SearchItem | undefined {
  if (!isObject(action)) return undefined
  const { query, queries, url } = action
  const asked = isFilled(query) ? query : Array.isArray(queries) ? queries.filter(isFilled).join(', ') : url
  return isFilled(asked) ? { type: 'web_search', id: isFilled(id) ? id : '', query: asked, path } : undefined
}

function decodeCompaction(item: JsonObject, path: string): TurnItem | undefined {
  const { encrypted_content: sealed } = item
  if (!isFilled(sealed)) return undefined
  const summary = decodeSummary(sealed)
  if (summary !== undefined) return userText(summaryPrompt(summary), path)
  const opaque = toOpaque(sealed, item)
  return opaque && { type: 'compaction', opaque, text: '', path }
}

function userText(text: string, path: string): MessageItem {
  return { type: 'message', role: 'user', parts: [{ type: 'text', text }], path }
}
