import { toErrorText } from '../parts/error-text.ts'
import type { ToolResultItem, TurnPart } from '../turn.ts'
import { encodePart } from './encode-parts.ts'
import type { ChatMessage, ChatPart } from './wire-request.ts'

type Attachment = Extract<TurnPart, { type: 'image' | 'file' | 'audio' }>

/** What a tool message cannot hold and a user message behind it does. */
const placeholders = {
  image: '[image attached below]',
  file: '[file attached below]',
  audio: '[audio attached below]',
} as const

/** The tool message of a result. Its content is text: backends that validate refuse parts there. */
export function encodeResult({ callId, content, isError }: ToolResultItem): ChatMessage {
  const text = typeof content === 'string' ? content : content.map(textOf).join('\n')
  return { role: 'tool', tool_call_id: callId, content: isError ? toErrorText(text) : text }
}

/**
 * One user message with the images and files of several results, behind all of their tool messages: nothing may stand
 * between those and their calls. Undefined where the results are text.
 */
export function encodeAttachments(results: readonly ToolResultItem[]): ChatMessage | undefined {
  const parts = results.flatMap(({ callId, content, path }): ChatPart[] => {
    const attached = typeof content === 'string' ? [] : content.filter(isAttachment)
    if (attached.length === 0) return []
    const kind = attached.every(({ type }) => type === 'image') ? 'Images' : 'Files'
    const label = { type: 'text', text: `${kind} returned by tool call ${callId}:` }
    return [label, ...attached.map((part) => encodePart(part, path))]
  })
  return parts.length === 0 ? undefined : { role: 'user', content: parts }
}

function textOf(part: TurnPart): string {
  return part.type === 'text' || part.type === 'refusal' ? part.text : placeholders[part.type]
}

function isAttachment(part: TurnPart): part is Attachment {
  return part.type !== 'text' && part.type !== 'refusal'
}
