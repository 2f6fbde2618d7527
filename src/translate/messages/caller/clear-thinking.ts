import { isObject } from '../../parts/json.ts'
import type { Warning } from '../../warning.ts'
import { isUserPrompt } from '../content.ts'
import { isBlock, type MessagesBlock, type MessagesMessage, type MessagesRequest } from '../wire.ts'

/** Source: Anthropic documentation, context editing, 2026-11. Sent by Claude Code with every request. */
const CLEAR_THINKING = 'clear_thinking_20251015'

/**
 * Index of the first message whose thinking stays: `context_management` may limit thinking to the last turns. Each
 * other edit is dropped with a warning, because only Anthropic's servers edit the context.
 */
export function thinkingKeptFrom(request: MessagesRequest, warnings: Warning[]): number {
  const edits = request.context_management?.['edits']
  if (!Array.isArray(edits)) return 0
  let keptFrom = 0
  edits.forEach((edit: unknown, at) => {
    if (isObject(edit) && edit['type'] === CLEAR_THINKING) {
      keptFrom = startOfTurns(request.messages, turnsToKeep(edit['keep']))
      return
    }
    const detail = 'context is not edited for this model'
    warnings.push({ code: 'dropped', field: `context_management.edits.${at}`, detail })
  })
  return keptFrom
}

function turnsToKeep(keep: unknown): number {
  if (keep === 'all') return Infinity
  if (!isObject(keep)) return 1
  if (keep['type'] === 'all') return Infinity
  return typeof keep['value'] === 'number' ? keep['value'] : 1
}

/** A turn runs from one user prompt to the next, tool loop included. Turns without thinking do not count. */
function startOfTurns(messages: readonly MessagesMessage[], turns: number): number {
  let kept = 0
  let thinks = false
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at]
    if (message === undefined) break
    if (holdsThinking(message)) {
      if (!thinks && kept >= turns) return at + 1
      if (!thinks) kept += 1
      thinks = true
    }
    if (isUserPrompt(message)) thinks = false
  }
  return 0
}

function holdsThinking({ content }: MessagesMessage): boolean {
  if (!Array.isArray(content)) return false
  // `Array.isArray` cannot tell a readonly array from the string.
  const blocks: readonly MessagesBlock[] = content
  return blocks.some((block) => isBlock(block, 'thinking') || isBlock(block, 'redacted_thinking'))
}
