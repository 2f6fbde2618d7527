import {
  type ChatMessage,
  type ChatPart,
  isBlankContent,
  isEmptyMessage,
  isPartType,
  PART_TYPES,
  partTypeOf,
} from '../wire.ts'
import { isObject } from '../../../json/json.ts'
import type { Warning, WarningCode } from '../../warning.ts'
import { fieldOf } from '../../engine/origin.ts'
import { imageTypeOf } from '../../engine/media/image-type.ts'
import { parseDataUrl, textOfFile } from '../../engine/media/data-url.ts'
import { isClaudeFrom, type ModelFamily } from '../../engine/model-family.ts'
import { isSealed, openOpaque, vendorOf } from '../../engine/opaque-envelope.ts'
import type { Opaque } from '../../turn.ts'
import { type DraftReasoning, reasoningsIn, withoutReasonings } from '../draft-reasoning.ts'
import { counted, mapMessages, type Outcome } from '../request-changes.ts'
import { firstWarnings, type Rule, type RuleModel, type Target } from './rule.ts'

interface MessageRow {
  readonly name: string
  readonly source: string
  /** Absent: to every model. */
  readonly applies?: ((model: RuleModel) => boolean) | undefined
  /** The adapted message: the same object if nothing changes, `undefined` to drop it. */
  readonly adapt: (message: ChatMessage) => ChatMessage | undefined
  /** Below the message, e.g. `.role`. */
  readonly at: string
  readonly detail: string | ((target: Target) => string)
  readonly code: WarningCode
}

const isClaude = ({ family }: RuleModel): boolean => family.kind === 'claude'
const isNotOpenai = ({ family }: RuleModel): boolean => family.kind !== 'gpt' && family.kind !== 'o-series'

/** Replaces an empty output, which shells and editors give on success. */
const NO_OUTPUT = '(no output)'

/** Changes of single messages, independent of their neighbours. */
const rows: readonly MessageRow[] = [
  {
    name: 'content parts completed',
    source: 'parameters, images: parts as Open WebUI sends them are 400',
    adapt: (message) => mapParts(message, completePart),
    at: '.content',
    detail: 'added missing part types, removed null members',
    code: 'adapted',
  },
  {
    name: 'text files as text',
    source: 'parameters, files: Copilot takes only text and image parts',
    adapt: (message) => mapParts(message, fileAsText),
    at: '.content',
    detail: 'text file sent as text',
    code: 'adapted',
  },
  {
    name: 'unknown keys of assistant messages dropped',
    source: 'parameters, roles: keys that clients copy from replies are 400',
    adapt: dropReplyKeys,
    at: '',
    detail: 'removed keys that only replies have',
    code: 'adapted',
  },
  {
    name: 'refusals as text',
    source: 'parameters, roles: refusal is OpenAI only',
    applies: isNotOpenai,
    adapt: refusalAsText,
    at: '',
    detail: 'refusal sent as text',
    code: 'adapted',
  },
  {
    name: 'developer as system',
    source: 'parameters, roles: developer is OpenAI only',
    applies: isNotOpenai,
    adapt: (message) => (message.role === 'developer' ? { ...message, role: 'system' } : message),
    at: '.role',
    detail: 'developer message sent as system message',
    code: 'adapted',
  },
  {
    name: 'system as user',
    source: 'parameters, roles: o1 has no system role',
    applies: ({ family }) => family.kind === 'o-series' && family.generation === 1,
    adapt: (message) =>
      message.role === 'system' || message.role === 'developer' ? { ...message, role: 'user' } : message,
    at: '.role',
    detail: ({ traits }) => `${traits.id} does not support system messages; sent as user messages`,
    code: 'clamped',
  },
  {
    name: 'empty text parts dropped',
    source: 'parameters, roles: empty text blocks are 400 on Claude',
    applies: isClaude,
    adapt: (message) => mapParts(message, (part) => (isBlankText(part) ? undefined : part)),
    at: '.content',
    detail: 'empty text part dropped',
    code: 'adapted',
  },
  {
    name: 'blank text beside calls left out',
    source: 'parameters, roles: blank text is 400 on Claude, also beside calls (anomalyco/opencode#31259)',
    applies: isClaude,
    adapt: (message) =>
      message.tool_calls && message.content && isBlankContent(message.content)
        ? { ...message, content: null }
        : message,
    at: '.content',
    detail: 'blank text beside calls left out',
    code: 'adapted',
  },
  {
    name: 'image types as the bytes state them',
    source: 'parameters, images: a type that the bytes contradict is 400 on Claude',
    applies: isClaude,
    adapt: (message) => mapParts(message, withImageType),
    at: '.content',
    detail: 'image type corrected',
    code: 'adapted',
  },
  {
    name: 'empty tool results given words',
    source: 'parameters, roles: empty text blocks are 400 on Claude; that results become blocks of text is assumed',
    applies: isClaude,
    adapt: (message) =>
      message.role === 'tool' && isBlankContent(message.content) ? { ...message, content: NO_OUTPUT } : message,
    at: '.content',
    detail: `empty tool result sent as ${NO_OUTPUT}`,
    code: 'adapted',
  },
  {
    name: 'empty messages dropped',
    source: 'parameters, roles: empty assistant messages are 400 on Claude; the same is assumed of other roles',
    applies: isClaude,
    adapt: (message) => (isEmptyMessage(message) ? undefined : message),
    at: '',
    detail: 'empty message dropped',
    code: 'adapted',
  },
]

