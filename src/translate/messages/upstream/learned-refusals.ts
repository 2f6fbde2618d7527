import { Fault } from '../../../errors.ts'
import type { EncodedRequest } from '../../dialect.ts'
import {
  createRecover,
  learnedField,
  namedFields,
  nameSet,
  refusedField,
  removing,
  type IsEssential,
  type RefusalRow,
  type Refused,
  editAt,
  removeAt,
} from '../../learned-refusals.ts'
import { applyRules } from '../../engine/rules.ts'
import { outputOverflowRow } from '../../engine/output-overflow.ts'
import { isPromptTooLong, outputOverflowOf } from '../../../upstream-errors/full-context.ts'
import { changedMembers, spliceMembers } from '../../../json/json-members.ts'
import { isObject, type JsonObject, objectsOf } from '../../../json/json.ts'
import type { Warning } from '../../warning.ts'
import { toolReferenceText } from '../content.ts'
import { rules } from './adapt/adapt.ts'
import { targetOf } from './adapt/target.ts'
import { withJsonHint } from './format-schema.ts'
import { encodeHeaders, isSentBody, sentBetas } from './sent-request.ts'

const essentialAtTop = nameSet('model messages max_tokens stream system tools')
const essentialInMessage = nameSet('role content')
const essentialBelow = nameSet(
  'type role content text id name input input_schema tool_use_id source data media_type signature',
)

/** Callers copy messages from replies, with the reply's id and type. */
const isEssential: IsEssential = (steps) => {
  const isOfMessage = steps.length === 3 && steps[0] === 'messages'
  const essential = steps.length === 1 ? essentialAtTop : isOfMessage ? essentialInMessage : essentialBelow
  return essential.has(steps.at(-1) ?? '')
}

/** Block types that every model accepts. Source: Anthropic API reference, Messages, 2026-11. */
const takenBlocks = nameSet('text image document search_result thinking redacted_thinking tool_use tool_result')

/** The key under which a refused type is stored, by the member of the body that contains it. */
const learnedTypes: ReadonlyMap<string, (type: string) => string | undefined> = new Map([
  // A block that every model accepts is in the wrong place. Its type is not learned, because nothing would be left of
  // the next request without it.
  ['messages', (type: string) => (takenBlocks.has(type) ? undefined : `tag:messages:${type}`)],
  ['tools', (type: string) => `tag:tools:${type}`],
  // The refusal of an unknown type says nothing about the model.
  ['thinking', (type: string) => otherThinking.get(type)],
  ['context_management', () => learnedField('context_management')],
])

/** The thinking mode of a model that refuses a `thinking.type`. */
const otherThinking: ReadonlyMap<string, string> = new Map([
  ['adaptive', 'thinking:budget'],
  ['enabled', 'thinking:adaptive'],
  ['between_tools', 'thinking:adaptive'],
])

