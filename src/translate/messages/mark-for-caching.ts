import type { CacheControl, MessagesBlock, MessagesMessage, MessagesRequest, MessagesTool } from './wire-request.ts'

const MARK: CacheControl = { type: 'ephemeral' }

/**
 * Marks where GitHub's own client does: the tools, the system text, and the last two messages, which the next request
 * repeats: four at most. Where the caller set marks, those hold: then the very body.
 * Source: docs/copilot-wire.md, "messages, cache marks".
 */
export function markForCaching(body: MessagesRequest): MessagesRequest {
  const { tools, system, messages } = body
  const last = messages.findLastIndex(takesMark)
  const before = messages.findLastIndex((message, at) => at < last && takesMark(message))
  if (hasMark(tools) || (typeof system === 'object' && hasMark(system)) || messages.some(isMarked)) return body
  return {
    ...body,
    ...(tools && { tools: markLastTool(tools) }),
    ...(system && { system: markLastOf(blocksOf(system)) }),
    messages: messages.map((message, at) => (at === last || at === before ? markMessage(message) : message)),
  }
}

function isMarked({ content }: MessagesMessage): boolean {
  return (
    typeof content === 'object' && content?.some((block) => hasMark([block]) || hasMark(innerBlocks(block))) === true
  )
}

function innerBlocks({ type, content }: MessagesBlock): readonly MessagesBlock[] {
  // What a tool result holds is blocks.
  return type === 'tool_result' && Array.isArray(content) ? content : []
}

function hasMark(
  elements: readonly { readonly cache_control?: CacheControl | null | undefined }[] | null | undefined,
): boolean {
  return elements?.some(({ cache_control: mark }) => mark !== undefined && mark !== null) === true
}

/** A thought takes none: docs/copilot-wire.md, "messages, cache marks". */
function takesMark({ role, content }: MessagesMessage): boolean {
  if (role === 'system' || !content) return false
  return typeof content === 'string' || content.at(-1)?.type.endsWith('thinking') === false
}

function blocksOf(content: string | readonly MessagesBlock[]): readonly MessagesBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function markMessage(message: MessagesMessage): MessagesMessage {
  const { content } = message
  return content ? { ...message, content: markLastOf(blocksOf(content)) } : message
}

/** A deferred tool takes no mark. Source: Anthropic documentation, tool search, 2026-11. */
function markLastTool(tools: readonly MessagesTool[]): readonly MessagesTool[] {
  const at = tools.findLastIndex(({ defer_loading: isDeferred }) => isDeferred !== true)
  return at === -1 ? tools : [...markLastOf(tools.slice(0, at + 1)), ...tools.slice(at + 1)]
}

function markLastOf<Element extends object>(elements: readonly Element[]): readonly Element[] {
  const last = elements.at(-1)
  return last === undefined ? elements : elements.with(elements.length - 1, { ...last, cache_control: MARK })
}
