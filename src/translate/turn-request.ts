import type { CallerRequest } from './dialect.ts'
import { promptsOf } from './engine/request/conversation.ts'
import { turnFieldNames } from './engine/fields.ts'
import type { Turn, TurnItem, TurnPart } from './turn.ts'

/** Makes a `Turn` in this process. @param parts members that differ from the defaults */
export function createTurn(items: readonly TurnItem[], parts: Partial<Turn> = {}): Turn {
  return { fieldNames: turnFieldNames, tools: [], sampling: {}, stop: [], ...parts, items }
}

export function userMessage(text: string): TurnItem {
  return { type: 'message', role: 'user', parts: [{ type: 'text', text }], path: '' }
}

/**
 * The request of a program in this process. Derives from the Turn the facts that dialects read from a caller's body. A
 * dialect that decodes with it replaces `stream` and `body` by its own.
 */
export function requestOfTurn(turn: Turn, model: string): CallerRequest<Turn> {
  const { items } = turn
  const prompts = items.map((item) => ({ isUser: isFromUser(item), content: 'parts' in item ? item.parts : undefined }))
  const last = items.at(-1)
  return {
    model,
    stream: true,
    hasImage: items.some((item) => holds(item, 'image')),
    hasDocument: items.some((item) => holds(item, 'file')),
    hasAgentHistory: items.some((item) => item.type !== 'message' || item.role === 'assistant'),
    endsWithUser: last !== undefined && isFromUser(last),
    toolCount: turn.tools.length,
    offersSearch: turn.tools.some(({ type }) => type === 'web_search'),
    isCompaction: false,
    prompts: promptsOf(prompts, ({ isUser }) => isUser),
    sessionId: turn.sessionId,
    body: turn,
  }
}

function isFromUser(item: TurnItem): boolean {
  return item.type === 'message' && item.role === 'user'
}

function holds(item: TurnItem, wanted: TurnPart['type']): boolean {
  const parts = item.type === 'message' ? item.parts : item.type === 'tool_result' ? item.content : []
  return typeof parts !== 'string' && parts.some(({ type }) => type === wanted)
}
