import type { MessagesBlock, MessagesMessage } from './wire-request.ts'

/** A message's content as blocks. Text of nothing but white space is none: upstream refuses it as a block. */
export function contentBlocks(content: MessagesMessage['content']): readonly MessagesBlock[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return isBlank(content) ? [] : [{ type: 'text', text: content }]
  return content
}

export function isBlankBlock(block: MessagesBlock): boolean {
  return block.type === 'text' && typeof block['text'] === 'string' && isBlank(block['text'])
}

/** Nothing but white space. */
export function isBlank(text: string): boolean {
  return text.trim() === ''
}

/**
 * System text inside a user turn, for models that take it nowhere else in a conversation. The tags are those Claude Code
 * uses for the same purpose.
 */
export function wrapReminder(block: MessagesBlock): readonly MessagesBlock[] {
  if (block.type !== 'text' || typeof block['text'] !== 'string') return [block]
  if (isBlank(block['text'])) return []
  return [{ ...block, text: `<system-reminder>\n${block['text']}\n</system-reminder>` }]
}

/** What stands for a reference to a tool where references mean nothing. */
export function tellTool(name: string): string {
  return `The tool ${name} can be called now.`
}
