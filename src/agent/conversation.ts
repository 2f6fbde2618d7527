import { userMessage } from '../translate/turn-request.ts'
import type { MessageItem, TurnItem, TurnPart } from '../translate/turn.ts'
import type { AgentTask } from './agent-task.ts'
import type { ModelChoice } from './loop-state.ts'
import { leaveOutImages, notSeen } from './images.ts'
import { capText } from './describe-result.ts'
import { frame, marksSecret } from './prompts.ts'

/**
 * Returns the user's message with its attachments. The text of an attached file is framed as data, like that of a file that was read.
 * @param mentioned what the message mentions
 * @param said what the message says, if its text names a prompt
 */
export function goalOf(
  { text, attachments }: Pick<AgentTask, 'text' | 'attachments'>,
  boundary: string,
  mentioned: readonly TurnPart[] = [],
  said: readonly TurnPart[] = [{ type: 'text', text }],
): MessageItem {
  const parts: readonly TurnPart[] = attachments.map((attachment) =>
    'text' in attachment
      ? { type: 'text', text: frame(boundary, `attached file ${JSON.stringify(attachment.name)}`, attachment.text) }
      : { type: 'image', source: { type: 'base64', mediaType: attachment.mediaType, data: attachment.base64 } },
  )
  return { type: 'message', role: 'user', parts: [...parts, ...mentioned, ...said], path: '' }
}

/**
 * Returns the items of a request. Marks the system prompt and the last item for Anthropic's prompt cache, because each step
 * repeats the previous ones. Without native tool calls, calls and results become messages.
 * @param instructions the framed instructions of the repository, which a summary of the conversation does not replace
 */
export function requestItems(
  system: string,
  items: readonly TurnItem[],
  { isNative, seesImages }: Pick<ModelChoice, 'isNative' | 'seesImages'>,
  instructions = '',
): readonly TurnItem[] {
  const seen = seesImages ? items : leaveOutImages(items, 0, notSeen)
  const sent = seen.map((item) => (isNative ? plain(item) : asText(item)))
  return [
    { type: 'message', role: 'system', parts: [{ type: 'text', text: system, cache: {} }], path: '' },
    ...(instructions === '' ? [] : [userMessage(instructions)]),
    ...sent.slice(0, -1),
    ...sent.slice(-1).map(marked),
  ]
}

/** A compaction without `opaque` is a summary of this program. Every upstream gets it as a message. */
function plain(item: TurnItem): TurnItem {
  return item.type === 'compaction' && item.opaque === undefined ? userMessage(item.text) : item
}

function asText(item: TurnItem): TurnItem {
  if (item.type === 'tool_call') {
    const text = `[called ${item.name} ${item.arguments}]`
    return { type: 'message', role: 'assistant', parts: [{ type: 'text', text }], path: '' }
  }
  if (item.type !== 'tool_result') return plain(item)
  const { content } = item
  return typeof content === 'string'
    ? userMessage(content)
    : { type: 'message', role: 'user', parts: content, path: '' }
}

function marked(item: TurnItem): TurnItem {
  if (item.type === 'tool_result') return { ...item, cache: {} }
  if (item.type !== 'message') return item
  const last = item.parts.at(-1)
  return last?.type === 'text' ? { ...item, parts: [...item.parts.slice(0, -1), { ...last, cache: {} }] } : item
}

function contentOf(content: string | readonly TurnPart[]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')
}

/** Returns whether an item of a conversation may contain the text of a secret. */
export function holdsSecret(item: TurnItem): boolean {
  switch (item.type) {
    case 'tool_result':
      return marksSecret(contentOf(item.content))
    // Without native tool calls, a result is a message.
    case 'message':
      return item.role === 'user' && marksSecret(contentOf(item.parts))
    case 'compaction':
      return marksSecret(item.text)
    case 'tool_call':
    case 'reasoning':
    case 'web_search':
      return false
  }
}

/** Maximum length of one item in the record to summarise. Characters. */
const maxRecorded = 3000

/** Returns the items as a text to summarise, of about `maxLength` characters at most. */
export function recordOf(items: readonly TurnItem[], boundary: string, maxLength: number): string {
  const texts = items.map((item) => {
    switch (item.type) {
      case 'message':
        return `${item.role}: ${capText(contentOf(item.parts), maxRecorded).text}`
      case 'tool_call':
        return `call: ${item.name} ${capText(item.arguments, maxRecorded).text}`
      case 'tool_result':
        return `result: ${capText(contentOf(item.content), maxRecorded).text}`
      case 'compaction':
        return item.text
      case 'reasoning':
      case 'web_search':
        return ''
    }
  })
  return frame(boundary, 'record', capText(texts.filter((text) => text !== '').join('\n\n'), maxLength).text)
}
