import { isObject } from './is-object.ts'

/** What the user has said, as far as it tells conversations and turns apart. */
export interface Prompts {
  /** The beginning of the first prompt; '' where there is none. */
  readonly first: string
  /** The beginning of the last prompt. */
  readonly last: string
  /** The place of the last prompt among the messages, which stays while a tool loop goes on; -1 where there is none. */
  readonly lastAt: number
}

/** Enough to know a prompt by, little enough to read on every request. Characters. */
const longestPrompt = 4000

/**
 * Claude Code's notes to the model, in the role of the user but not by the user
 * (test/fixtures/messages-requests/claude-code-tools.json).
 */
export const reminderMark = '<system-reminder>'

/** Reads two messages, whatever the length of the conversation. */
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
  if (typeof content === 'string') return content.slice(0, longestPrompt)
  if (!Array.isArray(content)) return ''
  let prompt = ''
  for (const part of content) {
    const text: unknown = isObject(part) ? part['text'] : undefined
    if (typeof text !== 'string' || text.trimStart().startsWith(reminderMark)) continue
    prompt += prompt === '' ? text.slice(0, longestPrompt) : `\n${text.slice(0, longestPrompt)}`
    if (prompt.length >= longestPrompt) break
  }
  return prompt.slice(0, longestPrompt)
}