export const messageRules: readonly Rule[] = rows.map(toRule)

function toRule({ name, source, applies, adapt, at, detail, code }: MessageRow): Rule {
  return {
    name,
    source,
    applies,
    adapt: ({ body: { messages } }, target) =>
      mapMessages(messages, adapt, (first, changes) => {
        const action = typeof detail === 'string' ? detail : detail(target)
        return [{ code, field: first(at), detail: counted(action, changes) }]
      }),
  }
}

/** The message with every part mapped; the same object if no part changed. */
function mapParts(message: ChatMessage, map: (part: ChatPart) => ChatPart | undefined): ChatMessage {
  const { content } = message
  if (typeof content === 'string' || !content) return message
  const parts = content.map(map).filter((part) => part !== undefined)
  const same = parts.length === content.length && parts.every((part, at) => part === content[at])
  return same ? message : { ...message, content: parts }
}

/** Adds the missing type, and drops null payloads of other types. */
function completePart(part: ChatPart): ChatPart {
  const type = partTypeOf(part)
  const empty = PART_TYPES.filter((known) => part[known] === null)
  if (part.type === type && (empty.length === 0 || !isPartType(type))) return part
  const { type: _, ...others } = part
  return {
    type,
    ...Object.fromEntries(Object.entries(others).filter(([key, value]) => value !== null || !isPartType(key))),
  }
}

function fileAsText(part: ChatPart): ChatPart {
  const { file, ...others } = part
  const text = isObject(file) ? textOfFile(file) : undefined
  return text === undefined ? part : { ...others, type: 'text', text }
}

const NULL_KEYS: ReadonlySet<string> = new Set(['refusal', 'audio', 'function_call', 'tool_calls'])

function dropReplyKeys(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant') return message
  const dropped = Object.entries(message).filter(
    ([key, value]) =>
      key === 'annotations' ||
      (value === null && NULL_KEYS.has(key)) ||
      (key === 'tool_calls' && Array.isArray(value) && value.length === 0),
  )
  if (dropped.length === 0) return message
  return { ...message, ...Object.fromEntries(dropped.map(([key]) => [key, undefined])) }
}

/** Converts a refusal to text. It is dropped beside other content, which clients display already. */
function refusalAsText(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant') return message
  const converted = mapParts(message, (part) =>
    partTypeOf(part) === 'refusal' ? { type: 'text', text: String(part['refusal']) } : part,
  )
  const { refusal, ...others } = converted
  if (typeof refusal !== 'string') return converted
  return isBlankContent(others.content) && refusal !== '' ? { ...others, content: refusal } : others
}

