import type { EncodeContext } from '../dialect.ts'
import { refuseValue, toFieldPath } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { modelFamily } from '../parts/model-family.ts'
import { isSealed, openOpaque, vendorOf } from '../parts/opaque-envelope.ts'
import { isFilled } from '../parts/wire-json.ts'
import type { Vendor } from '../turn.ts'
import type { Warning, WarningCode } from '../warning.ts'
import { openSummary, tellSummary } from './compaction-summary.ts'
import { distinctCalls } from './distinct-calls.ts'
import { mayBeUpstreams, shortCallId } from './known-ids.ts'
import { itemTypeOf } from './item-types.ts'
import { NO_CUSTOM_TOOLS, NO_ITEM_IDS, NO_NAMESPACES } from './lessons.ts'
import { pairItems } from './pair-items.ts'
import { arePassable, isPassableName, passTools } from './pass-tools.ts'

/** Whether the item reaches upstream as it is, or the whole request has to be translated. */
export function isPassableItem(item: JsonObject, lessons: ReadonlySet<string>): boolean {
  switch (itemTypeOf(item)) {
    case 'function_call':
      return isPassableName(item['name']) && !(isFilled(item['namespace']) && lessons.has(NO_NAMESPACES))
    case 'custom_tool_call':
      return (
        isPassableName(item['name']) &&
        !lessons.has(NO_CUSTOM_TOOLS) &&
        !(isFilled(item['namespace']) && lessons.has(NO_NAMESPACES))
      )
    case 'custom_tool_call_output':
      return !lessons.has(NO_CUSTOM_TOOLS)
    case 'additional_tools':
      // A backend that knows no namespaces knows no tools in the input either.
      return !lessons.has(NO_NAMESPACES) && arePassable(item['tools'], lessons)
    default:
      return true
  }
}

/**
 * The items as upstream takes them: without ids it cannot know, with reasoning it can read, calls and outputs in pairs.
 * The very array where nothing has to change.
 *
 * @throws Fault `invalid_request` for a reference that leads nowhere
 */
export function passItems(
  items: readonly JsonObject[],
  context: EncodeContext,
  warnings: Warning[],
): readonly JsonObject[] {
  const vendor = vendorOf(modelFamily(context.model))
  const fitted: JsonObject[] = []
  let same = true
  for (const [at, item] of items.entries()) {
    const next = fitItem(item, { path: `input.${at}`, vendor, context, warnings })
    same &&= next === item
    if (next !== undefined) fitted.push(next)
  }
  return pairItems(distinctCalls(same ? items : fitted), warnings)
}

interface Scope {
  /** Of the item, as warnings name it. */
  readonly path: string
  /** Of the model. */
  readonly vendor: Vendor
  readonly context: EncodeContext
  readonly warnings: Warning[]
}

/** Undefined for an item that upstream could only refuse. */
function fitItem(item: JsonObject, scope: Scope): JsonObject | undefined {
  const { path, context, warnings } = scope
  const type = itemTypeOf(item)
  switch (type) {
    case 'item_reference':
      return refuseValue(toFieldPath(path), 'the item it refers to is not stored here', 'item_not_found')
    case 'reasoning':
      // Without its opaque form there is nothing upstream could check.
      return isFilled(item['encrypted_content']) ? fitOpaque(item, 'thinking_dropped', scope) : undefined
    case 'compaction':
    case 'compaction_summary':
      return fitCompaction(item, scope)
    case 'additional_tools': {
      const tools = item['tools']
      const bare = withoutIds(item, type)
      if (!Array.isArray(tools)) return bare
      const kept = passTools(tools.filter(isObject), `${path}.tools`, context, warnings)
      return kept.length === tools.length ? bare : { ...bare, tools: kept }
    }
    case 'message':
      return fitRole(withoutIds(item, type), context)
    default:
      return withoutIds(item, type)
  }
}

/** The ChatGPT backend: `System messages are not allowed` (BerriAI/litellm#23698). */
function fitRole(message: JsonObject, { profile }: EncodeContext): JsonObject {
  return profile === 'chatgpt' && message['role'] === 'system' ? { ...message, role: 'developer' } : message
}

function fitCompaction(item: JsonObject, scope: Scope): JsonObject | undefined {
  const { path, warnings } = scope
  const value = item['encrypted_content']
  if (!isFilled(value)) {
    warnings.push({ code: 'compaction_dropped', field: path, detail: 'it is empty' })
    return undefined
  }
  const summary = openSummary(value)
  if (summary === undefined) return fitOpaque(item, 'compaction_dropped', scope)
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text: tellSummary(summary) }] }
}

/** An item that lives by its `encrypted_content`. Where that came out of an envelope of ours, it goes back bare. */
function fitOpaque(
  item: JsonObject,
  lost: WarningCode,
  { path, vendor, context, warnings }: Scope,
): JsonObject | undefined {
  const value = item['encrypted_content']
  const type = itemTypeOf(item)
  if (typeof value !== 'string' || !isSealed(value)) {
    // An id that upstream made belongs to the value; one that is left out is found in the value (openclaw/openclaw#72602).
    const keepsId = mayBeUpstreams(item['id']) && context.profile !== 'chatgpt' && !context.lessons.has(NO_ITEM_IDS)
    return keepsId ? item : withoutIds(item, type)
  }
  const opaque = openOpaque(value)
  if (opaque?.form === 'encrypted_content' && opaque.vendor === vendor && vendor !== 'unknown') {
    return { ...withoutIds(item, type), encrypted_content: opaque.value }
  }
  warnings.push({ code: lost, field: path, detail: 'it was made by another vendor or upstream' })
  return undefined
}

/**
 * Items whose `status` upstream does not ask for. It tells of the reply the item came from, which upstream does not
 * know without the id.
 */
const statusOptional: ReadonlySet<string | undefined> = new Set([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
])

/**
 * Ids are bound to a connection (`401 input item ID does not belong to this connection`), may be too long, or are ours;
 * upstream asks for none (docs/copilot-wire.md, "Responses requests"). The id of a call stays, for its output names it.
 */
function withoutIds(item: JsonObject, type: string | undefined): JsonObject {
  const callId = item['call_id']
  const shortened = typeof callId === 'string' ? shortCallId(callId) : callId
  const renamed = shortened === callId ? item : { ...item, call_id: shortened }
  if (!Object.hasOwn(item, 'id')) return renamed
  const { id: _id, ...rest } = renamed
  if (!statusOptional.has(type)) return rest
  const { status: _status, ...bare } = rest
  return bare
}
