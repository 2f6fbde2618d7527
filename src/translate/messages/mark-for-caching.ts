import type { CacheControl, MessagesBlock, MessagesMessage, MessagesRequest } from './wire-request.ts'

const MARK: CacheControl = { type: 'ephemeral' }

/**
 * Marks where GitHub's own client does, for callers whose dialect has no marks: the tools, the system text, and the last
 * two messages, which the next request repeats: four at most. Where the caller set marks, those hold.
 * Source: docs/copilot-wire.md, "messages, cache marks".
 */
export function markForCaching(body: MessagesRequest): MessagesRequest {
  const { tools, system, messages } = body
  const last = messages.findLastIndex(takesMark)
  const before = messages.findLastIndex((message, at) => at < last && takesMark(message))
  if (hasMark(tools) || (typeof system === 'object' && hasMark(system)) || messages.some(isMarked)) return body
  return {
    ...body,
    ...(tools && { tools: markLastOf(tools) }),
    ...(system && typeof system === 'object' && { system: markLastOf(system) }),
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
  return role !== 'system' && typeof content === 'object' && content?.at(-1)?.type.endsWith('thinking') === false
}

function markMessage(message: MessagesMessage): MessagesMessage {
  const { content } = message
  if (typeof content !== 'object' || content === null) return message
  return { ...message, content: markLastOf(content) }
}

function markLastOf<Element extends object>(elements: readonly Element[]): readonly Element[] {
  const last = elements.at(-1)
  return last === undefined ? elements : elements.with(elements.length - 1, { ...last, cache_control: MARK })
}
