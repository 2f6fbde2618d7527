import type { EncodeContext } from '../dialect.ts'
import { toErrorText } from '../parts/error-text.ts'
import type { JsonObject } from '../parts/is-object.ts'
import type { ModelTraits } from '../model-traits.ts'
import { isMadeFor } from '../parts/opaque-envelope.ts'
import type { CompactionItem, MessageItem, Opaque, ToolResultItem, TurnItem, TurnPart } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { BREAKPOINT, fitBreakpoints, takesBreakpoints } from './breakpoints.ts'
import { encodeInputPart, encodeOutputParts } from './encode-parts.ts'

export interface EncodedItems {
  /** The system text before anything else; '' for none. */
  readonly instructions: string
  readonly input: readonly JsonObject[]
}

/**
 * The items in their order, without ids: upstream binds ids to a connection, and takes items without any
 * (docs/copilot-wire.md, "Responses requests").
 *
 * @throws Fault `invalid_request` for parts that cannot be carried over
 */
export function encodeItems(items: readonly TurnItem[], context: EncodeContext, warnings: Warning[]): EncodedItems {
  const marks = takesBreakpoints(context)
  const scope = { model: context.model, customCalls: customCallsOf(items), marks, warnings }
  const first = items.findIndex((item) => !isPlainSystem(item))
  const system = items.slice(0, first === -1 ? items.length : first)
  // Instructions have no place for a mark.
  const start = marks && system.some(isMarked) ? 0 : system.length
  const input = items.slice(start).flatMap((item) => encodeItem(item, scope))
  return {
    instructions: items.slice(0, start).flatMap(textsOf).join('\n\n'),
    input: marks ? fitBreakpoints(input, context) : input,
  }
}

function isMarked(item: TurnItem): boolean {
  return item.type === 'message' && item.parts.some(isMarkedPart)
}

function isMarkedPart(part: TurnPart): boolean {
  return 'cache' in part && part.cache !== undefined
}

function isPlainSystem(item: TurnItem): boolean {
  return item.type === 'message' && item.role === 'system' && item.parts.every(({ type }) => type === 'text')
}

function textsOf(item: TurnItem): string[] {
  if (item.type !== 'message') return []
  return item.parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []))
}

/** What the items of one request share. */
interface Scope {
  readonly model: ModelTraits
  readonly customCalls: ReadonlySet<string>
  /** Upstream takes cache marks. */
  readonly marks: boolean
  readonly warnings: Warning[]
}

/** Ids of calls of freeform tools: their results have a type of their own. */
function customCallsOf(items: readonly TurnItem[]): ReadonlySet<string> {
  return new Set(items.flatMap((item) => (item.type === 'tool_call' && item.kind === 'custom' ? [item.id] : [])))
}

function encodeItem(item: TurnItem, scope: Scope): JsonObject[] {
  const { model, marks, warnings } = scope
  switch (item.type) {
    case 'message':
      return encodeMessage(item, marks, warnings)
    case 'reasoning': {
      const { opaque } = item
      // Readable text alone is nothing that upstream could check, and belongs to whoever wrote it.
      if (opaque === undefined) return []
      if (isReplayable(opaque, model)) return [{ type: 'reasoning', summary: [], encrypted_content: opaque.value }]
      warnings.push({ code: 'thinking_dropped', field: item.path, detail: 'it was made by another vendor or upstream' })
      return []
    }
    case 'tool_call':
      return item.kind === 'custom'
        ? [{ type: 'custom_tool_call', call_id: item.id, name: item.name, input: item.arguments }]
        : [{ type: 'function_call', call_id: item.id, name: item.name, arguments: item.arguments }]
    case 'tool_result':
      return [encodeResult(item, scope)]
    case 'web_search':
      // What was found is in the text that follows; the item itself says no more than that a search took place.
      return []
    case 'compaction':
      return encodeCompaction(item, scope)
  }
}

function encodeMessage({ role, parts, phase, path }: MessageItem, marks: boolean, warnings: Warning[]): JsonObject[] {
  if (role === 'assistant') {
    const content = encodeOutputParts(parts, path, warnings)
    if (content.length === 0) return []
    return [{ type: 'message', role, ...(phase !== undefined && { phase }), content }]
  }
  if (parts.length === 0) return []
  const content = parts.map((part) => ({
    ...encodeInputPart(part, path),
    ...(marks && isMarkedPart(part) && BREAKPOINT),
  }))
  // `system` inside the input is refused by some backends, `developer` by none.
  return [{ type: 'message', role: role === 'system' ? 'developer' : role, content }]
}

function isReplayable(opaque: Opaque, model: ModelTraits): boolean {
  return opaque.form === 'encrypted_content' && isMadeFor(opaque, model)
}

function encodeCompaction({ opaque, text, path }: CompactionItem, { model, warnings }: Scope): JsonObject[] {
  if (opaque !== undefined) {
    if (isReplayable(opaque, model)) return [{ type: 'compaction', encrypted_content: opaque.value }]
    warnings.push({ code: 'compaction_dropped', field: path, detail: 'it was made by another vendor or upstream' })
  }
  // The summary stands for the history that is gone: words for the model, not words of the model.
  return text === '' ? [] : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
}

function encodeResult(item: ToolResultItem, { customCalls }: Scope): JsonObject {
  const type = customCalls.has(item.callId) ? 'custom_tool_call_output' : 'function_call_output'
  return { type, call_id: item.callId, output: encodeOutput(item) }
}

function encodeOutput({ content, isError, path }: ToolResultItem): string | readonly JsonObject[] {
  const parts = isError ? markError(content) : content
  if (typeof parts === 'string') return parts
  const [first] = parts
  if (first === undefined) return ''
  // Text alone needs no parts; GitHub's own client sends nothing else.
  if (parts.length === 1 && first.type === 'text') return first.text
  return parts.map((part) => encodeInputPart(part, path))
}

type ResultContent = ToolResultItem['content']

/** There is no `is_error` in this dialect: the words have to say it. */
function markError(content: ResultContent): ResultContent {
  if (typeof content === 'string') return toErrorText(content)
  const at = content.findIndex(({ type }) => type === 'text')
  if (at === -1) return [{ type: 'text', text: toErrorText('') }, ...content]
  return content.map((part, index): TurnPart =>
    index === at && part.type === 'text' ? { ...part, text: toErrorText(part.text) } : part,
  )
}
