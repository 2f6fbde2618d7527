import { callerJsonLimits, isObject, type JsonObject, parseJson } from '../../../json/json.ts'
import { scanMembers } from '../../../json/json-members.ts'

/** Those of a request body, whose check does not look inside strings. Arguments may have many members. */
const LIMITS = { ...callerJsonLimits, maxMembers: 100_000 }

/**
 * A call's arguments as the text of a JSON object, which upstreams require. Closes arguments that were cut off. Keeps a
 * text that is no JSON object even then under `input`: without it, the history would hide from the model what it called.
 * Returns the same text if it is an object, so that its numbers keep their digits.
 */
export function toObjectText(text: string): string {
  return readObject(text).text
}

/** As `toObjectText`, parsed. */
export function toToolInput(text: string): JsonObject {
  return readObject(text).value
}

/** The arguments of a call in an answer. An answer that was cut has what a streaming caller got, and no wrapped text. */
export function toAnswerInput(text: string): JsonObject {
  const closed = parseJson(closeJson(text))
  return isObject(closed) && Object.keys(closed).length === 0 ? closed : toToolInput(text)
}

function readObject(text: string): { readonly text: string; readonly value: JsonObject } {
  if (text.trim() === '') return { text: '{}', value: {} }
  // A value beyond these limits may be too deep to serialise.
  if (!scanMembers(text, LIMITS).ok) return wrap(text)
  const value = parseJson(text)
  if (isObject(value)) return { text, value }
  // Some models write `null` for no arguments.
  if (value === null) return { text: '{}', value: {} }
  if (value !== undefined) return wrap(text)
  const closed = closeJson(text)
  const object = parseJson(closed)
  // An object without members must not replace a text that has more.
  const isClosed = isObject(object) && (Object.keys(object).length > 0 || /^[\s{}]*$/.test(text))
  return isClosed ? { text: closed, value: object } : wrap(text)
}

function wrap(text: string): { readonly text: string; readonly value: JsonObject } {
  const value = { input: text }
  return { text: JSON.stringify(value), value }
}

/**
 * Closes JSON that stops early: ends an open string, removes a dangling comma, colon or partial literal, and closes arrays
 * and objects. Other text stays unchanged.
 */
export function closeJson(text: string): string {
  const closers: string[] = []
  /** The last offset at which the text can be closed; members after it are incomplete. */
  let closableEnd = 0
  let inString = false
  let isKey = false
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (inString) {
      if (char === '\\') at += 1
      else if (char === '"') {
        inString = false
        if (!isKey) closableEnd = at + 1
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
        closableEnd = at + 1
        break
      case '}':
      case ']':
        closers.pop()
        closableEnd = at + 1
        break
      default:
        if (
          char !== undefined &&
          /[\d}a-z.+-]/i.test(char) &&
          parseJson(`[${literalEndingAt(text, at)}]`) !== undefined
        ) {
          closableEnd = at + 1
        }
    }
  }
  if (inString && !isKey) return endString(text) + closers.toReversed().join('')
  // Each bracket sets `closableEnd`, so the brackets open there are the ones still open here.
  return text.slice(0, closableEnd) + closers.toReversed().join('')
}

/** Ends a string, without a partial escape (`\`, `\u12`). */
function endString(text: string): string {
  return `${text.replace(/\\(?:u[\da-f]{0,3})?$/i, (half, at: number) => (isEscaped(text, at) ? half : ''))}"`
}

/** Whether the backslash at `at` is escaped. */
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

/** A start like `Error: …`, `error …`, `[error]`, or Claude Code's `<tool_use_error>`. */
const STARTS_WITH_ERROR = /^\s{0,16}(?:<[\w-]{0,32}error>|\W{0,8}error\b)/i

/** The text of a failed tool result, for dialects without `is_error`: makes the text itself mention the error. */
export function toErrorText(text: string): string {
  if (STARTS_WITH_ERROR.test(text.slice(0, 64))) return text
  return text === '' ? 'Error' : `Error: ${text}`
}
