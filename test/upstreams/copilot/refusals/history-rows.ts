import { isObject, objectsOf, textOf } from '../../../../src/json/json.ts'
import type { JsonObject } from '../../../../src/json/json.ts'
import { CHAT, isAny, isClaude, isGpt, MESSAGES, withCode } from './row.ts'
import type { RefusalRow, SentRequest } from './row.ts'
import { blocksIn, callsIn, entriesIn, stopsIn } from './sent-parts.ts'

// Earlier messages: ids, arguments, texts, reasoning, unknown members.

const CLAUDE_ID = /^[a-zA-Z0-9_-]+$/
const LONGEST_ID = 40

const CLAUDE_ON_CHAT = { routes: [CHAT], models: isClaude, scope: 'everywhere' } as const

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

/** Ids of calls and results with the path of each in Claude's words. */
function idsIn(sent: SentRequest): readonly { readonly id: string; readonly path: string }[] {
  const results = entriesIn(sent).flatMap((message, index) =>
    message['role'] === 'tool'
      ? [{ id: textOf(message['tool_call_id']), path: `messages.${index}.content.0.tool_result.tool_use_id` }]
      : [],
  )
  return [
    ...callsIn(sent).map(({ id, entry, at }) => ({ id, path: `messages.${entry}.content.${at}.tool_use.id` })),
    ...results,
  ]
}

/** The texts of a chat message. */
function textsOf(message: JsonObject): readonly string[] {
  const { content } = message
  if (typeof content === 'string') return [content]
  return blocksIn(message).flatMap(({ type, text }) => (type === 'text' ? [textOf(text)] : []))
}

/** Members that clients of other services keep in a conversation. */
const UNKNOWN = new Set(['reasoning_details', 'provider_specific_fields'])

/** The path of the first unknown member below `messages` and `tools`. */
function unknownMember(value: unknown, path: readonly (string | number)[]): readonly (string | number)[] | undefined {
  if (Array.isArray(value)) {
    for (const [at, each] of value.entries()) {
      const found = unknownMember(each, [...path, at])
      if (found !== undefined) return found
    }
    return undefined
  }
  if (!isObject(value)) return undefined
  for (const [name, each] of Object.entries(value)) {
    if (UNKNOWN.has(name)) return [...path, name]
    // Schemas of tools name members as they like.
    const found = name === 'parameters' ? undefined : unknownMember(each, [...path, name])
    if (found !== undefined) return found
  }
  return undefined
}

function unknownIn({ body }: SentRequest): readonly (string | number)[] | undefined {
  return unknownMember(body['messages'], ['messages']) ?? unknownMember(body['tools'], ['tools'])
}

function dotted(path: readonly (string | number)[]): string {
  return path.join('.')
}

