import type { Turn, TurnItem, TurnPart } from '../translate/turn.ts'
import { parseMarkers } from './markers.ts'
import { parseScript } from './script.ts'
import type { ScriptStep } from './script.ts'

/** One entry of a request's history. System texts are left out. */
type Entry =
  | { readonly by: 'user'; readonly text: string }
  | { readonly by: 'user'; readonly image: string }
  | { readonly by: 'assistant' }
  | { readonly by: 'tool'; readonly text: string }

/** The facts of a request that decide the answer. */
export interface Conversation {
  /** The user's last text, which may hold markers; '' if there is none. */
  readonly prompt: string
  /** The tool results at the end of the request. */
  readonly results: readonly string[]
  /** Descriptions of the images that the user has sent since the model's last output. */
  readonly images: readonly string[]
  /** The current step of the conversation's script; undefined without a script and after its last step. */
  readonly step: ScriptStep | undefined
}

export function conversationOf({ items }: Turn): Conversation {
  const entries = items.flatMap(entriesOf)
  const promptAt = entries.findLastIndex((each) => 'text' in each && each.by === 'user' && shown(each.text) !== '')
  const prompt = entries[promptAt]
  const answeredAt = entries.findLastIndex(({ by }) => by === 'assistant')
  const later = entries.slice(Math.max(promptAt, answeredAt) + 1)
  return {
    prompt: prompt !== undefined && 'text' in prompt ? shown(prompt.text) : '',
    results: later.flatMap((each) => (each.by === 'tool' ? [each.text] : [])),
    images: entries.slice(answeredAt + 1).flatMap((each) => ('image' in each ? [each.image] : [])),
    step: stepOf(entries),
  }
}

function entriesOf(item: TurnItem): readonly Entry[] {
  if (item.type === 'tool_result') return [{ by: 'tool', text: resultText(item.content) }]
  if (item.type !== 'message' || item.role === 'assistant') return [{ by: 'assistant' }]
  if (item.role === 'system') return []
  return item.parts.flatMap((part): readonly Entry[] => {
    if (part.type === 'text') return [{ by: 'user', text: part.text }]
    return part.type === 'image' ? [{ by: 'user', image: describeImage(part) }] : []
  })
}

function resultText(content: string | readonly TurnPart[]): string {
  if (typeof content === 'string') return content
  return content
    .flatMap((part) =>
      part.type === 'text' ? [part.text] : part.type === 'image' ? [`[image, ${describeImage(part)}]`] : [],
    )
    .join(' ')
}

/** E.g. `image/png of 68 bytes`. */
function describeImage({ source }: Extract<TurnPart, { type: 'image' }>): string {
  if (source.type !== 'base64') return 'an address'
  return `${source.mediaType} of ${Buffer.byteLength(source.data, 'base64')} bytes`
}

const reminderEnd = '</system-reminder>'

/** The text without the reminders that Claude Code adds around the user's own text. */
function shown(text: string): string {
  const [first = '', ...others] = text.split('<system-reminder>')
  const kept = others.map((part) => {
    const end = part.indexOf(reminderEnd)
    return end < 0 ? '' : part.slice(end + reminderEnd.length)
  })
  return [first, ...kept].join('').trim()
}

/**
 * The start of data in a prompt: results of an agent's tools, a record to summarise, or the conversation whose calls are
 * checked. The prompt forbids to obey such data.
 */
const data = /^(?:\[data-\w+ begin: |<(?:rules|conversation|surroundings|calls)>\n)/

/** The script advances with each answer of the model. */
function stepOf(entries: readonly Entry[]): ScriptStep | undefined {
  const at = entries.findLastIndex(
    (each) => each.by === 'user' && 'text' in each && each.text.includes('[demo:script') && !data.test(each.text),
  )
  const prompt = entries[at]
  if (prompt === undefined || !('text' in prompt)) return undefined
  const steps = parseScript(parseMarkers(prompt.text).asked.get('script')?.at(-1) ?? '')
  // An answer may have several items: thinking, text, calls.
  const answers = entries.slice(at + 1).filter(({ by }, index, all) => by === 'assistant' && all[index - 1]?.by !== by)
  const last = steps?.at(-1)
  return steps?.[answers.length] ?? (last?.forever === true ? last : undefined)
}
