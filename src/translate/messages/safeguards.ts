import { cutText } from '../../json/cut-text.ts'
import { isFilled, isObject, objectsOf, parseObject, stringify, type JsonObject } from '../../json/json.ts'
import { encodeJsonEvent } from '../../sse/encode.ts'
import type { CallerRequest } from '../dialect.ts'
import { reminderMark } from '../engine/request/conversation.ts'
import { refuseType, refuseValue } from '../engine/request/invalid.ts'
import { classifierContext } from '../safeguards/call-check.ts'
import type { AnswerCall, CallCheck, CheckedStream, ClassifierContext, Verdicts } from '../safeguards/call-check.ts'
import { quoted } from '../safeguards/check-request.ts'
import type { Warning } from '../warning.ts'
import { contentBlocks } from './content.ts'
import { isBlock, messagesBodyOf } from './wire.ts'
import type { MessagesBlock, MessagesMessage } from './wire.ts'

// `safeguards` of a request, and `safeguard_results` of its answer.
// Source: Claude Code 2.1.329 in auto mode, as recorded on the wire, and the contract that its gateway serves at /protocol.

const member = 'safeguards'

/** The only safeguard known: a verdict on each tool call. */
const dangerousToolUse = 'dangerous_tool_use'

/**
 * The check that a request asks for; undefined if it asks for none. Claude Code repeats a request that is refused by this name,
 * without the member, and checks the calls of the session itself from then on.
 * @throws Fault `invalid_request` for safeguards that are not known
 */
export function callCheckOf(request: CallerRequest, isSubagent: boolean): CallCheck | undefined {
  const { value } = messagesBodyOf(request)
  const safeguards = value[member]
  if (safeguards === undefined || safeguards === null) return undefined
  if (!Array.isArray(safeguards)) refuseType(member, 'an array', safeguards)
  const asked = objectsOf(safeguards)
  if (asked.length === 0) return undefined
  const at = asked.findIndex(({ type }) => type === dangerousToolUse)
  if (at === -1) refuseValue(member, `copilot-proxy supports the type ${dangerousToolUse} only`, 'unsupported_value')
  return {
    subject: {
      context: contextOf(asked[at], `${member}[${at}].classifier_context`),
      conversation: describeConversation(value.messages, isSubagent),
    },
    warnings: asked.flatMap(({ type }, each): Warning[] =>
      each === at ? [] : [{ code: 'dropped', field: `${member}.${each}`, detail: unsupported(type) }],
    ),
    createStream: createCheckedStream,
    callsIn: (body) => (isObject(body) ? objectsOf(body['content']).flatMap(callOf) : []),
    addVerdicts: (body, verdicts) => (isObject(body) ? { ...body, safeguard_results: resultsOf(verdicts) } : body),
  }
}

function unsupported(type: unknown): string {
  return type === dangerousToolUse ? 'this safeguard is stated twice' : 'copilot-proxy does not support this safeguard'
}

function contextOf(safeguard: JsonObject | undefined, path: string): ClassifierContext {
  const read = classifierContext.safeParse(safeguard?.['classifier_context'])
  if (read.success) return read.data
  const [issue] = read.error.issues
  const detail = `expected ${issue?.message ?? 'another form'}; only version 1 is supported`
  refuseValue([path, ...(issue?.path ?? []).map(String)].join('.'), detail, 'unsupported_value')
}

/**
 * Who an entry of the conversation is from. `client`: the caller's own notes to the model. `parent_agent`: the agent that
 * started this one.
 */
type Speaker = 'user' | 'parent_agent' | 'client' | 'agent' | 'tool'

interface Entry {
  readonly from: Speaker
  readonly line: string
}

/**
 * Characters of one entry, JSON syntax excluded. The user's words count most. Texts of tools are written by anybody, and are
 * short because they say nothing about what the user wants.
 */
const longestEntry: Readonly<Record<Speaker, number>> = {
  user: 8000,
  parent_agent: 8000,
  client: 2000,
  agent: 2000,
  tool: 1000,
}

/** Characters of all entries of the user, and of all others. 40,000 characters are about 10,000 tokens. */
const longestShare = 20_000

