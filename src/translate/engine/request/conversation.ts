import type { CallerHeaders, Prompts } from '../../dialect.ts'
import { isFilled, isObject } from '../../../json/json.ts'

/** Enough to recognise a prompt, and cheap to read on every request. Characters. */
const maxPromptLength = 4000

/**
 * Begins the notes that Claude Code adds as user messages
 * (test/fixtures/messages-requests/claude-code-tools.json).
 */
export const reminderMark = '<system-reminder>'

/** Reads only two messages, however long the conversation is. */
export function promptsOf<Message extends { readonly content?: unknown }>(
  messages: readonly Message[],
  isPrompt: (message: Message) => boolean,
): Prompts {
  const lastAt = messages.findLastIndex(isPrompt)
  if (lastAt === -1) return { first: '', last: '', lastAt }
  const last = promptOf(messages[lastAt]?.content)
  const firstAt = messages.findIndex(isPrompt)
  return { first: firstAt === lastAt ? last : promptOf(messages[firstAt]?.content), last, lastAt }
}

function promptOf(content: unknown): string {
  if (typeof content === 'string') return content.slice(0, maxPromptLength)
  if (!Array.isArray(content)) return ''
  let prompt = ''
  for (const part of content) {
    const text: unknown = isObject(part) ? part['text'] : undefined
    if (typeof text !== 'string' || text.trimStart().startsWith(reminderMark)) continue
    prompt += prompt === '' ? text.slice(0, maxPromptLength) : `\n${text.slice(0, maxPromptLength)}`
    if (prompt.length >= maxPromptLength) break
  }
  return prompt.slice(0, maxPromptLength)
}

/**
 * Headers in which clients of all dialects name a conversation. Sources: Codex CLI, the current name first
 * (openai/codex, codex-rs/core/src/client.rs); Claude Code 2.1.329; opencode 1.18.33, as recorded on the wire.
 */
const sessionHeaders = [
  'session-id',
  'session_id',
  'thread-id',
  'conversation_id',
  'x-claude-code-session-id',
  'x-session-id',
  'x-session-affinity',
]

/** Longer values are ignored as mistakes. Characters. */
const maxNameLength = 512

/** The caller's name for its conversation: from the first such header, else the first valid name in `fromBody`. */
export function nameSession(headers: CallerHeaders, ...fromBody: readonly unknown[]): string | undefined {
  for (const name of sessionHeaders) {
    const value = headers[name]
    if (value !== undefined && isSessionName(value)) return value
  }
  return fromBody.find(isSessionName)
}

function isSessionName(value: unknown): value is string {
  return isFilled(value) && value.length <= maxNameLength
}
