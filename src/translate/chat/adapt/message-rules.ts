import { isBlankContent, isEmptyMessage, isPartType, PART_TYPES, partTypeOf } from '../content-parts.ts'
import type { WarningCode } from '../../warning.ts'
import type { ChatMessage, ChatPart } from '../wire-request.ts'
import { always, counted, type Rule, type Target } from './rule.ts'

interface MessageRow {
  readonly name: string
  readonly source: string
  readonly applies: (target: Target) => boolean
  /** The message as it should be: itself where nothing is to do, `undefined` to leave it out. */
  readonly adapt: (message: ChatMessage) => ChatMessage | undefined
  /** Below the message, e.g. `.role`. */
  readonly at: string
  /** Absent where only the spelling changes. */
  readonly reason?: (target: Target) => string
  readonly action: string
  readonly code: WarningCode
}

const isClaude = ({ family }: Target): boolean => family.kind === 'claude'
const isNotOpenai = ({ family }: Target): boolean => family.kind !== 'gpt' && family.kind !== 'o-series'

/** What a tool said that said nothing, as shells and editors do when all went well. */
const NO_OUTPUT = '(no output)'

/** What single messages need, whatever stands around them. */
const rows: readonly MessageRow[] = [
  {
    name: 'content parts completed',
    source: 'parameters, images: parts as Open WebUI sends them are 400',
    applies: always,
    adapt: (message) => mapParts(message, completePart),
    at: '.content',
    action: 'parts given a type, null members left out',
    code: 'adapted',
  },
  {
    name: 'unknown keys of assistant messages dropped',
    source: 'parameters, roles: keys that clients copy from replies are 400',
    applies: always,
    adapt: dropReplyKeys,
    at: '',
    reason: () => 'keys that only replies have',
    action: 'dropped',
    code: 'adapted',
  },
  {
    name: 'refusals as text',
    source: 'parameters, roles: refusal is OpenAI only',
    applies: isNotOpenai,
    adapt: tellRefusal,
    at: '',
    action: 'words of refusal sent as text',
    code: 'adapted',
  },
  {
    name: 'developer as system',
    source: 'parameters, roles: developer is OpenAI only',
    applies: isNotOpenai,
    adapt: (message) => (message.role === 'developer' ? { ...message, role: 'system' } : message),
    at: '.role',
    action: 'developer sent as system',
    code: 'adapted',
  },
  {
    name: 'system as user',
    source: 'parameters, roles: o1 has no system role',
    applies: ({ family }) => family.kind === 'o-series' && family.generation === 1,
    adapt: (message) =>
      message.role === 'system' || message.role === 'developer' ? { ...message, role: 'user' } : message,
    at: '.role',
    reason: ({ traits }) => `system text is not supported by ${traits.id}`,
    action: 'sent as user',
    code: 'clamped',
  },
  {
    name: 'empty text parts dropped',
    source: 'parameters, roles: empty text blocks are 400 on Claude',
    applies: isClaude,
    adapt: (message) => mapParts(message, (part) => (isBlankText(part) ? undefined : part)),
    at: '.content',
    reason: () => 'empty text part',
    action: 'dropped',
    code: 'adapted',
  },
  {
    name: 'empty tool results given words',
    source: 'parameters, roles: empty text blocks are 400 on Claude; that results become blocks of text is assumed',
    applies: isClaude,
    adapt: (message) =>
      message.role === 'tool' && isBlankContent(message.content) ? { ...message, content: NO_OUTPUT } : message,
    at: '.content',
    reason: () => 'empty tool result',
    action: `sent as ${NO_OUTPUT}`,
    code: 'adapted',
  },
  {
    name: 'empty messages dropped',
    source: 'parameters, roles: empty assistant messages are 400 on Claude; the same is assumed of other roles',
    applies: isClaude,
    adapt: (message) => (isEmptyMessage(message) ? undefined : message),
    at: '',
    reason: () => 'empty message',
    action: 'dropped',
    code: 'adapted',
  },
]

export const messageRules: readonly Rule[] = rows.map(toRule)

function toRule(row: MessageRow): Rule {
  return {
    name: row.name,
    source: row.source,
    applies: row.applies,
    adapt: ({ messages }, target) => {
      const adapted: ChatMessage[] = []
      let first = -1
      let changes = 0
      messages.forEach((message, at) => {
        const result = row.adapt(message)
        if (result !== undefined) adapted.push(result)
        if (result === message) return
        if (first === -1) first = at
        changes += 1
      })
      // Without a message upstream's own refusal is the clearer one.
      if (changes === 0 || adapted.length === 0) return undefined
      const note = {
        code: row.code,
        field: `messages.${first}${row.at}`,
        ...(row.reason && { reason: row.reason(target) }),
        action: counted(row.action, changes),
      }
      return { patch: { messages: adapted }, notes: [note] }
    },
  }
}

/** The message with every part mapped; the very message where no part changed. */
function mapParts(message: ChatMessage, map: (part: ChatPart) => ChatPart | undefined): ChatMessage {
  const { content } = message
  if (typeof content === 'string' || !content) return message
  const parts = content.map(map).filter((part) => part !== undefined)
  const same = parts.length === content.length && parts.every((part, at) => part === content[at])
  return same ? message : { ...message, content: parts }
}

/** States the type a part shows, and leaves out the payloads of other types where they are null. */
function completePart(part: ChatPart): ChatPart {
  const type = partTypeOf(part)
  const empty = PART_TYPES.filter((known) => part[known] === null)
  if (part.type === type && (empty.length === 0 || !isPartType(type))) return part
  const { type: _, ...rest } = part
  return {
    type,
    ...Object.fromEntries(Object.entries(rest).filter(([key, value]) => value !== null || !isPartType(key))),
  }
}

function dropReplyKeys(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant') return message
  const dropped = Object.keys(message).filter((key) => isReplyKey(key, message[key]))
  if (dropped.length === 0) return message
  return { ...message, ...Object.fromEntries(dropped.map((key) => [key, undefined])) }
}

/** What the assistant said, wherever it stands: as text. Beside other content it repeats what a client shows anyway. */
function tellRefusal(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant') return message
  const told = mapParts(message, (part) =>
    partTypeOf(part) === 'refusal' ? { type: 'text', text: String(part['refusal']) } : part,
  )
  const { refusal, ...rest } = told
  if (typeof refusal !== 'string') return told
  return isBlankContent(rest.content) && refusal !== '' ? { ...rest, content: refusal } : rest
}

function isReplyKey(key: string, value: unknown): boolean {
  switch (key) {
    case 'annotations':
      return true
    case 'refusal':
    case 'audio':
    case 'function_call':
      return value === null
    case 'tool_calls':
      return value === null || (Array.isArray(value) && value.length === 0)
    default:
      return false
  }
}

function isBlankText(part: ChatPart): boolean {
  return part.type === 'text' && typeof part['text'] === 'string' && part['text'].trim() === ''
}
