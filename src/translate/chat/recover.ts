import type { EncodedRequest, Recovery, UpstreamRefusal } from '../dialect.ts'
import { recoverFromSize } from '../images.ts'
import { scanMembers, spliceMembers, type JsonObjectBytes } from '../parts/json-members.ts'
import type { JsonObject } from '../parts/is-object.ts'
import { isObject, parseObject } from '../parts/wire-json.ts'
import type { Warning } from '../warning.ts'
import { fieldLesson, NO_CACHE_MARKS, RENAMES_CAP } from './lessons.ts'
import { tellUnsignedCalls } from './unsigned-calls.ts'

/** What makes a request this request: upstream's refusal of these is the answer. */
const indispensable = new Set(['model', 'messages', 'stream', 'tools', 'response_format'])

/**
 * How backends name what they refuse: a parameter, a path to one, or only its value (docs/copilot-wire.md, "Parameters
 * by model").
 */
const namings: readonly RegExp[] = [
  /(?:unsupported|unknown|unrecognized) (?:parameter|value|field)s?:? ?['"`]([\w.[\]-]+)['"`]/i,
  /invalid parameter:? ?['"`]([\w.[\]-]+)['"`]/i,
  /unrecognized request arguments? supplied: ([\w.[\]-]+)/i,
  /(?:^|[\s:])([\w.[\]-]+): extra inputs are not permitted/i,
]

/** Codes that say of `param` what the sentences above say. */
const namingCodes = new Set(['unsupported_parameter', 'unknown_parameter', 'unsupported_value'])

/**
 * What a chat caller hands back unsealed does not say which model made it, so that reasoning reaches a model that cannot
 * read it once a session has moved. Gemini's words (badrisnarayanan/antigravity-claude-proxy#18), then Claude's.
 */
const UNREADABLE_REASONING =
  /(?:corrupted|invalid) thought[ _]signature|thought[ _]signature is (?:not valid|invalid)|invalid `?signature`? in `?thinking`?/i

/** `Function call is missing a thought_signature in functionCall parts.`; Vertex puts the name in backticks. */
const UNSIGNED_CALL = /missing an? `?thought_signature/i

/** The request without what upstream refused of it, or undefined when the refusal is the answer. */
export function recoverChat(sent: EncodedRequest, refusal: UpstreamRefusal): Recovery | undefined {
  if (refusal.status === 413) return recoverFromSize(sent, { member: 'messages', textType: 'text' })
  if (refusal.status !== 400) return undefined
  if (UNREADABLE_REASONING.test(refusal.message)) return withoutReasoning(sent)
  if (UNSIGNED_CALL.test(refusal.message)) return withCallsInWords(sent)
  const names = refusedNames(refusal)
  if (names.length === 0) return undefined
  const body = parseSent(sent.body)
  if (body === undefined) return undefined
  if (names.some((name) => name.includes('copilot_cache_control'))) return withoutCacheMarks(sent, body)
  const member = names.map(firstMember).find((name) => Object.hasOwn(body.value, name))
  if (member === undefined || indispensable.has(member)) return undefined
  if (member === 'max_tokens' && refusal.message.includes('max_completion_tokens')) {
    const edits = new Map([
      ['max_tokens', undefined],
      ['max_completion_tokens', body.value['max_tokens']],
    ])
    return recovery(sent, spliceMembers(body, edits), RENAMES_CAP)
  }
  return recovery(sent, spliceMembers(body, new Map([[member, undefined]])), fieldLesson(member), {
    code: 'refused_upstream',
    field: member,
    detail: 'refused by upstream, sent again without',
  })
}

/** All of it: the refusal does not name the message. */
function withoutReasoning(sent: EncodedRequest): Recovery | undefined {
  const detail = 'upstream could not read the reasoning of earlier turns'
  return withMessages(sent, { code: 'thinking_dropped', field: 'reasoning_opaque', detail }, (messages) => {
    if (!messages.some(holdsReasoning)) return undefined
    return messages.map((message) => {
      if (!holdsReasoning(message)) return message
      const { reasoning_opaque: _opaque, reasoning_text: _text, reasoning_content: _content, ...rest } = message
      return rest
    })
  })
}

function holdsReasoning(message: unknown): message is JsonObject {
  return isObject(message) && Object.hasOwn(message, 'reasoning_opaque')
}

function withCallsInWords(sent: EncodedRequest): Recovery | undefined {
  const detail = 'upstream takes only calls that the model made itself; those of others are told in words'
  return withMessages(sent, { code: 'adapted', field: 'tool_calls', detail }, tellUnsignedCalls)
}

/** About this conversation alone, so that nothing is learned of the model. */
function withMessages(
  sent: EncodedRequest,
  warning: Warning,
  edit: (messages: readonly unknown[]) => readonly unknown[] | undefined,
): Recovery | undefined {
  const body = parseSent(sent.body)
  const messages = body?.value['messages']
  const edited = Array.isArray(messages) ? edit(messages) : undefined
  if (body === undefined || edited === undefined) return undefined
  return recovery(sent, spliceMembers(body, new Map([['messages', edited]])), undefined, warning)
}

function refusedNames({ message, code, param }: UpstreamRefusal): string[] {
  const names = namings.map((naming) => naming.exec(message)?.[1])
  if (code === 'invalid_reasoning_effort') names.push('reasoning_effort')
  if (code !== undefined && namingCodes.has(code)) names.push(param)
  return names.filter((name) => name !== undefined)
}

/** `thinking` of `thinking.display`, `messages` of `messages[0].name`. */
function firstMember(path: string): string {
  return /^[^.[]+/.exec(path)?.[0] ?? ''
}

/** The body as it was sent; undefined where it is not what this dialect sends. */
function parseSent(bytes: Buffer): JsonObjectBytes | undefined {
  const value = parseObject(bytes.toString('utf8'))
  // Its limits were checked when it came in.
  const scan = scanMembers(bytes.toString('latin1'), { maxDepth: Infinity, maxMembers: Infinity, maxValues: Infinity })
  return value !== undefined && scan.ok ? { bytes, value, members: scan.members } : undefined
}

function withoutCacheMarks(sent: EncodedRequest, body: JsonObjectBytes): Recovery | undefined {
  const edits = new Map<string, unknown>()
  for (const member of ['messages', 'tools']) {
    const list = body.value[member]
    if (Array.isArray(list) && list.some(isMarked)) edits.set(member, list.map(unmarked))
  }
  return edits.size === 0 ? undefined : recovery(sent, spliceMembers(body, edits), NO_CACHE_MARKS)
}

function isMarked(value: unknown): boolean {
  return isObject(value) && Object.hasOwn(value, 'copilot_cache_control')
}

function unmarked(value: unknown): unknown {
  if (!isObject(value)) return value
  const { copilot_cache_control: _mark, ...rest } = value
  return rest
}

function recovery(
  sent: EncodedRequest,
  body: Buffer,
  lesson: string | undefined,
  ...warnings: readonly Warning[]
): Recovery {
  return { request: { ...sent, body, warnings: [...sent.warnings, ...warnings] }, lesson }
}
