/** An image in a request. Nothing reads its pixels. */
export interface SeenImage {
  /** E.g. `image/png`; `an address` if the request has only the URL. */
  readonly kind: string
  readonly bytes: number
}

/** One entry of a request's history, in order. System texts are left out. */
export type HistoryEntry =
  /** A text from the user: a message or one of its parts. */
  | { readonly by: 'user'; readonly text: string }
  | { readonly by: 'user'; readonly image: SeenImage }
  /** Any output of the model. `hasOpaque`: it contains reasoning that only upstream can read. */
  | { readonly by: 'assistant'; readonly hasOpaque: boolean }
  | { readonly by: 'tool'; readonly text: string; readonly images: readonly SeenImage[] }

export interface OfferedTool {
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace?: string | undefined
  /** JSON Schema of the arguments, if the tool has one. */
  readonly schema?: unknown
}

export type AnswerFormat = { readonly type: 'json_object' } | { readonly type: 'json_schema'; readonly schema: unknown }

/** A request without its dialect: everything that an answer depends on. */
export interface Conversation {
  readonly history: readonly HistoryEntry[]
  /** Tools that the model may choose to call, in order. */
  readonly tools: readonly OfferedTool[]
  readonly hasWebSearch: boolean
  /** Set if a web search is the only tool: the domains it is limited to. */
  readonly searchOnly?: { readonly domains: readonly string[] } | undefined
  readonly choice: 'auto' | 'none' | 'required' | { readonly name: string }
  readonly isParallel: boolean
  /** Maximum number of tokens in the answer; Infinity if the request states none. */
  readonly maxOutput: number
  readonly stop: readonly string[]
  readonly format: AnswerFormat | undefined
  /** When the model sends reasoning. */
  readonly thinks: 'never' | 'if asked' | 'always'
  readonly promptTokens: number
  /**
   * Number of calls in the history, for families that number calls across turns. Absent on routes without such
   * families.
   */
  readonly callsSoFar?: number
}

/** The user's last text, which may hold markers; '' if there is none. */
export function promptOf({ history }: Conversation): string {
  const prompt = history[promptIndex(history)]
  return prompt?.by === 'user' && 'text' in prompt ? withoutReminders(prompt.text) : ''
}

/** The tool results at the end of the request; [] if the request ends with the user or the model. */
export function lastResults({ history }: Conversation): readonly Extract<HistoryEntry, { by: 'tool' }>[] {
  const from = Math.max(
    promptIndex(history),
    history.findLastIndex((each) => each.by === 'assistant'),
  )
  return history.slice(from + 1).filter((each) => each.by === 'tool')
}

/** Images since the model's last output, except those in tool results. */
export function lastImages({ history }: Conversation): readonly SeenImage[] {
  const from = history.findLastIndex((each) => each.by === 'assistant') + 1
  return history.slice(from).flatMap((each) => (each.by === 'user' && 'image' in each ? [each.image] : []))
}

const REPLAY = '[demo:replay]'

/**
 * Whether a prompt asked for `[demo:replay]` and got an answer, and the request returns none of the answer's reasoning.
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

/** Reads from a `data:` URL what an answer can say about the image. */
export function imageOfUrl(url: string): SeenImage {
  const match = /^data:([^;,]+);base64,/.exec(url)
  if (match === null) return { kind: 'an address', bytes: 0 }
  return imageOfBase64(match[1] ?? '', url.slice(match[0].length))
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

/** Removes the reminders that Claude Code adds around the user's text. Text without reminders is returned unchanged. */
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
