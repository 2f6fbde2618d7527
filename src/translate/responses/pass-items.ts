import type { EncodeContext } from '../dialect.ts'
import { refuseValue, toFieldPath } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { isMadeFor, isSealed, openOpaque } from '../parts/opaque-envelope.ts'
import { isFilled } from '../parts/wire-json.ts'
import type { Warning, WarningCode } from '../warning.ts'
import { fitChatgptTools } from './chatgpt-tools.ts'
import { openSummary, tellSummary } from './compaction-summary.ts'
import { distinctCalls } from './distinct-calls.ts'
import { mayBeUpstreams, shortCallId } from './known-ids.ts'
import { makerOfId } from './item-ids.ts'
import { itemTypeOf } from './item-types.ts'
import { NO_CUSTOM_TOOLS, NO_ITEM_IDS, NO_NAMESPACES } from './lessons.ts'
import { isChatgpt } from './model-habits.ts'
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
  const fitted: JsonObject[] = []
  let same = true
  for (const [at, item] of items.entries()) {
    const next = fitItem(item, { path: `input.${at}`, context, warnings })
    same &&= next === item
    if (next !== undefined) fitted.push(next)
  }
  return pairItems(distinctCalls(same ? items : fitted), warnings)
}

interface Scope {
  /** Of the item, as warnings name it. */
  readonly path: string
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
      const listed = tools.filter(isObject)
      const place = `${path}.tools`
      const own = isChatgpt(context) ? fitChatgptTools(listed, place, 'auto', warnings) : listed
      const kept = passTools(own, place, context, warnings)
      return kept === listed && listed.length === tools.length ? bare : { ...bare, tools: kept }
    }
    case 'message':
      return isChatgpt(context) ? fitMessage(withoutIds(item, type)) : withoutIds(item, type)
    default:
      return withoutIds(item, type)
  }
}

/**
 * As the ChatGPT backend wants it: with its type, and not from the system: `System messages are not allowed`
 * (BerriAI/litellm#23698).
 */
function fitMessage(message: JsonObject): JsonObject {
  const { role, type } = message
  if (type === 'message' && role !== 'system') return message
  return { ...message, type: 'message', role: role === 'system' ? 'developer' : role }
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
function fitOpaque(item: JsonObject, lost: WarningCode, { path, context, warnings }: Scope): JsonObject | undefined {
  const value = item['encrypted_content']
  const type = itemTypeOf(item)
  const drop = (): undefined => {
    warnings.push({ code: lost, field: path, detail: 'it was made by another vendor or upstream' })
  }
  const takesIds = !isChatgpt(context) && !context.lessons.has(NO_ITEM_IDS)
  if (typeof value !== 'string' || !isSealed(value)) {
    const maker = makerOfId(item['id'])
    if (maker !== undefined && maker !== (context.model.provider ?? 'copilot')) return drop()
    // An id that upstream made belongs to the value; one that is left out is found in the value (openclaw/openclaw#72602).
    return takesIds && mayBeUpstreams(item['id']) ? item : withoutIds(item, type)
  }
  const opaque = openOpaque(value)
  if (opaque?.form !== 'encrypted_content' || !isMadeFor(opaque, context.model)) return drop()
  const opened = { ...item, encrypted_content: opaque.value }
  return takesIds && isFilled(opaque.id) && item['id'] === opaque.id ? opened : withoutIds(opened, type)
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