function bracketed(path: readonly (string | number)[]): string {
  return path.map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at === 0 ? '' : '.'}${key}`)).join('')
}

/** Whether a chat request asks Claude to think. */
function isThinking({ body }: SentRequest): boolean {
  const { reasoning_effort: effort, thinking_budget: budget, thinking } = body
  const type = isObject(thinking) ? thinking['type'] : undefined
  return (
    (effort !== undefined && effort !== 'none') || budget !== undefined || type === 'enabled' || type === 'adaptive'
  )
}

export const historyRows: readonly RefusalRow[] = [
  {
    ...CLAUDE_ON_CHAT,
    id: 'P4 characters of ids',
    source: 'earendil-works/pi#198, farion1231/cc-switch#1181',
    judge: (sent) => {
      const wrong = idsIn(sent).find(({ id }) => !CLAUDE_ID.test(id))
      return wrong && `${wrong.path}: String should match pattern '${CLAUDE_ID.source}'`
    },
  },
  {
    ...CLAUDE_ON_CHAT,
    id: 'P4 repeated ids',
    source: 'openclaw/openclaw#117789',
    judge: (sent) => {
      const calls = callsIn(sent)
      const again = calls.find(({ id }, at) => calls.findIndex((each) => each.id === id) < at)
      return again && `messages.${again.entry}.content.${again.at}: \`tool_use\` ids must be unique`
    },
  },
  {
    id: 'P4 long ids',
    routes: [CHAT],
    models: isGpt,
    scope: 'everywhere',
    source: 'earendil-works/pi#198',
    judge: (sent) => {
      for (const { id, entry, at } of callsIn(sent)) {
        if (id.length > LONGEST_ID) {
          return `Invalid 'messages[${entry}].tool_calls[${at}].id': string too long. Expected a string with maximum length ${LONGEST_ID}, but got a string with length ${id.length} instead.`
        }
      }
      return undefined
    },
    reply: withCode('string_above_max_length'),
  },
  {
    id: 'P5 arguments without an object',
    routes: [CHAT],
    models: isAny,
    scope: 'everywhere',
    source: 'microsoft/vscode#295549, microsoft/vscode#281445',
    // '' is how many models say that a call has no arguments.
    judge: (sent) =>
      callsIn(sent).some(({ arguments: text }) => text !== undefined && text !== '' && !isJsonObject(text))
        ? 'Invalid JSON format in tool call arguments'
        : undefined,
    reply: withCode('invalid_tool_call_format'),
  },
  {
    id: 'P15 stop on GPT-5',
    routes: [CHAT],
    models: ({ profile, id }) => profile === 'gpt-5' && id !== 'gpt-5.4-mini',
    scope: 'everywhere',
    source: 'plmbr/notebook-intelligence#397, huggingface/smolagents#1893',
    judge: (sent) =>
      stopsIn(sent).length > 0 ? "Unsupported parameter: 'stop' is not supported with this model." : undefined,
    reply: withCode('unsupported_parameter'),
  },
  {
    id: 'P15 blank stop sequence',
    routes: [CHAT, MESSAGES],
    models: isClaude,
    scope: 'everywhere',
    source: 'BerriAI/litellm#3286',
    judge: (sent) =>
      stopsIn(sent).some((stop) => stop.trim() === '')
        ? 'stop_sequences: each stop sequence must contain non-whitespace'
        : undefined,
  },
  {
    id: 'P18 unknown member, GPT',
    routes: [CHAT],
    models: isGpt,
    scope: 'everywhere',
    source: 'docs/copilot-wire.md, "Errors"; caozhiyuan/copilot-api#308 on Responses',
    judge: (sent) => {
      const path = unknownIn(sent)
      return path && `Unknown parameter: '${bracketed(path)}'.`
    },
    reply: withCode('unknown_parameter'),
  },
  {
    ...CLAUDE_ON_CHAT,
    id: 'P18 unknown member, Claude',
    source: 'docs/copilot-wire.md, "Errors"',
    judge: (sent) => {
      const path = unknownIn(sent)
      return path && `${dotted(path)}: Extra inputs are not permitted`
    },
  },
  {
    ...CLAUDE_ON_CHAT,
    id: 'P21 reasoning of another account',
    scope: 'if asked',
    source: 'microsoft/copilot-intellij-feedback#1976, microsoft/vscode#297388',
    judge: (sent) => {
      const at = entriesIn(sent).findIndex(({ reasoning_opaque: opaque }) => textOf(opaque) !== '')
      return at < 0
        ? undefined
        : `messages.${at}.content.0: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`
    },
  },
  {
    ...CLAUDE_ON_CHAT,
    id: 'P21 calls without reasoning',
    scope: 'some hosts',
    source: 'microsoft/vscode#317849, microsoft/vscode#282240, anomalyco/opencode#2305',
    judge: (sent) => {
      const messages = entriesIn(sent)
      const at = messages.findLastIndex(({ role }) => role === 'assistant')
      const last = messages[at]
      if (!isThinking(sent) || last === undefined || messages.at(-1)?.['role'] !== 'tool') return undefined
      return objectsOf(last['tool_calls']).length === 0 || textOf(last['reasoning_opaque']) !== ''
        ? undefined
        : `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`
    },
  },
  {
    ...CLAUDE_ON_CHAT,
    id: 'P22 blank text',
    source: 'anomalyco/opencode#31259, microsoft/vscode#307618',
    judge: (sent) =>
      entriesIn(sent).some(
        (message) => message['role'] !== 'tool' && textsOf(message).some((text) => text !== '' && text.trim() === ''),
      )
        ? 'messages: text content blocks must contain non-whitespace text'
        : undefined,
  },
  {
    id: 'P29 trailing white space',
    routes: [CHAT, MESSAGES],
    models: (model) => isClaude(model) && model.version < 4.6,
    scope: 'everywhere',
    source: 'caozhiyuan/copilot-api#216, tailcallhq/forgecode#1872',
    judge: (sent) => {
      const last = entriesIn(sent).at(-1)
      const text = last?.['role'] === 'assistant' ? textsOf(last).at(-1) : undefined
      return text !== undefined && text !== text.trimEnd()
        ? 'messages: final assistant content cannot end with trailing whitespace'
        : undefined
    },
  },
]