/** Keys of learned refusals are read in `adapt/target.ts`. */
export const refusals: readonly RefusalRow[] = [
  {
    name: 'named betas',
    source: 'messages, betas',
    pattern: /unsupported beta header\(s\):\s*([\w.,\s-]{1,1000})/i,
    remedy: ([, names = ''], { sent }) => {
      const named = new Set(names.split(',').map((name) => name.trim()))
      const refused = sentBetas(sent.headers).filter((beta) => named.has(beta))
      return { learned: refused.map((beta) => `beta:${beta}`), warnings: sentWithout('anthropic-beta') }
    },
  },
  {
    name: 'some beta',
    source: 'messages, betas: a backend that names none',
    pattern: /invalid beta flag/i,
    remedy: (_match, { sent }) => ({
      learned: sentBetas(sent.headers).map((beta) => `beta:${beta}`),
      isPassing: true,
      warnings: sentWithout('anthropic-beta'),
    }),
  },
  {
    name: 'keys',
    source: 'messages, unknown fields',
    pattern: /: Extra inputs are not permitted/,
    remedy: (_match, { refusal }) => {
      const fields = new Set(namedFields(refusal).flatMap((path) => refusedField(path, isEssential) ?? []))
      return {
        learned: [...fields].map(learnedField),
        fromSecondRefusal: true,
        warnings: sentWithout([...fields][0] ?? ''),
      }
    },
  },
  {
    name: 'system messages',
    source: 'messages, system messages',
    pattern: /Unexpected role "system"|role '?"?system'?"? is not supported/i,
    remedy: { learned: ['system-messages:no'], warnings: sentWithout('messages') },
  },
  {
    name: 'a level of effort',
    source: 'messages, effort',
    pattern: /effort.{0,500}supported values:?\s*\[([^\]]{0,200})\]/is,
    remedy: ([, list = '']) => ({
      learned: [`efforts:${(list.match(/[a-z]+/g) ?? []).join(',')}`],
      warnings: sentWithout('output_config.effort'),
    }),
  },
  {
    name: 'effort as such',
    source: 'messages, effort',
    pattern: /does not support (?:the )?(?:reasoning )?effort/i,
    remedy: { learned: ['efforts:'], warnings: sentWithout('output_config.effort') },
  },
  {
    name: 'thinking by budget',
    source: 'messages, thinking',
    pattern: /thinking\.type\.enabled\W{0,3} is not supported/,
    remedy: { learned: ['thinking:adaptive'], warnings: sentWithout('thinking') },
  },
  {
    name: 'no thinking',
    source: 'messages, thinking: a guess at what models say that always think',
    pattern: /thinking\.type\.disabled\W{0,3} is not supported|thinking: Input tag 'disabled'/,
    remedy: { learned: ['thinking:always'], warnings: sentWithout('thinking') },
  },
  {
    name: 'adaptive thinking',
    source: 'messages, thinking',
    pattern: /adaptive thinking is not supported|thinking\.type\.adaptive\W{0,3} is not supported/i,
    remedy: { learned: ['thinking:budget'], warnings: sentWithout('thinking') },
  },
  {
    // Drop all of them, because each refusal names only one.
    name: 'a thinking block',
    source: 'messages, thinking blocks',
    pattern:
      /Invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking`?|each thinking block must contain|`?redacted_thinking`? blocks in the latest assistant message cannot be modified/i,
    remedy: {
      edit: (body) =>
        editBlocks(body, (block) => (/^(?:redacted_)?thinking$/.test(String(block['type'])) ? undefined : block)),
      warnings: sentWithout('messages'),
    },
  },
  {
    name: 'thinking where the last turn has none',
    source: 'Anthropic API reference, extended thinking with tool use, 2026-11',
    pattern: /Expected `?thinking`? or `?redacted_thinking`?, but found/i,
    remedy: { edit: withoutThinking, warnings: sentWithout('thinking') },
  },
  {
    name: 'thinking beside a forced tool',
    source: 'Anthropic API reference, extended thinking with tool use, 2026-11',
    pattern: /Thinking may not be enabled when tool_choice forces tool use/i,
    remedy: { edit: withoutThinking, learned: ['thinking:unforced'], warnings: sentWithout('thinking') },
  },
  {
    name: 'a forced tool',
    source: 'messages, forced tools',
    pattern: /tool_choice: type "(?:tool|any)"[^.]{0,40} (?:is|are) not supported for this model/i,
    remedy: { learned: ['choice:unforced'], warnings: sentWithout('tool_choice') },
  },
  {
    name: 'structured outputs',
    source: 'messages, structured outputs',
    pattern: /structured_outputs/,
    remedy: { edit: withoutFormat, warnings: sentWithout('output_config.format') },
  },
  {
    name: 'a tool reference',
    source: 'messages, tool search',
    pattern: /Tool reference '([^']{1,200})' not found in available tools/,
    remedy: ([, name = '']) => ({ edit: (body) => withToolAtOnce(body, name), warnings: sentWithout('tools') }),
  },
  {
    name: 'a server tool of the history',
    source: 'messages, tool search',
    pattern: /Tool '([^']{1,200})' not found in provided tools/,
    remedy: ([, name = '']) => ({ edit: (body) => withoutServerCalls(body, name), warnings: sentWithout('messages') }),
  },
  {
    name: 'a server tool',
    source: 'messages, server tools',
    pattern: /The use of the ([\w ]{1,40}) tool is not supported/i,
    remedy: ([, name = ''], { body }) => {
      const prefix = name.trim().toLowerCase().replaceAll(' ', '_')
      const types = objectsOf(body['tools']).flatMap(({ type }) => (String(type).startsWith(prefix) ? [type] : []))
      return { learned: types.map((type) => `tag:tools:${String(type)}`), warnings: sentWithout('tools') }
    },
  },
  {
    name: 'a type',
    source: 'messages, tool types',
    pattern: /([\w.-]{1,300}): Input tag '([\w.-]{1,100})'/,
    remedy: ([, path = '', tag = '']) => {
      const [member = ''] = path.split('.')
      const learned = learnedTypes.get(member)?.(tag)
      return learned === undefined ? undefined : { learned: [learned], warnings: sentWithout(member) }
    },
  },
  {
    name: 'clearing thoughts without thinking',
    source: 'messages, context management',
    pattern: /clear_thinking\w*`? strategy requires/i,
    remedy: { edit: removing('context_management'), warnings: sentWithout('context_management') },
  },
  outputOverflowRow,
  {
    name: 'max_tokens',
    source: 'messages, max_tokens',
    pattern: /max_tokens: \d+ > (\d{1,9}), which is the maximum/,
    remedy: ([, limit = '']) => ({ learned: [`max-tokens:${Number(limit)}`], warnings: sentWithout('max_tokens') }),
  },
  {
    name: 'blank text',
    source: 'messages, empty text',
    pattern: /text content blocks must (?:be non-empty|contain non-whitespace)/,
    remedy: {
      // The rules leave the member out of every request.
      edit: (body) => body,
      warnings: sentWithout('messages'),
    },
  },
  {
    name: 'sampling',
    source: 'messages, sampling',
    pattern:
      /`?(?:temperature|top_p|top_k)`?[^.]{0,80}(?:cannot both|may only be set|not supported|deprecated|unsupported|must be unset)/i,
    remedy: { edit: removing('temperature', 'top_p', 'top_k'), warnings: sentWithout('temperature') },
  },
]