/** The newest entries, the user's own apart from the others, so that no amount of tool results hides what the user wants. */
function describeConversation(messages: readonly MessagesMessage[], isSubagent: boolean): readonly string[] {
  const prompter = isSubagent ? 'parent_agent' : 'user'
  const entries = messages.flatMap((message) => entriesOf(message, prompter))
  const room = { user: longestShare, others: longestShare }
  const kept: string[] = []
  for (const { from, line } of entries.toReversed()) {
    const share = from === prompter ? 'user' : 'others'
    if (room[share] < line.length) {
      room[share] = 0
      continue
    }
    room[share] -= line.length
    kept.push(line)
  }
  const omitted = entries.length - kept.length
  return [...(omitted === 0 ? [] : [quoted({ omitted_entries: omitted })]), ...kept.toReversed()]
}

function entriesOf({ role, content }: MessagesMessage, prompter: Speaker): readonly Entry[] {
  return contentBlocks(content).flatMap((block): readonly Entry[] => {
    if (isBlock(block, 'text'))
      return [entryOf(role === 'assistant' ? 'agent' : speakerOf(role, block.text, prompter), block.text)]
    if (isBlock(block, 'tool_use')) {
      const { name, input } = block
      return [entryOf('agent', JSON.stringify(input ?? {}), { tool: name })]
    }
    return isBlock(block, 'tool_result') ? [entryOf('tool', textOf(block.content))] : []
  })
}

function speakerOf(role: MessagesMessage['role'], text: string, prompter: Speaker): Speaker {
  return role === 'user' && !text.trimStart().startsWith(reminderMark) ? prompter : 'client'
}

function entryOf(from: Speaker, text: string, more: JsonObject = {}): Entry {
  const content = cutText(text, longestEntry[from])
  return { from, line: quoted({ from, ...more, ['tool' in more ? 'arguments' : 'text']: content }) }
}

function textOf(content: string | readonly MessagesBlock[] | null | undefined): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((block) => (isBlock(block, 'text') ? block.text : `[${block.type}]`)).join('\n')
}

function callOf({ type, id, name, input }: JsonObject): readonly AnswerCall[] {
  if (type !== 'tool_use' || typeof id !== 'string' || typeof name !== 'string') return []
  return [{ id, name, input: isObject(input) ? input : undefined }]
}

function resultsOf(verdicts: Verdicts): readonly JsonObject[] {
  const status = { type: 'available', tool_uses: Object.fromEntries(verdicts) }
  return [{ type: dangerousToolUse, status }]
}

/** An open call of a stream. */
interface StreamedCall {
  readonly block: JsonObject
  json: string
}

/** Events that tell about calls. Text and thinking pass unread. */
const readEvents = /^event: (?:content_block_start|message_delta|message_stop)$|"input_json_delta"/m

/** The data of one event. Only LF ends a line: U+2028 may stand in JSON. */
function dataOf(text: string): string {
  const lines = text.split('\n').filter((line) => line.startsWith(dataField))
  return lines.map((line) => line.slice(dataField.length)).join('\n')
}

const dataField = 'data: '

/** Holds the end of the answer back, from its first `message_delta` on. */
function createCheckedStream(): CheckedStream {
  /** By the index of the block. */
  const calls = new Map<unknown, StreamedCall>()
  const held: { readonly name: string; readonly event: JsonObject | undefined; readonly text: string }[] = []

  function take(text: string): string {
    if (held.length === 0 && !readEvents.test(text)) return text
    const event = parseObject(dataOf(text))
    const type = event?.['type']
    if (held.length > 0 || type === 'message_delta' || type === 'message_stop') {
      held.push({ name: String(type), event, text })
      return ''
    }
    const { index, content_block: block, delta } = event ?? {}
    if (type === 'content_block_start' && isObject(block) && block['type'] === 'tool_use') {
      calls.set(index, { block, json: '' })
    }
    const call = calls.get(index)
    const piece = isObject(delta) ? delta['partial_json'] : undefined
    if (call !== undefined && type === 'content_block_delta' && isFilled(piece)) call.json += piece
    return text
  }

  return {
    // The writers of answers write whole events.
    push: (text) =>
      text === ''
        ? ''
        : text
            .split(/(?<=\n\n)/)
            .map(take)
            .join(''),
    calls: () =>
      [...calls.values()].flatMap(({ block, json }) =>
        callOf({ ...block, input: json === '' ? (block['input'] ?? {}) : parseObject(json) }),
      ),
    end(verdicts) {
      const last = held.findLastIndex(({ name }) => name === 'message_delta')
      return held
        .map(({ name, event, text }, at) => {
          if (at !== last || event === undefined) return text
          const delta = isObject(event['delta']) ? event['delta'] : {}
          return encodeJsonEvent(
            name,
            stringify({ ...event, delta: { ...delta, safeguard_results: resultsOf(verdicts) } }),
          )
        })
        .join('')
    },
  }
}
