import {
  createRecover,
  FIELD_CODES,
  learnedField,
  namedFields,
  nameSet,
  removing,
  UNSUPPORTED_VALUE,
  withoutField,
  type IsEssential,
  type RefusalRow,
  type Refused,
  type Remedy,
  editAt,
  removeAt,
} from '../../learned-refusals.ts'
import { outputOverflowRow } from '../../engine/output-overflow.ts'
import { isObject, type JsonObject, isFilled, objectsOf } from '../../../json/json.ts'

/** The model requires `max_completion_tokens` in place of `max_tokens`. */
export const RENAMES_CAP = 'rename:max_tokens'

/** `copilot_cache_control` on messages and tools. */
export const NO_CACHE_MARKS = 'marks:copilot_cache_control'

/** A Gemini whose backend does not know `tool_choice: "validated"`. */
export const NO_VALIDATED_CHOICE = 'choice:validated'

const essential = nameSet('model messages stream tools response_format')

/** Members of messages, parts and tools that hold the conversation. */
const essentialInside = nameSet(
  'role content type text tool_calls tool_call_id id name function arguments custom input parameters image_url url file file_data input_audio data',
)

const isEssential: IsEssential = (steps) => {
  const [member = ''] = steps
  return hasFields(member) && steps.length > 1 ? essentialInside.has(steps.at(-1) ?? '') : essential.has(member)
}

/** Members whose elements have fields of their own. Of others, upstream takes all or nothing. */
function hasFields(member: string): boolean {
  return member === 'messages' || member === 'tools'
}

const withoutCacheMarks: Remedy = {
  edit: removing('messages[].copilot_cache_control', 'tools[].copilot_cache_control'),
  learned: [NO_CACHE_MARKS],
}

