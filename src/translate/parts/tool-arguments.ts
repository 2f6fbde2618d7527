import { isObject, type JsonObject } from './is-object.ts'
import { scanMembers } from './json-members.ts'

/** What a request body may hold (the dialects' own limits); inside a string nobody has looked yet. */
const LIMITS = { maxDepth: 500, maxMembers: 100_000, maxValues: 1_500_000 }

/**
 * A call's arguments as the object the Messages API wants. Arguments that were cut off are closed; what is no JSON
 * object even then is kept whole under `input`, for losing it would change what the model believes it did.
 */
export function toToolInput(text: string): JsonObject {
  if (text.trim() === '') return {}
  // Nested deeper than serialisers bear.
  if (!scanMembers(text, LIMITS).ok) return { input: text }
  const whole = parse(text) ?? parse(closeJson(text))
  if (isObject(whole)) return whole
  // `null` is how some models write "no arguments".
  return whole === null ? {} : { input: text }
}

/**
 * JSON that stops early, closed: an open string is ended, a dangling comma, colon or half a literal goes, open arrays
 * and objects are shut. What was never JSON stays as it is.
 */
export function closeJson(text: string): string {
  const closers: string[] = []
  /** End of the last point where the text could be shut; members after it are incomplete. */
  let good = 0
  let inString = false
  let isKey = false
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (inString) {
      if (char === '\\') at += 1
      else if (char === '"') {
        inString = false
        if (!isKey) good = at + 1
      }
      continue
    }
    switch (char) {
      case '"':
        inString = true
        isKey = closers.at(-1) === '}' && /[{,]\s*$/.test(text.slice(Math.max(0, at - 64), at))
        break
      case '{':
      case '[':
        closers.push(char === '{' ? '}' : ']')
        good = at + 1
        break
      case '}':
      case ']':
        closers.pop()
        good = at + 1
        break
      default:
        if (char !== undefined && /[\d}a-z.+-]/i.test(char) && parse(`[${literalEndingAt(text, at)}]`) !== undefined) {
          good = at + 1
        }
    }
  }
  if (inString && !isKey) return shutString(text) + closers.toReversed().join('')
  // Every bracket is such a point, so the ones open there are those open here.
  return text.slice(0, good) + closers.toReversed().join('')
}

/** Without half an escape: `\`, `\u12`. */
function shutString(text: string): string {
  return `${text.replace(/\\(?:u[\da-f]{0,3})?$/i, (half, at: number) => (isEscaped(text, at) ? half : ''))}"`
}

/** The backslash at `at` is itself escaped. */
function isEscaped(text: string, at: number): boolean {
  let count = 0
  while (text[at - 1 - count] === '\\') count += 1
  return count % 2 === 1
}

function literalEndingAt(text: string, at: number): string {
  let start = at
  while (start > 0 && at - start < 32 && /[\w.+-]/.test(text[start - 1] ?? '')) start -= 1
  return text.slice(start, at + 1)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
