import type { EncodeContext } from '../../dialect.ts'
import { keepPlaces } from '../../engine/places.ts'
import { refuseValue, toFieldPath } from '../../engine/request/invalid.ts'
import { isFilled, type JsonObject } from '../../../json/json.ts'
import { isMadeFor, isSealed, openOpaque } from '../../engine/opaque-envelope.ts'
import type { Warning, WarningCode } from '../../warning.ts'
import { openAgentMessage } from '../agent-messages.ts'
import { decodeSummary, summaryPrompt } from '../compaction.ts'
import { itemTypeOf, makerOfId, mayBeUpstreams, shortCallId } from '../items/item.ts'
import { NO_ITEM_IDS } from './learned-refusals.ts'
import { isChatgpt, isCopilot } from './model-profile.ts'
import { fitToolList, passFoundTools } from './tool-rules.ts'

interface Scope {
  /** The item's path in warnings. */
  readonly path: string
  readonly context: EncodeContext
  readonly warnings: Warning[]
}

/**
 * Returns the item in the form that upstream accepts: without an id that it cannot know, and with reasoning that it can read.
 * The same item if nothing changes, undefined for one that upstream would refuse.
 *
 * @throws Fault `invalid_request` for an `item_reference`
 */
export function fitItem(item: JsonObject, scope: Scope): JsonObject | undefined {
  const { path, context, warnings } = scope
  const type = itemTypeOf(item)
  switch (type) {
    case 'item_reference':
      return refuseValue(toFieldPath(path), 'the referenced item is not stored', 'item_not_found')
    case 'reasoning':
      // Upstream cannot check readable text without its ciphertext.
      return isFilled(item['encrypted_content']) ? fitOpaque(item, 'thinking_dropped', scope) : undefined
    case 'compaction':
    case 'compaction_summary':
      return fitCompaction(item, scope)
    case 'additional_tools': {
      const tools = item['tools']
      const bare = withoutIds(item, type)
      if (!Array.isArray(tools)) return bare
      const fitted = fitToolList(tools, { path: `${path}.tools`, choice: 'auto', context, warnings })
      return fitted.every((tool, at) => tool === tools[at]) ? bare : { ...bare, tools: keepPlaces(fitted).kept }
    }
    case 'tool_search_output': {
      const { tools } = item
      const bare = withoutIds(item, type)
      const kept = Array.isArray(tools) ? passFoundTools(tools, `${path}.tools`, context, warnings) : tools
      return kept === tools ? bare : { ...bare, tools: kept }
    }
    case 'agent_message':
      // OpenAI's own backend reads what it has encrypted.
      if (!isCopilot(context)) return item
      return { type: 'message', role: 'user', content: openAgentMessage(item, path) }
    case 'message':
      return isChatgpt(context) ? fitMessage(withoutIds(item, type)) : withoutIds(item, type)
    default:
      return withoutIds(item, type)
  }
}

/**
 * The ChatGPT backend requires a type and refuses the role `system`: `System messages are not allowed`
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
  const summary = decodeSummary(value)
  if (summary === undefined) return fitOpaque(item, 'compaction_dropped', scope)
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text: summaryPrompt(summary) }] }
}

/** Items that are useless without their `encrypted_content`. Its envelope is removed here. */
function fitOpaque(item: JsonObject, lost: WarningCode, { path, context, warnings }: Scope): JsonObject | undefined {
  const value = item['encrypted_content']
  const type = itemTypeOf(item)
  const drop = (): undefined => {
    warnings.push({ code: lost, field: path, detail: 'it comes from another vendor or provider' })
  }
  const takesIds = !isChatgpt(context) && !context.learnedRefusals.has(NO_ITEM_IDS)
  if (typeof value !== 'string' || !isSealed(value)) {
    const maker = makerOfId(item['id'])
    if (maker !== undefined && maker !== (context.model.provider ?? 'copilot')) return drop()
    // Upstream's own id belongs to the value; without an id, upstream finds it in the value (openclaw/openclaw#72602).
    return takesIds && mayBeUpstreams(item['id']) ? item : withoutIds(item, type)
  }
  const opaque = openOpaque(value)
  if (opaque?.form !== 'encrypted_content' || !isMadeFor(opaque, context.model)) return drop()
  const opened = { ...item, encrypted_content: opaque.value }
  return takesIds && isFilled(opaque.id) && item['id'] === opaque.id ? opened : withoutIds(opened, type)
}

/**
 * Items whose `status` upstream does not require. The status describes an item of an earlier reply, which upstream does
 * not know without the id.
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
 * Ids are bound to a connection (`401 input item ID does not belong to this connection`), may be too long, or are
 * generated by the proxy. Upstream requires none (docs/copilot-wire.md, "Responses requests"). The id of a call stays,
 * because its output refers to it.
 */
function withoutIds(item: JsonObject, type: string | undefined): JsonObject {
  const callId = item['call_id']
  const shortened = typeof callId === 'string' ? shortCallId(callId) : callId
  const renamed = shortened === callId ? item : { ...item, call_id: shortened }
  if (!Object.hasOwn(item, 'id')) return renamed
  const { id: _id, ...members } = renamed
  if (!statusOptional.has(type)) return members
  const { status: _status, ...bare } = members
  return bare
}
