import type { EncodeContext } from '../../dialect.ts'
import type { ModelTraits } from '../../model-traits.ts'
import { toErrorText } from '../../engine/tool-codec/tool-payload.ts'
import type { JsonObject } from '../../../json/json.ts'
import { withPath } from '../../engine/origin.ts'
import { isMadeFor, sealOpaque } from '../../engine/opaque-envelope.ts'
import type { CompactionItem, MessageItem, Opaque, ToolResultItem, TurnItem, TurnPart } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { encodeInputPart, encodeOutputParts } from '../parts.ts'

/** Upstream caches the prompt up to this mark. */
const BREAKPOINT = { prompt_cache_breakpoint: { mode: 'explicit' } }

export interface EncodedItems {
  /** The system messages before any other item; '' for none. */
  readonly instructions: string
  readonly input: readonly JsonObject[]
}

/**
 * Encodes items without ids. Upstream binds ids to a connection, and accepts items without them (docs/copilot-wire.md,
 * "Responses requests").
 *
 * @throws Fault `invalid_request` for parts that cannot be carried over
 */
export function encodeItems(items: readonly TurnItem[], context: EncodeContext, warnings: Warning[]): EncodedItems {
  const custom = items.flatMap((item) => (item.type === 'tool_call' && item.kind === 'custom' ? [item.id] : []))
  const scope = { model: context.model, customCalls: new Set(custom), warnings }
  const first = items.findIndex((item) => !isPlainSystem(item))
  const system = items.slice(0, first === -1 ? items.length : first)
  // Instructions cannot contain a cache mark. A rule writes them for models that take none.
  const start = system.some(isMarked) ? 0 : system.length
  const input = items.slice(start).flatMap((item) => encodeItem(item, scope).map((each) => withPath(each, item.path)))
  return {
    instructions: items.slice(0, start).flatMap(textsOf).join('\n\n'),
    input,
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

interface Scope {
  readonly model: ModelTraits
  /** Ids of calls of freeform tools, whose results have another type. */
  readonly customCalls: ReadonlySet<string>
  readonly warnings: Warning[]
}

function encodeItem(item: TurnItem, scope: Scope): JsonObject[] {
  const { warnings } = scope
  switch (item.type) {
    case 'message':
      return encodeMessage(item, warnings)
    case 'reasoning': {
      const { opaque } = item
      // The envelope states whose reasoning it is. A rule opens it for the model that made it.
      if (opaque === undefined) return []
      // A value without a provider is a caller's own, and its envelope could not say so.
      const isOwn = opaque.provider === undefined && isReplayable(opaque, scope.model)
      return [{ type: 'reasoning', summary: [], encrypted_content: isOwn ? opaque.value : sealOpaque(opaque) }]
    }
    case 'tool_call':
      return item.kind === 'custom'
        ? [{ type: 'custom_tool_call', call_id: item.id, name: item.name, input: item.arguments }]
        : [{ type: 'function_call', call_id: item.id, name: item.name, arguments: item.arguments }]
    case 'tool_result':
      return [
        {
          type: scope.customCalls.has(item.callId) ? 'custom_tool_call_output' : 'function_call_output',
          call_id: item.callId,
          output: encodeOutput(item),
        },
      ]
    case 'web_search':
      // The text after the search contains its results.
      return []
    case 'compaction':
      return encodeCompaction(item, scope)
  }
}

function encodeMessage({ role, parts, phase, path }: MessageItem, warnings: Warning[]): JsonObject[] {
  if (role === 'assistant') {
    const content = encodeOutputParts(parts, path, warnings)
    if (content.length === 0) return []
    return [{ type: 'message', role, ...(phase !== undefined && { phase }), content }]
  }
  if (parts.length === 0) return []
  const content = parts.map((part) => ({
    ...encodeInputPart(part, path),
    ...(isMarkedPart(part) && BREAKPOINT),
  }))
  // Some backends refuse `system` in the input; none refuses `developer`.
  return [{ type: 'message', role: role === 'system' ? 'developer' : role, content }]
}

function isReplayable(opaque: Opaque, model: ModelTraits): boolean {
  return opaque.form === 'encrypted_content' && isMadeFor(opaque, model)
}

function encodeCompaction({ opaque, text, path }: CompactionItem, { model, warnings }: Scope): JsonObject[] {
  if (opaque !== undefined) {
    if (isReplayable(opaque, model)) return [{ type: 'compaction', encrypted_content: opaque.value }]
    warnings.push({ code: 'compaction_dropped', field: path, detail: 'it comes from another vendor or provider' })
  }
  // The summary replaces the history, so it becomes a message to the model.
  return text === '' ? [] : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
}

function encodeOutput({ content, isError, path }: ToolResultItem): string | readonly JsonObject[] {
  const parts = isError ? markError(content) : content
  if (typeof parts === 'string') return parts
  const [first] = parts
  if (first === undefined) return ''
  // GitHub's own client sends plain text without parts.
  if (parts.length === 1 && first.type === 'text') return first.text
  return parts.map((part) => encodeInputPart(part, path))
}

type ResultContent = ToolResultItem['content']

/** This dialect has no `is_error`, so the text states it. */
function markError(content: ResultContent): ResultContent {
  if (typeof content === 'string') return toErrorText(content)
  const at = content.findIndex(({ type }) => type === 'text')
  if (at === -1) return [{ type: 'text', text: toErrorText('') }, ...content]
  return content.map((part, index): TurnPart =>
    index === at && part.type === 'text' ? { ...part, text: toErrorText(part.text) } : part,
  )
}
