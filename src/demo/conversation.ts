/** An image as the request has it; nothing looks at its pixels. */
export interface SeenImage {
  /** E.g. `image/png`; `an address` where it is not in the request. */
  readonly kind: string
  readonly bytes: number
}

/** One thing in a request's history, in order. System texts are not among them. */
export type HistoryEntry =
  /** A text of the user's: a message, or one of its parts. */
  | { readonly by: 'user'; readonly text: string }
  | { readonly by: 'user'; readonly image: SeenImage }
  /** Anything the model said or called; `hasOpaque` where it is, or carries, reasoning that only upstream can read. */
  | { readonly by: 'assistant'; readonly hasOpaque: boolean }
  | { readonly by: 'tool'; readonly text: string; readonly images: readonly SeenImage[] }

export interface OfferedTool {
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace?: string | undefined
  /** JSON Schema of its arguments, where it has one. */
  readonly schema?: unknown
}

export type AnswerFormat = { readonly type: 'json_object' } | { readonly type: 'json_schema'; readonly schema: unknown }

/** A request in no dialect: all that an answer depends on. */
export interface Conversation {
  readonly history: readonly HistoryEntry[]
  /** Tools the model may call by itself, in order. */
  readonly tools: readonly OfferedTool[]
  readonly hasWebSearch: boolean
  /** Where a web search is all there is to call: the domains it is limited to. */
  readonly searchOnly?: { readonly domains: readonly string[] } | undefined
  readonly choice: 'auto' | 'none' | 'required' | { readonly name: string }
  readonly isParallel: boolean
  /** Most tokens of the answer; Infinity where the request names none. */
  readonly maxOutput: number
  readonly stop: readonly string[]
  readonly format: AnswerFormat | undefined
  /** When the model thinks aloud. */
  readonly thinks: 'never' | 'if asked' | 'always'
  readonly promptTokens: number
  /** Calls in the history, for families that number them on; absent on routes that have none of those. */
  readonly callsSoFar?: number
}

/** The last thing the user wrote, which is where markers are looked for; '' where there is none. */
export function promptOf({ history }: Conversation): string {
  const said = history[promptIndex(history)]
  return said?.by === 'user' && 'text' in said ? withoutReminders(said.text) : ''
}

/** Results of tools, where the request ends with them; [] where the user or the model had the last word. */
export function lastResults({ history }: Conversation): readonly Extract<HistoryEntry, { by: 'tool' }>[] {
  const from = Math.max(
    promptIndex(history),
    history.findLastIndex((each) => each.by === 'assistant'),
  )
  return history.slice(from + 1).filter((each) => each.by === 'tool')
}

/** Images that came after the model's last word, those of tool results left out. */
export function lastImages({ history }: Conversation): readonly SeenImage[] {
  const from = history.findLastIndex((each) => each.by === 'assistant') + 1
  return history.slice(from).flatMap((each) => (each.by === 'user' && 'image' in each ? [each.image] : []))
}

const REPLAY = '[demo:replay]'

/**
 * A prompt asked for `[demo:replay]`, was answered, and nothing of the answer's reasoning came back with the request.
 */
export function lacksReplay({ history }: Conversation): boolean {
  let isOwed = false
  let isAnswered = false
  for (const each of history) {
    if (each.by === 'user' && 'text' in each) {
      if (isOwed && isAnswered) return true
      isAnswered = false
      if (withoutReminders(each.text).includes(REPLAY)) isOwed = true
    } else if (each.by === 'assistant') {
      if (each.hasOpaque) isOwed = false
      isAnswered = true
    }
  }
  return isOwed && isAnswered
}

/** From `data:` URL to what an answer can say about it. */
export function imageOfUrl(url: string): SeenImage {
  const found = /^data:([^;,]+);base64,/.exec(url)
  if (found === null) return { kind: 'an address', bytes: 0 }
  return imageOfBase64(found[1] ?? '', url.slice(found[0].length))
}

export function imageOfBase64(kind: string, data: string): SeenImage {
  const padding = data.endsWith('==') ? 2 : Number(data.endsWith('='))
  return { kind, bytes: Math.max(0, Math.floor((data.length * 3) / 4) - padding) }
}

/** E.g. `image/png of 68 bytes`. */
export function describeImage({ kind, bytes }: SeenImage): string {
  return bytes === 0 ? kind : `${kind} of ${bytes} bytes`
}

function promptIndex(history: readonly HistoryEntry[]): number {
  return history.findLastIndex(
    (each) => each.by === 'user' && 'text' in each && withoutReminders(each.text).trim() !== '',
  )
}

const OPENING = '<system-reminder>'
const CLOSING = '</system-reminder>'

/** Claude Code puts notes of its own around what the user wrote; other text is left alone to the last space. */
function withoutReminders(text: string): string {
  let from = text.indexOf(OPENING)
  if (from < 0) return text
  let kept = ''
  let read = 0
  while (from >= 0) {
    kept += text.slice(read, from)
    const end = text.indexOf(CLOSING, from)
    read = end < 0 ? text.length : end + CLOSING.length
    from = text.indexOf(OPENING, read)
  }
  return (kept + text.slice(read)).trim()
}
