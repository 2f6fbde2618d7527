import { createLruMap } from '../cache/lru-map.ts'
import { redactBody } from './redact-body.ts'
import { replaceSpans, type FindSecrets, type Span } from './redact.ts'

/** The credentials that this process has met. Their values are removed from text, whatever they look like. */
export interface KnownSecrets {
  /** Remembers the latest values. Ignores absent values, and values so short that they occur in ordinary words. */
  readonly note: NoteSecrets
  /** Remembers any number of values in use. The holder's previous values then count as noted. */
  readonly hold: (holder: string, ...values: readonly (string | undefined)[]) => void
  /** Replaces each remembered value, encoded ones included, by `[redacted]`. */
  readonly redact: (text: string) => string
  /**
   * Returns the index from which the end of a text may be the beginning of a remembered value; the length of the text if it is
   * none. Text that arrives in pieces can be redacted as a whole from there on. Finds no encoded values.
   */
  readonly beginsAt: (text: string) => number
  /** As `redact`, for a whole body in JSON or an event stream. Also removes what is shaped like a credential. */
  readonly redactBody: (text: string) => string
}

export type NoteSecrets = (...values: readonly (string | undefined)[]) => void

export const noteNothing: NoteSecrets = () => {}

/** Room for the few values in use and for those they replaced, which stay valid for a while. */
const mostNoted = 64
/** Shorter values occur in ordinary words. Characters. */
const shortestSecret = 8

/** For log lines and the texts of failures, never for the output of a model. */
export function createKnownSecrets(): KnownSecrets {
  const held = new Map<string, readonly string[]>()
  const noted = createLruMap<true>({ maxEntries: mostNoted })
  /** Undefined: the values have changed since. */
  let find: FindSecrets | undefined

  const note: NoteSecrets = (...values) => {
    for (const value of values.filter(isLongEnough)) {
      if (noted.peek(value) === undefined) find = undefined
      noted.set(value, true)
    }
  }

  const findKnown: FindSecrets = (text) => {
    find ??= createFinder([...held.values(), ...noted.keys()].flat().flatMap(encodedForms))
    return find(text)
  }

  return {
    note,
    hold(holder, ...values) {
      const before = held.get(holder) ?? []
      held.set(holder, values.filter(isLongEnough))
      find = undefined
      note(...before)
    },
    redact: (text) => replaceSpans(text, findKnown(text)),
    redactBody: (text) => redactBody(text, findKnown),
    beginsAt(text) {
      let begin = text.length
      for (const value of new Set([...held.values(), ...noted.keys()].flat())) {
        const first = value.charAt(0)
        let at = text.indexOf(first, Math.max(0, text.length - value.length + 1))
        while (at !== -1 && at < begin && !value.startsWith(text.slice(at))) at = text.indexOf(first, at + 1)
        if (at !== -1) begin = Math.min(begin, at)
      }
      return begin
    },
  }
}

/** Redacts the values of upstream's headers, any of which may reflect a credential. */
export function redactValues(
  headers: Readonly<Record<string, string>>,
  redact: (text: string) => string,
): Readonly<Record<string, string>> {
  // One search for all: a hit is rare, and no header value holds a line break.
  const values = Object.values(headers).join('\n')
  if (redact(values) === values) return headers
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redact(value)]))
}

/**
 * Redacts every string of a JSON value, but no name of a member. A replacement in the text of the JSON could break it, because
 * a credential may contain quotes.
 */
export function redactStrings<Value>(value: Value, redact: (text: string) => string): Value {
  const redactAny = (any: unknown): unknown => {
    if (typeof any === 'string') return redact(any)
    if (Array.isArray(any)) return any.map(redactAny)
    if (typeof any !== 'object' || any === null) return any
    return Object.fromEntries(Object.entries(any).map(([name, member]) => [name, redactAny(member)]))
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a JSON value keeps its form: only strings are replaced, by strings
  return redactAny(value) as Value
}

function isLongEnough(value: string | undefined): value is string {
  return value !== undefined && value.length >= shortestSecret
}

/**
 * Finds the first characters of all needles with one RegExp and compares the candidates there. With 64 credentials (768
 * needles) a log line of 2 KB takes 7 µs and a body of 2 MB 7 ms, where `replaceAll` for each needle takes 136 µs and
 * 48 ms, and one RegExp of all needles 14 MB of memory (Node 24.21).
 */
function createFinder(needles: Iterable<string>): FindSecrets {
  const longestFirst = [...new Set(needles)].toSorted((a, b) => b.length - a.length)
  const byStart = Map.groupBy(longestFirst, (needle) => needle.slice(0, shortestSecret))
  if (byStart.size === 0) return () => []
  const starts = new RegExp([...byStart.keys()].map(escapePattern).join('|'), 'g')
  return (text) => {
    const found: Span[] = []
    let end = 0
    starts.lastIndex = 0
    for (let match = starts.exec(text); match !== null; match = starts.exec(text)) {
      const { index } = match
      const needle = byStart.get(match[0])?.find((candidate) => text.startsWith(candidate, index))
      // Continue inside the match: overlapping needles are replaced together.
      starts.lastIndex = index + 1
      if (needle === undefined) continue
      const last = index < end ? found.pop() : undefined
      end = Math.max(end, index + needle.length)
      found.push({ start: last?.start ?? index, end })
    }
    return found
  }
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
}

/** The value as plain text, JSON, URL, form, hexadecimal, and inside a longer Base64 text. */
function encodedForms(value: string): readonly string[] {
  const bytes = Buffer.from(value)
  const inUrl = encodeURIComponent(value.toWellFormed())
  const inBase64 = [0, 1, 2].map((shift) => inBase64At(bytes, shift))
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    inUrl,
    inUrl.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase()),
    new URLSearchParams([['', value]]).toString().slice(1),
    bytes.toString('hex'),
    ...inBase64,
    ...inBase64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

/**
 * The Base64 characters that depend on these bytes alone, when `shift` other bytes precede them (`user:password`).
 * Characters at the edges mix bits of both and are left out.
 */
function inBase64At(bytes: Uint8Array, shift: number): string {
  const text = Buffer.concat([new Uint8Array(shift), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const isCut = (shift + bytes.length) % 3 !== 0
  return text.slice(Math.ceil((shift * 8) / 6), isCut ? -1 : undefined)
}
