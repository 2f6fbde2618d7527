/**
 * Where one member of a JSON object lies in the object's bytes, so that members can be replaced without serialising the
 * rest again. Offsets are bytes.
 */
export interface Member {
  /** Of the key's opening quote. */
  readonly start: number
  /** Past the key's closing quote. */
  readonly keyEnd: number
  /** Past the colon. */
  readonly valueStart: number
  /** Of the comma or brace behind the value. */
  readonly end: number
}

/** A JSON object, parsed and as it came. `members` are those of the top level, in order, duplicates included. */
export interface JsonObjectBytes {
  /** UTF-8. */
  readonly bytes: Buffer
  readonly value: Readonly<Record<string, unknown>>
  readonly members: readonly Member[]
}

export interface ScanLimits {
  /** Levels of arrays and objects. */
  readonly maxDepth: number
  /** Members at the top level. */
  readonly maxMembers: number
  /** Values at all levels, counted as commas and openings: one more for each list or object that is empty. */
  readonly maxValues: number
}

export type Scan =
  | { readonly ok: true; readonly members: readonly Member[] }
  | { readonly ok: false; readonly exceeded: keyof ScanLimits }

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BRACKET_OPEN = 0x5b
const BACKSLASH = 0x5c
const BRACKET_CLOSE = 0x5d
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d

/**
 * One pass over JSON: finds the top-level members and watches the limits, before anything is parsed. `JSON.parse` itself
 * takes seconds and gigabytes for a body that is nothing but brackets or nothing but keys. Strings are skipped by
 * `indexOf`, which makes this cheaper than the parse that follows.
 *
 * @param text one character for each byte, i.e. read as latin1: JSON's own signs are ASCII and no byte of a longer UTF-8
 *   sequence looks like one
 * @returns the members; of what is not a JSON object they mean nothing, and the parse that follows refuses it
 */
export function scanMembers(text: string, limits: ScanLimits): Scan {
  const members: Member[] = []
  let depth = 0
  let values = 0
  let start = -1
  let keyEnd = -1
  let valueStart = -1
  const close = (end: number): void => {
    if (valueStart !== -1) members.push({ start, keyEnd, valueStart, end })
    start = -1
    valueStart = -1
  }
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const opening = at
        at = closingQuote(text, opening)
        if (at === -1) return { ok: true, members }
        if (depth === 1 && start === -1) {
          start = opening
          keyEnd = at + 1
        }
        break
      }
      case COLON:
        if (depth === 1 && valueStart === -1) valueStart = at + 1
        break
      case COMMA:
        if (depth === 1) close(at)
        if (members.length > limits.maxMembers) return { ok: false, exceeded: 'maxMembers' }
        values += 1
        if (values > limits.maxValues) return { ok: false, exceeded: 'maxValues' }
        break
      case BRACE_OPEN:
      case BRACKET_OPEN:
        depth += 1
        if (depth > limits.maxDepth) return { ok: false, exceeded: 'maxDepth' }
        values += 1
        if (values > limits.maxValues) return { ok: false, exceeded: 'maxValues' }
        break
      case BRACE_CLOSE:
      case BRACKET_CLOSE:
        if (depth === 1) close(at)
        depth -= 1
        break
    }
  }
  return { ok: true, members }
}

/** The quote that ends the string opened at `opening`: the next one with an even run of backslashes before it, or -1. */
function closingQuote(text: string, opening: number): number {
  let at = text.indexOf('"', opening + 1)
  while (at !== -1) {
    let before = at - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    if ((at - before) % 2 === 1) return at
    at = text.indexOf('"', at + 1)
  }
  return -1
}

/**
 * The object after replacing, adding (at the end) or removing (value `undefined`) top-level members. What is not edited
 * stays as it came, byte for byte; nothing edited gives back the very bytes. Where a key is repeated, `JSON.parse` took
 * the last one: the object is then serialised anew, so that each key is there once.
 */
export function spliceMembers(source: JsonObjectBytes, edits: ReadonlyMap<string, unknown>): Buffer {
  const { bytes, members } = source
  if (edits.size === 0) return bytes
  const keys = members.map((member) => keyOf(bytes, member))
  const seen = new Set(keys)
  if (seen.size < keys.length) return serialiseEdited(source.value, edits)

  const kept: Buffer[] = []
  let run: { readonly start: number; end: number } | undefined
  for (const [index, member] of members.entries()) {
    // The index is in range: `keys` was mapped from `members`.
    const key = keys[index] ?? ''
    if (!edits.has(key)) {
      // Neighbours that stay are one slice, commas and spaces between them included.
      if (run) run.end = member.end
      else run = { start: member.start, end: member.end }
      continue
    }
    if (run) kept.push(bytes.subarray(run.start, run.end))
    run = undefined
    const value = edits.get(key)
    if (value !== undefined) kept.push(toMember(key, value))
  }
  if (run) kept.push(bytes.subarray(run.start, run.end))
  for (const [key, value] of edits) if (!seen.has(key) && value !== undefined) kept.push(toMember(key, value))
  return joinMembers(kept)
}

/** The object with one member replaced, to be edited further. */
export function replaceMember(source: JsonObjectBytes, key: string, value: unknown): Omit<JsonObjectBytes, 'value'> {
  const bytes = spliceMembers(source, new Map([[key, value]]))
  // The limits were kept to when it came in.
  const scan = scanMembers(bytes.toString('latin1'), { maxDepth: Infinity, maxMembers: Infinity, maxValues: Infinity })
  return { bytes, members: scan.ok ? scan.members : [] }
}

function keyOf(bytes: Buffer, member: Member): string {
  const key = bytes.toString('utf8', member.start, member.keyEnd)
  if (!key.includes('\\')) return key.slice(1, -1)
  const parsed: unknown = JSON.parse(key)
  return String(parsed)
}

function toMember(key: string, value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(key)}:${JSON.stringify(value)}`)
}

function joinMembers(members: readonly Buffer[]): Buffer {
  const comma = Buffer.from(',')
  const pieces = members.flatMap((member, index) => (index === 0 ? [member] : [comma, member]))
  return Buffer.concat([Buffer.from('{'), ...pieces, Buffer.from('}')])
}

function serialiseEdited(value: Readonly<Record<string, unknown>>, edits: ReadonlyMap<string, unknown>): Buffer {
  // JSON.stringify leaves out members that are undefined, which is what removing one means here.
  return Buffer.from(JSON.stringify({ ...value, ...Object.fromEntries(edits) }))
}