function withImageType(part: ChatPart): ChatPart {
  const { image_url: image } = part
  const url = isObject(image) ? image['url'] : undefined
  const embedded = typeof url === 'string' ? parseDataUrl(url) : undefined
  const mediaType = embedded && imageTypeOf(embedded.data)
  if (embedded === undefined || mediaType === undefined || mediaType === embedded.mediaType) return part
  return { ...part, image_url: { ...(isObject(image) && image), url: `data:${mediaType};base64,${embedded.data}` } }
}

function isBlankText(part: ChatPart): boolean {
  return part.type === 'text' && typeof part['text'] === 'string' && part['text'].trim() === ''
}

/**
 * Changes that depend on the order of messages. Run after `messageRules`, which may drop messages; therefore their
 * warnings name no position.
 */
export const turnRules: readonly Rule[] = [
  {
    name: 'assistant messages in a row merged',
    source: 'parameters, roles: consecutive assistant messages are 400 on Claude',
    applies: ({ family }) => family.kind === 'claude',
    adapt: ({ body: { messages } }) => mergeAssistant(messages),
  },
  {
    name: 'no white space at the end of a begun answer',
    source: 'parameters, roles: Claude up to 4.5 refuses it (caozhiyuan/copilot-api#216)',
    applies: ({ family }) => family.kind === 'claude' && !isClaudeFrom(family, 4, 6),
    adapt: ({ body: { messages } }) => {
      const last = messages.at(-1)
      if (last?.role !== 'assistant' || last.tool_calls) return undefined
      const trimmed = withoutEndSpace(last)
      if (trimmed === last) return undefined
      const field = fieldOf(last, 'messages', messages.length - 1)
      return {
        patch: { messages: [...messages.slice(0, -1), trimmed] },
        warnings: [{ code: 'dropped', field, detail: 'white space at the end' }],
      }
    },
  },
  {
    name: 'user turn after a final assistant message',
    source: 'parameters, roles: Claude from 4.6 on refuses prefill',
    applies: ({ family }) => isClaudeFrom(family, 4, 6),
    adapt: ({ body: { messages } }, { traits }) => {
      const last = messages.at(-1)
      // A user turn would not repair a call without its result or a message without content.
      if (last?.role !== 'assistant' || last.tool_calls || isEmptyMessage(last)) return undefined
      const detail = `${traits.id} cannot continue an assistant message; added the user message "Continue."`
      return {
        patch: { messages: [...messages, { role: 'user', content: 'Continue.' }] },
        warnings: [{ code: 'clamped', field: 'messages', detail }],
      }
    },
  },
]

function withoutEndSpace(message: ChatMessage): ChatMessage {
  const { content } = message
  if (typeof content === 'string') {
    const text = content.trimEnd()
    return text === content ? message : { ...message, content: text }
  }
  const last = content?.at(-1)
  if (!content || last?.type !== 'text' || typeof last['text'] !== 'string') return message
  const text = last['text'].trimEnd()
  return text === last['text'] ? message : { ...message, content: [...content.slice(0, -1), { ...last, text }] }
}

function mergeAssistant(messages: readonly ChatMessage[]): Outcome | undefined {
  const runs: ChatMessage[][] = []
  for (const message of messages) {
    const run = runs.at(-1)
    if (message.role === 'assistant' && run?.[0]?.role === 'assistant') run.push(message)
    else runs.push([message])
  }
  const merged = messages.length - runs.length
  if (merged === 0) return undefined
  const detail = counted('assistant messages in a row merged', merged)
  return {
    patch: { messages: runs.flatMap((run) => (run.length === 1 ? run : mergeRun(run))) },
    warnings: [{ code: 'adapted', field: 'messages', detail }],
  }
}

/** Upstream accepts one pair of text and opaque value in each message (docs/copilot-wire.md, quirk 12). */
const REASONING_KEYS = ['reasoning_text', 'reasoning_content', 'reasoning_opaque'] as const

/**
 * Merges a run in one pass, because merging pairs would copy a long run again and again. The last value of any other
 * key counts.
 */