/**
 * Adapts the request again by the same rules and the new refusal. Undefined if nothing that the refusal names can be
 * removed: a prompt that is too long, a prefill, an unknown model.
 */
export const recoverMessages = createRecover({
  rows: refusals,
  conversation: { member: 'messages', textType: 'text' },
  isAnswer: (refusal) =>
    refusal.status !== 400 || (isPromptTooLong(refusal) && outputOverflowOf(refusal.message) === undefined),
  encode,
})

/** Runs the rules of every request, which also remove the parts that were learned as refused. */
function encode(edited: JsonObject, learned: readonly string[], refused: Refused): EncodedRequest | undefined {
  const { body: before, source, sent, context } = refused
  if (!isSentBody(edited)) return undefined
  const target = targetOf(context.model, new Set([...context.learnedRefusals, ...learned]))
  try {
    const betas = sentBetas(sent.headers)
    const adapted = applyRules({ body: edited, headers: encodeHeaders(betas) }, rules, target)
    const json = JSON.stringify(adapted.body)
    // Upstream did not refuse the space between members or their order, so compare without them.
    if (json === JSON.stringify(before) && sentBetas(adapted.headers).length === betas.length) return undefined
    // The remedy adds the only warning about the removed fields and types.
    const warnings = adapted.warnings.filter(({ code }) => code !== 'refused_upstream')
    const body = spliceMembers(source, changedMembers(before, adapted.body))
    return { body, headers: adapted.headers, warnings: [...sent.warnings, ...warnings] }
  } catch (error) {
    // Without the refused parts nothing is left of the request, so the refusal is the answer.
    if (error instanceof Fault) return undefined
    throw error
  }
}

function sentWithout(field: string): readonly Warning[] {
  return [{ code: 'refused_upstream', field, detail: 'the provider refused it; retried without it' }]
}

function withoutThinking(body: JsonObject): JsonObject {
  return { ...body, thinking: { type: 'disabled' } }
}

/** Asks in the system text for the format that can no longer be enforced. */
function withoutFormat(body: JsonObject): JsonObject {
  if (!isSentBody(body)) return body
  const { format, ...config } = body.output_config ?? {}
  const hinted = format && { system: withJsonHint(body.system ?? undefined, format.schema ?? undefined) }
  const unforced = { ...body, ...hinted, output_config: Object.keys(config).length === 0 ? undefined : config }
  return editAt(unforced, 'tools[].strict', (isStrict) => (isStrict === true ? undefined : isStrict))
}

function withToolAtOnce(body: JsonObject, name: string): JsonObject {
  const loaded = editAt(body, 'tools[]', (tool) =>
    isObject(tool) && tool['name'] === name && tool['defer_loading'] === true ? removeAt(tool, 'defer_loading') : tool,
  )
  if (loaded !== body) return loaded
  return editBlocks(body, (block) =>
    block['type'] === 'tool_reference' && block['tool_name'] === name
      ? { type: 'text', text: toolReferenceText(name) }
      : block,
  )
}

function withoutServerCalls(body: JsonObject, name: string): JsonObject {
  const dropped = new Set<unknown>()
  return editBlocks(body, (block) => {
    const { type, id, tool_use_id: callId } = block
    const isCall = type === 'server_tool_use' && block['name'] === name
    if (isCall) dropped.add(id)
    const isResult = /._tool_result$/.test(String(type)) && dropped.has(callId)
    return isCall || isResult ? undefined : block
  })
}

/** Edits the blocks of messages and of tool results in them. The rules leave out messages without content. */
function editBlocks(body: JsonObject, edit: (block: JsonObject) => JsonObject | undefined): JsonObject {
  const editBlock = (block: unknown): unknown => (isObject(block) ? edit(block) : block)
  const ofMessages = editAt(body, 'messages[].content[]', editBlock)
  return editAt(ofMessages, 'messages[].content[].tool_result.content[]', editBlock)
}