/** Wordings: docs/copilot-wire.md, "Parameters by model". */
const rows: readonly RefusalRow[] = [
  {
    // Unsealed reasoning does not state its model, so a session that changed models sends it to the wrong one.
    name: 'reasoning of another model',
    source: 'Gemini: badrisnarayanan/antigravity-claude-proxy#18; Claude',
    pattern:
      /(?:corrupted|invalid) thought[ _]signature|thought[ _]signature is (?:not valid|invalid)|invalid `?signature`? in `?thinking`?|`?(?:redacted_)?thinking`? blocks in the latest assistant message cannot be modified/i,
    remedy: {
      // Drop all reasoning, because the refusal does not name the message.
      edit: (body) => editAt(body, 'messages[]', withoutReasoning),
      warnings: [
        {
          code: 'thinking_dropped',
          field: 'reasoning_opaque',
          detail: 'the provider could not read the reasoning of earlier turns',
        },
      ],
    },
  },
  {
    name: 'calls of another model',
    source: 'Gemini; Vertex puts the name in backticks',
    pattern: /missing an? `?thought_signature/i,
    remedy: {
      edit: (body) =>
        editAt(body, 'messages', (messages) => (Array.isArray(messages) && unsignedCallsAsText(messages)) || messages),
      warnings: [
        {
          code: 'adapted',
          field: 'tool_calls',
          detail: 'the provider only accepts calls that the model made itself; other calls are sent as text',
        },
      ],
    },
  },
  {
    name: 'cache marks',
    source: 'parameters, refusals by name',
    pattern: /copilot_cache_control/,
    remedy: (_match, { refusal }) =>
      namedFields(refusal).some((path) => path.includes('copilot_cache_control')) ? withoutCacheMarks : undefined,
  },
  {
    name: 'thinking where the last turn has none',
    source: 'Anthropic API reference, extended thinking with tool use, 2026-11',
    pattern: /Expected `?thinking`? or `?redacted_thinking`?, but found/i,
    remedy: {
      edit: removing('reasoning_effort', 'thinking_budget', 'thinking'),
      warnings: [
        {
          code: 'refused_upstream',
          field: 'reasoning_effort',
          detail: 'the turn that made the last tool calls has no reasoning; retried without',
        },
      ],
    },
  },
  {
    name: 'validated calls',
    source: 'parameters, tool_choice: nobody has reported a refusal; the words are those for other models',
    pattern: /tool_choice/i,
    remedy: (_match, { body }) =>
      body['tool_choice'] === 'validated'
        ? { edit: (sent) => ({ ...sent, tool_choice: 'auto' }), learned: [NO_VALIDATED_CHOICE] }
        : undefined,
  },
  outputOverflowRow,
  {
    name: 'the name of the token limit',
    source: 'parameters, refusals by name',
    pattern: /max_completion_tokens/,
    remedy: (_match, refused) =>
      namedMember(refused) === 'max_tokens' ? { edit: withCapRenamed, learned: [RENAMES_CAP] } : undefined,
  },
  {
    name: 'a field',
    source: 'parameters, refusals by name',
    pattern: /./,
    remedy: (_match, refused) =>
      // The reply is then read differently.
      namedPath(refused) === 'stop'
        ? { learned: [learnedField('stop')], fromSecondRefusal: true }
        : withoutNamed(refused),
  },
]

/** The request without the parts that upstream refused; undefined if nothing can be removed. */
export const recoverChat = createRecover({
  rows,
  conversation: { member: 'messages', textType: 'text' },
  isAnswer: ({ status }) => status !== 400,
})

function withoutReasoning(message: unknown): unknown {
  if (!isObject(message) || !Object.hasOwn(message, 'reasoning_opaque')) return message
  return removeAt(message, 'reasoning_opaque', 'reasoning_text', 'reasoning_content')
}

/** The top-level member that upstream names: `thinking` of `thinking.display`. '' for none. */
function namedMember(refused: Refused): string {
  return memberOf(namedPath(refused))
}

function memberOf(path: string): string {
  return /^[^.[]+/.exec(path)?.[0] ?? ''
}

/** The path of a field of a message or a tool, or a top-level member, as upstream names it. '' for none. */
function namedPath({ body, refusal }: Refused): string {
  const { code, param, message } = refusal
  const names = [...namedFields(refusal), UNSUPPORTED_VALUE.exec(message)?.[1]]
  if (code === 'invalid_reasoning_effort') names.push('reasoning_effort')
  if (FIELD_CODES.test(`${code}:`)) names.push(param)
  const named = names.find((name) => Object.hasOwn(body, memberOf(name ?? ''))) ?? ''
  return hasFields(memberOf(named)) ? named : memberOf(named)
}

function withoutNamed(refused: Refused): Remedy | undefined {
  const path = namedPath(refused)
  const remedy = withoutField(path, isEssential, 'the provider refused it; retried without it')
  // Models that refuse a level of effort take none, so one refusal is enough.
  return remedy && { ...remedy, fromSecondRefusal: path !== 'reasoning_effort' }
}

function withCapRenamed(body: JsonObject): JsonObject {
  const { max_tokens: cap, ...others } = body
  return { ...others, max_completion_tokens: cap }
}

/**
 * Converts every call without `reasoning_opaque`, and its result, to text. A model that needs its thoughts back refuses
 * calls that it did not make (docs/copilot-wire.md, quirk 12). Undefined if there is no such call.
 */
function unsignedCallsAsText(messages: readonly unknown[]): readonly unknown[] | undefined {
  /** Tool names by the ids of the calls that became text. */
  const names = new Map<unknown, string>()
  const out: unknown[] = []
  /** Content of the user message with the results of one turn. */
  let results: unknown[] | undefined
  let changed = false
  for (const message of messages) {
    if (isObject(message) && message['role'] === 'tool' && names.has(message['tool_call_id'])) {
      if (results === undefined) {
        results = []
        out.push({ role: 'user', content: results })
      }
      // One by one, because too many arguments would overflow the stack.
      for (const part of partsOf(names.get(message['tool_call_id']), message['content'])) results.push(part)
      continue
    }
    results = undefined
    const calls = isObject(message) ? callsOf(message) : []
    if (!isObject(message) || calls.length === 0 || isFilled(message['reasoning_opaque'])) {
      for (const { id } of calls) names.delete(id)
      out.push(message)
      continue
    }
    changed = true
    for (const { id, name } of calls) names.set(id, name)
    const { tool_calls: _calls, content, ...others } = message
    out.push({ ...others, content: withCallsAsText(content, calls) })
  }
  return changed ? out : undefined
}

interface Call {
  readonly id: unknown
  readonly name: string
  readonly input: string
}

function callsOf({ role, tool_calls: calls }: JsonObject): readonly Call[] {
  if (role !== 'assistant') return []
  return objectsOf(calls).map(({ id, function: called, custom }) => {
    const { name, arguments: json, input } = isObject(called) ? called : isObject(custom) ? custom : {}
    return { id, name: textOf(name), input: textOf(json ?? input) }
  })
}

function withCallsAsText(content: unknown, calls: readonly Call[]): unknown {
  const text = calls.map(({ name, input }) => `[Called ${name} with ${input}]`).join('\n')
  if (Array.isArray(content)) return [...content, { type: 'text', text }]
  return isFilled(content) ? `${content}\n\n${text}` : text
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function partsOf(name: string | undefined, content: unknown): readonly unknown[] {
  const heading = `[Result of ${name}]`
  if (Array.isArray(content)) return [{ type: 'text', text: heading }, ...content]
  return [{ type: 'text', text: `${heading}\n${textOf(content)}` }]
}
