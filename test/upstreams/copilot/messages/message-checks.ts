import { anthropicFailure, invalidBody } from '../failures.ts'
import type { InferenceSubject } from '../../inference.ts'
import type { Outcome } from '../../http/outcome.ts'
import { endsInPause } from './pause.ts'
import { blocksOf } from './request.ts'
import type { Block, MessagesRequest } from './request.ts'
import { extraInput } from './refusals.ts'

type Subject = InferenceSubject<MessagesRequest>

/** The first version of Claude that accepts system messages inside a conversation. */
const SYSTEM_FROM = 4.8
/** The first version of Claude that refuses a prefill. */
const NO_PREFILL_FROM = 4.6

export function checkRoles({ request: { messages }, model }: Subject): Outcome | undefined {
  if (messages.length === 0) return invalidBody('messages: at least one message is required')
  for (const [at, message] of messages.entries()) {
    const { role } = message
    if (role === 'system') {
      if (model.version < SYSTEM_FROM) return invalidBody(`messages.${at}: Unexpected role "system".`)
      if (at === 0) return invalidBody(`messages.${at}: role "system" must follow a user message`)
    } else if (role !== 'user' && role !== 'assistant') {
      return invalidBody(`messages.${at}.role: Input should be 'user' or 'assistant'`)
    }
    const extra = Object.keys(message).find((key) => key !== 'role' && key !== 'content')
    if (extra !== undefined) return extraInput(`messages.${at}.${extra}`)
  }
  return messages[0]?.role === 'user' ? undefined : invalidBody('messages: first message must use the "user" role')
}

export function checkTexts({ request: { system = [], messages } }: Subject): Outcome | undefined {
  const blocks = [...(typeof system === 'string' ? [] : system), ...messages.flatMap(blocksOf)]
  for (const [at, { content }] of messages.entries()) {
    if (content.length === 0) return invalidBody(`messages.${at}: all messages must have non-empty content`)
  }
  return blocks.some(({ type, text }) => type === 'text' && (text ?? '').trim() === '')
    ? invalidBody('messages: text content blocks must be non-empty')
    : undefined
}

/** Consecutive messages of one role, which count as one. The first of them gives the path. */
interface Round {
  readonly at: number
  readonly role: string
  readonly blocks: Block[]
}

function roundsOf({ messages }: MessagesRequest): readonly Round[] {
  const rounds: Round[] = []
  for (const [at, message] of messages.entries()) {
    const last = rounds.at(-1)
    if (last?.role === message.role) last.blocks.push(...blocksOf(message))
    else rounds.push({ at, role: message.role, blocks: [...blocksOf(message)] })
  }
  return rounds
}

/** Each call needs its result in the next message, and results come first in a message. */
export function checkPairs({ request }: Subject): Outcome | undefined {
  const seen = new Set<string>()
  let open = new Set<string>()
  for (const round of roundsOf(request)) {
    const results = round.role === 'user' ? leadingResults(round) : []
    const left = [...open].filter((id) => !results.includes(id))
    if (left.length > 0) return unanswered(round.at - 1, left)
    const orphan = round.blocks.find(({ type, tool_use_id: id = '' }) => type === 'tool_result' && !open.delete(id))
    if (orphan !== undefined) return unexpected(round.at, orphan)
    open = new Set(round.role === 'assistant' ? callsIn(round) : [])
    for (const id of callsIn(round)) {
      if (seen.has(id)) return backendRefusal(`messages.${round.at}: tool_use ids must be unique`)
      seen.add(id)
    }
  }
  return open.size === 0 ? undefined : unanswered(request.messages.length - 1, [...open])
}

function unanswered(at: number, ids: readonly string[]): Outcome {
  return backendRefusal(
    `messages.${at}: tool_use ids were found without tool_result blocks immediately after: ${ids.join(', ')}. Each tool_use block must have a corresponding tool_result block in the next message.`,
  )
}

function unexpected(at: number, { tool_use_id: id = '' }: Block): Outcome {
  return backendRefusal(
    `messages.${at}: unexpected tool_use_id found in tool_result blocks: ${id}. Each tool_result block must have a corresponding tool_use block in the previous message.`,
  )
}

function callsIn({ blocks }: Round): readonly string[] {
  return blocks.flatMap(({ type, id }) => (type === 'tool_use' && id !== undefined ? [id] : []))
}

/** The results at the beginning of the message. */
function leadingResults({ blocks }: Round): readonly string[] {
  const end = blocks.findIndex(({ type }) => type !== 'tool_result')
  return blocks.slice(0, end < 0 ? blocks.length : end).flatMap(({ tool_use_id: id }) => id ?? [])
}

export function checkLastMessage(subject: Subject): Outcome | undefined {
  const { request, model } = subject
  const isPrefill = request.messages.at(-1)?.role === 'assistant' && !endsInPause(subject)
  return isPrefill && model.version >= NO_PREFILL_FROM
    ? backendRefusal(
        'This model does not support assistant message prefill. The conversation must end with a user message.',
      )
    : undefined
}

function backendRefusal(message: string): Outcome {
  return anthropicFailure(400, 'invalid_request_error', message)
}
