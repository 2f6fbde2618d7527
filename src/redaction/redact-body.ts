import { findShapes, replaceSpans, type Edit, type FindSecrets, type Span } from './redact.ts'

/** A value of a JSON string in a body. */
interface Value {
  /** Index after the opening quote, and of the closing one. */
  readonly start: number
  readonly end: number
  /** Without JSON escapes. */
  readonly text: string
  /** Whether the value goes on with the text of the previous value of its group, as the next piece of an answer does. */
  readonly continues: boolean
}

/**
 * Removes secrets from a body in JSON or from an event stream of JSON, also if a secret is written with JSON escapes or
 * is divided among several values: an answer arrives in pieces of a few letters, and a message may have several parts. All
 * other text is unchanged, and what was JSON stays JSON. The time is proportional to the length.
 *
 * @param find finds known secrets
 */
export function redactBody(text: string, find: FindSecrets): string {
  const edits: Edit[] = [...find(text), ...findShapes(text)]
  for (const values of valuesByName(text).values()) {
    const joined = values.map((value) => value.text).join('')
    // Known secrets are searched in all values of the same name, and shapes only where one value goes on with another.
    pushEdits(edits, text, values, find(joined), 0)
    const parts = values.flatMap((value, at) => (at === 0 || value.continues ? [value.text] : [separator, value.text]))
    pushEdits(edits, text, values, findShapes(parts.join('')), separator.length)
  }
  return replaceSpans(text, edits)
}

/** No shape of a secret spans it. */
const separator = '\n<>\n'

/**
 * Adds the edits of the body that remove spans of the joined values.
 * @param gap length of the text between a value and the next that does not continue it
 */
function pushEdits(edits: Edit[], body: string, values: readonly Value[], spans: readonly Span[], gap: number): void {
  if (spans.length === 0) return
  const sorted = spans.toSorted((a, b) => a.start - b.start)
  let next = 0
  let from = 0
  for (const [at, value] of values.entries()) {
    if (at > 0 && !value.continues) from += gap
    const to = from + value.text.length
    while (next < sorted.length && (sorted[next]?.end ?? 0) <= from) next += 1
    for (let index = next; index < sorted.length; index += 1) {
      const span = sorted[index]
      if (span === undefined || span.start >= to) break
      if (span.end <= from) continue
      const start = rawIndex(body, value, Math.max(span.start, from) - from)
      const end = rawIndex(body, value, Math.min(span.end, to) - from)
      // The value in which the secret begins says so; its other pieces are emptied.
      edits.push(span.start >= from ? { start, end } : { start, end, text: '' })
    }
    from = to
  }
}

/** The index in the body of a character of a value. */
function rawIndex(body: string, { start, end, text }: Value, index: number): number {
  if (end - start === text.length) return start + index
  let at = start
  for (let count = 0; count < index; count += 1) {
    if (body[at] === '\\') at += body[at + 1] === 'u' ? 6 : 2
    else at += 1
  }
  return at
}

/** Members that begin another message, item or tool. */
const startsAnother = new Set(['role', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'name', 'title'])
/** Members of events that hold a piece of an answer. */
const pieces = new Set(
  (
    'content text delta partial_json arguments thinking reasoning_text reasoning_content reasoning refusal input ' +
    'cot_summary'
  ).split(' '),
)
/** Members that state to which of several texts a piece belongs. */
const places = new Set(['index', 'output_index', 'content_index', 'summary_index'])

/** The values of all JSON strings, by the name of their member and, in an event stream, by the text they are a piece of. */
function valuesByName(text: string): ReadonlyMap<string, readonly Value[]> {
  const isStream = /^(?:event|data|id|retry)?:/.test(text)
  const found = new Map<string, Value[]>()
  /** Counts starts of other messages at which a group had its last value. */
  const seenAt = new Map<string, number>()
  let starts = 0
  let name = ''
  let place = ''
  let type = ''
  let lineEnd = -1
  for (let open = text.indexOf('"'); open !== -1;) {
    const end = closingQuote(text, open + 1)
    if (end === -1) break
    if (isStream && open > lineEnd) {
      place = ''
      type = ''
      lineEnd = text.indexOf('\n', open)
      if (lineEnd === -1) lineEnd = text.length
    }
    const start = open + 1
    const colon = colonAfter(text, end + 1)
    if (colon !== -1) {
      name = text.slice(start, Math.min(end, start + longestName))
      if (startsAnother.has(name)) starts += 1
      if (isStream && places.has(name)) place += `,${/^\s*\d{0,9}/.exec(text.slice(colon + 1, colon + 12))?.[0].trim()}`
    } else {
      if (name === 'type') type = text.slice(start, Math.min(end, start + longestName))
      const group = `${name} ${place}`
      const values = found.get(group) ?? []
      if (values.length === 0) found.set(group, values)
      const continues = isStream
        ? pieces.has(name) && (type === '' || type === 'function' || type.endsWith('delta'))
        : name === 'text' && seenAt.get(group) === starts
      seenAt.set(group, starts)
      values.push({ start, end, text: unescaped(text.slice(start, end)), continues })
    }
    open = text.indexOf('"', end + 1)
  }
  return found
}

/** Characters; names of members that matter are shorter. */
const longestName = 40

/** The index of the quote that ends a JSON string; -1 if the text ends before. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === '\\' && at - 1 - slashes >= from) slashes += 1
    if (slashes % 2 === 0) return at
  }
  return -1
}

/** The index of the colon that makes a string the name of a member; -1 if the string is a value. */
function colonAfter(text: string, from: number): number {
  let at = from
  while (at < text.length && ' \t\r\n'.includes(text[at] ?? '')) at += 1
  return text[at] === ':' ? at : -1
}

/** The string without JSON escapes; unchanged if they are no JSON. */
function unescaped(raw: string): string {
  if (!raw.includes('\\')) return raw
  try {
    const parsed: unknown = JSON.parse(`"${raw}"`)
    return typeof parsed === 'string' ? parsed : raw
  } catch {
    return raw
  }
}
