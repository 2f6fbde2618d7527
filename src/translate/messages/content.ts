import { refuseAsPrefill } from '../engine/request/shared-checks.ts'
import { isObject } from '../../json/json.ts'
import { reminderMark } from '../engine/request/conversation.ts'
import { isBlock } from './wire.ts'
import type { MessagesBlock, MessagesMessage } from './wire.ts'

/** A message's content as blocks. Blank text becomes no block, because upstream refuses it. */
export function contentBlocks(content: MessagesMessage['content']): readonly MessagesBlock[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return isBlank(content) ? [] : [{ type: 'text', text: content }]
  return content
}

/** Returns the same message if no block changes. */
export function mapBlocks(message: MessagesMessage, map: (block: MessagesBlock) => MessagesBlock): MessagesMessage {
  const { content } = message
  if (typeof content !== 'object' || content === null) return message
  const mapped = mapSame(content, map)
  return mapped === content ? message : { ...message, content: mapped }
}

/** Returns the same array if no element changes. */
export function mapSame<Element>(elements: readonly Element[], map: (element: Element) => Element): readonly Element[] {
  let changed = false
  const mapped = elements.map((element) => {
    const result = map(element)
    changed ||= result !== element
    return result
  })
  return changed ? mapped : elements
}

export function isBlankBlock(block: MessagesBlock): boolean {
  return block.type === 'text' && typeof block['text'] === 'string' && isBlank(block['text'])
}

export function isBlank(text: string): boolean {
  return text.trim() === ''
}

/** Wraps system text for a user turn, for models that take no system messages. Claude Code uses the same tags. */
export function wrapReminder(block: MessagesBlock): readonly MessagesBlock[] {
  if (block.type !== 'text' || typeof block['text'] !== 'string') return [block]
  if (isBlank(block['text'])) return []
  return [{ ...block, text: `<system-reminder>\n${block['text']}\n</system-reminder>` }]
}

/** Returns text for a reference to a tool, for models without tool search. */
export function toolReferenceText(name: string): string {
  return `The tool ${name} can be called now.`
}

/**
 * Whether the message is a prompt and not only tool results. A user message with results is a prompt if it has other
 * content, except a reminder from the client.
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

/**
 * The effort in force at the end of the conversation, as `system` messages state it (betas
 * `mid-conversation-output-config-2026-07-01`, `per-turn-control-2026-07-01`). A message directly after a prompt holds for
 * the answer to it, one anywhere else from the next prompt on; it stays in force until the next. Undefined if none is.
 * Source: Anthropic documentation, per-message effort, 2026-11.
 */
export function effortOfTurn(messages: readonly MessagesMessage[]): string | undefined {
  let inForce: string | undefined
  let fromNextPrompt: string | undefined
  let followsPrompt = false
  for (const message of messages) {
    if (message.role !== 'system') {
      followsPrompt = isUserPrompt(message)
      if (followsPrompt) inForce = fromNextPrompt ?? inForce
      if (followsPrompt) fromNextPrompt = undefined
      continue
    }
    const config = message['output_config']
    if (!isObject(config) || typeof config['effort'] !== 'string') continue
    if (followsPrompt) inForce = config['effort']
    else fromNextPrompt = config['effort']
  }
  return inForce
}

/**
 * Refuses a prefill, which is a conversation that ends with an assistant message.
 * @throws Fault `invalid_request`
 */
export function refusePrefill(messages: readonly MessagesMessage[]): void {
  if (lastSpoken(messages)?.role === 'assistant') refuseAsPrefill()
}

/**
 * The index of the first message of a paused answer; the number of messages if there is none. An answer pauses after
 * a server tool. Source: Anthropic API reference, "Handling stop reasons", `pause_turn`, 2026-11.
 */
export function pausedFrom(messages: readonly MessagesMessage[]): number {
  const last = lastSpoken(messages)
  const ending = last?.role === 'assistant' ? contentBlocks(last.content).at(-1)?.type : undefined
  if (ending === undefined || !/^(server|mcp)_tool_use$|^.+_tool_result$/.test(ending)) return messages.length
  return messages.findLastIndex(({ role }) => role === 'user') + 1
}

/** System messages come between turns. */
function lastSpoken(messages: readonly MessagesMessage[]): MessagesMessage | undefined {
  return messages.findLast(({ role }) => role !== 'system')
}

/**
 * Claude Code's first line of system text, for Anthropic's accounting. It changes with every request, which defeats
 * the prompt cache. Source: Claude Code documentation, LLM gateways, 2026-11.
 */
const BILLING_LINE = 'x-anthropic-billing-header:'

export function withoutBillingLine(text: string): string {
  if (!text.startsWith(BILLING_LINE)) return text
  const lineEnd = text.indexOf('\n')
  return lineEnd === -1 ? '' : text.slice(lineEnd + 1)
}