function mergeRun(run: readonly ChatMessage[]): ChatMessage {
  const others: Record<string, unknown> = {}
  for (const { reasoning_text: _text, reasoning_content: _content, reasoning_opaque: _opaque, ...kept } of run) {
    Object.assign(others, kept)
  }
  const calls = run.flatMap((message) => message.tool_calls ?? [])
  // Reasoning belongs to the message that made the calls.
  const caller = run.findLast((message) => message.tool_calls)
  const reasoner = caller && hasReasoning(caller) ? caller : run.findLast(hasReasoning)
  return {
    ...others,
    role: 'assistant',
    content: mergeContents(
      run.map((message) => message.content),
      calls.length > 0,
    ),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...Object.fromEntries(REASONING_KEYS.flatMap((key) => (reasoner?.[key] ? [[key, reasoner[key]]] : []))),
  }
}

function hasReasoning(message: ChatMessage): boolean {
  return REASONING_KEYS.some((key) => message[key])
}

type Content = ChatMessage['content']

function mergeContents(contents: readonly Content[], hasCalls: boolean): Content {
  const filled = contents.filter((content) => !isBlankContent(content))
  if (filled.length === 0) return hasCalls ? null : (contents.at(-1) ?? null)
  const texts = filled.filter((content) => typeof content === 'string')
  return texts.length === filled.length ? texts.join('\n\n') : filled.flatMap(toParts)
}

function toParts(content: Content): readonly ChatPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
}

/**
 * Opens the reasoning of this upstream. Drops reasoning of another model or upstream, because it would make every later
 * request of the session fail.
 */
export const sealedReasoningRule: Rule = {
  name: 'sealed reasoning opened or dropped',
  source: 'parameters, reasoning of others: opaque values of another vendor are refused',
  adapt: ({ body: { messages } }, { family }) => {
    const warnings: Warning[] = []
    const open = (message: ChatMessage, at: number): ChatMessage => {
      const reasonings = reasoningsIn(message)
      if (reasonings.length > 0) return { ...withoutReasonings(message), ...onePair(reasonings, family, warnings) }
      const sealed = message['reasoning_opaque']
      if (message.role !== 'assistant' || typeof sealed !== 'string' || !isSealed(sealed)) return message
      const opaque = openOpaque(sealed)
      if (opaque !== undefined && fitsChat(opaque, family)) return { ...message, reasoning_opaque: opaque.value }
      const field = fieldOf(message, 'messages', at)
      warnings.push({ code: 'thinking_dropped', field, detail: ofAnotherModel })
      const { reasoning_text: _text, reasoning_content: _content, reasoning_opaque: _opaque, ...others } = message
      return others
    }
    return mapMessages(messages, open, () => firstWarnings(warnings))
  },
}

const ofAnotherModel = 'reasoning of another model dropped'

/**
 * The one pair that a message can have: the last pair before a call, because the model needs the reasoning of its calls back
 * (docs/copilot-wire.md, quirk 12). A value without text gets the text without a value back.
 */
function onePair(
  reasonings: readonly DraftReasoning[],
  family: ModelFamily,
  warnings: Warning[],
): Partial<ChatMessage> {
  const fits = ({ opaque }: DraftReasoning): boolean => opaque !== undefined && fitsChat(opaque, family)
  const chosen = reasonings.findLast((each) => each.isBeforeCall && fits(each)) ?? reasonings.findLast(fits)
  for (const each of reasonings) {
    if (each.opaque === undefined || each === chosen) continue
    const detail = fits(each) ? 'the provider accepts only one reasoning block per message' : ofAnotherModel
    warnings.push({ code: 'thinking_dropped', field: each.path, detail })
  }
  if (chosen?.opaque === undefined) return {}
  const unsigned = reasonings.flatMap(({ opaque, text }) => (opaque === undefined ? [text] : []))
  const text = chosen.text === '' ? unsigned.join('') : chosen.text
  return { ...(text !== '' && { reasoning_text: text }), reasoning_opaque: chosen.opaque.value }
}

/**
 * Whether a chat upstream made the value, for a model of this vendor. An unsealed value does not state its vendor; it
 * is enough that a chat upstream made it.
 */
function fitsChat({ form, vendor }: Opaque, family: ModelFamily): boolean {
  return form === 'reasoning_opaque' && (vendor === 'unknown' || vendor === vendorOf(family))
}
