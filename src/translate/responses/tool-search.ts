import { isFilled, type JsonObject } from '../../json/json.ts'
import { fullName } from '../engine/tool-codec/tool-names.ts'
import { toAnswerInput } from '../engine/tool-codec/tool-payload.ts'
import type { FunctionTool, ToolCallItem, ToolName, ToolResultItem, TurnTool } from '../turn.ts'
import type { ItemSnapshot } from './snapshot.ts'
import type { OutputItem } from './wire.ts'

// The search for tools that the client runs itself, as Codex CLI does for the tools of its MCP servers. Other dialects have no
// such search, so their models get it as a function, and the tools that it has found are offered like any others.

/** A namespace that no caller's tool has (`engine/tool-names.ts`). */
const SEARCH = { name: 'tool_search', namespace: '' } as const satisfies ToolName

/** Undefined for a search that upstream runs. */
export function decodeToolSearch(tool: JsonObject, path: string): FunctionTool | undefined {
  const { type, execution, description, parameters } = tool
  if (type !== 'tool_search' || execution !== 'client') return undefined
  return { type: 'function', ...SEARCH, path, parameters, ...(isFilled(description) && { description }) }
}

export function decodeSearchCall(item: JsonObject, path: string): ToolCallItem | undefined {
  const { call_id: id, arguments: given } = item
  if (!isFilled(id)) return undefined
  const text = typeof given === 'string' ? given : JSON.stringify(given ?? {})
  return { type: 'tool_call', kind: 'function', ...SEARCH, id, arguments: text, path }
}

/** @param found the tools of the item, which the Turn offers */
export function decodeSearchOutput(
  item: JsonObject,
  path: string,
  found: readonly TurnTool[],
): ToolResultItem | undefined {
  const { call_id: callId } = item
  if (!isFilled(callId)) return undefined
  const names = found.flatMap((tool) => ('name' in tool ? [fullName(tool)] : []))
  const content = names.length === 0 ? 'No tools found.' : `Found tools, which can be called now: ${names.join(', ')}`
  return { type: 'tool_result', callId, content, isError: false, path }
}

export function isToolSearch({ name, namespace }: ToolName): boolean {
  return name === SEARCH.name && namespace === SEARCH.namespace
}

export function toSearchCall(callId: string): OutputItem {
  return {
    type: 'tool_search_call',
    id: '',
    call_id: callId,
    execution: 'client',
    arguments: {},
    status: 'in_progress',
  }
}

/** Keeps a piece of the arguments of a search call, which has no deltas. False for another item. */
export function addSearchArguments({ type, call }: ItemSnapshot, piece: string): boolean {
  if (type !== 'tool_search_call') return false
  call.text += piece
  return true
}

/** Sets the arguments of a search call that is complete. */
export function settleSearchArguments(item: ItemSnapshot): void {
  if (item.type === 'tool_search_call') item.item = { ...item.item, arguments: toAnswerInput(item.call.text) }
}
