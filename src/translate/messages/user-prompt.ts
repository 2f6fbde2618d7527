import { reminderMark } from '../parts/prompts.ts'
import { isBlock, type MessagesBlock, type MessagesMessage } from './wire-request.ts'

/**
 * The message is from the user: not one that hands in tool results only. A user message with results counts as the
 * user's when it says something beside them, unless that is a reminder by the client.
 */
export function isUserPrompt({ role, content }: MessagesMessage): boolean {
  if (role !== 'user') return false
  if (!Array.isArray(content)) return true
  // `Array.isArray` cannot tell a readonly array from the string.
  const blocks: readonly MessagesBlock[] = content
  return !blocks.some((block) => isBlock(block, 'tool_result')) || !blocks.every(isByClient)
}

function isByClient(block: MessagesBlock): boolean {
  return isBlock(block, 'tool_result') || (isBlock(block, 'text') && block.text.trimStart().startsWith(reminderMark))
}
