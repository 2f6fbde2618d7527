/**
 * The position of one member in the bytes of a JSON object. Lets us replace members without serialising the others.
 * Offsets are bytes.
 */
export interface Member {
  /** Of the key's opening quote. */
  readonly start: number
  /** Past the key's closing quote. */
  readonly keyEnd: number
  /** Past the colon. */
  readonly valueStart: number
  /** Offset of the comma or brace after the value. */
  readonly end: number
}

/** A JSON object, parsed and as received. `members` are the top-level ones in order, with duplicates. */
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
  /** Values at all levels, counted as commas and opening brackets, so an empty list or object counts twice. */
  readonly maxValues: number
  /**
   * Different keys at all levels, apart from those among the first `uncountedKeys` members. Default: no limit. `JSON.parse`
   * takes ten times as long for a key that it has not seen (Node 24.21).
   */
  readonly maxKeys?: number
}

/** Ordinary requests have fewer members, so that counting their different keys takes no time. */
const uncountedKeys = 100_000

export type Scan =
  | { readonly ok: true; readonly members: readonly Member[] }
  | { readonly ok: false; readonly exceeded: keyof ScanLimits }

/** For a text whose limits were checked before. */
const noLimits: ScanLimits = { maxDepth: Infinity, maxMembers: Infinity, maxValues: Infinity }

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BRACKET_OPEN = 0x5b
const BACKSLASH = 0x5c
const BRACKET_CLOSE = 0x5d
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d

/**
 * Finds the top-level members of a JSON object and checks limits in one pass, before a parse. `JSON.parse` takes seconds
 * and gigabytes for a body of brackets or keys only. The scan skips strings by `indexOf`, which makes it cheaper than the
 * parse.
 *
 * @param text one character per byte, that is, read as latin1: JSON's syntax is ASCII, and no byte of a longer UTF-8
 *   sequence looks like ASCII
 * @returns the members; meaningless for a text that is not a JSON object, which the later parse refuses
 */
export function scanMembers(text: string, limits: ScanLimits = noLimits): Scan {
  const members: Member[] = []
  let depth = 0
  let values = 0
  let start = -1
  let keyEnd = -1
  let valueStart = -1
  let keys = 0
  const differentKeys = new Set<string>()
  const { maxKeys = Infinity } = limits
  /** The last string. */
  let stringStart = 0
  let stringEnd = 0
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
        stringStart = opening
        stringEnd = at
        if (depth === 1 && start === -1) {
          start = opening
          keyEnd = at + 1
        }
        break
      }
      case COLON:
        if (depth === 1 && valueStart === -1) valueStart = at + 1
        keys += 1
        if (keys > uncountedKeys && maxKeys < Infinity) {
          differentKeys.add(text.slice(stringStart, stringEnd))
          if (differentKeys.size > maxKeys) return { ok: false, exceeded: 'maxKeys' }
        }
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
 * Replaces, appends or (with `undefined`) removes top-level members. Other members keep their bytes, and so does what a new
 * value shares with the old one: elements that are objects of the old array, and members that are identical. Without edits
 * the result is the same buffer. An object with a repeated key is serialised again, with the last value, as `JSON.parse` reads
 * it.
 */
export function spliceMembers(source: JsonObjectBytes, edits: ReadonlyMap<string, unknown>): Buffer {
  return spliceObject(source, edits, 0)
}

function spliceObject(source: JsonObjectBytes, edits: ReadonlyMap<string, unknown>, depth: number): Buffer {
  const { bytes, members } = source
  if (edits.size === 0) return bytes
  const keys = members.map((member) => keyOf(bytes, member))
  const seen = new Set(keys)
  if (seen.size < keys.length) {
    // JSON.stringify omits members that are undefined, which removes them.
    return Buffer.from(JSON.stringify({ ...source.value, ...Object.fromEntries(edits) }))
  }

  const kept: Buffer[] = []
  let run: { readonly start: number; end: number } | undefined
  for (const [index, member] of members.entries()) {
    // The index is in range: `keys` was mapped from `members`.
    const key = keys[index] ?? ''
    if (!edits.has(key)) {
      // Unedited neighbours are one slice, with the commas and spaces between them.
      if (run) run.end = member.end
      else run = { start: member.start, end: member.end }
      continue
    }
    if (run) kept.push(bytes.subarray(run.start, run.end))
    run = undefined
    const value = edits.get(key)
    if (value !== undefined) kept.push(replacedMember(source, member, key, value, depth))
  }
  if (run) kept.push(bytes.subarray(run.start, run.end))
  for (const [key, value] of edits) if (!seen.has(key) && value !== undefined) kept.push(toMember(key, value))
  return joined('{', kept, '}')
}

/** The pieces with commas between them. */
function joined(open: string, pieces: readonly Buffer[], close: string): Buffer {
  const comma = Buffer.from(',')
  const separated = pieces.flatMap((piece, index) => (index === 0 ? [piece] : [comma, piece]))
  return Buffer.concat([Buffer.from(open), ...separated, Buffer.from(close)])
}

function replacedMember(source: JsonObjectBytes, member: Member, key: string, value: unknown, depth: number): Buffer {
  const { bytes, value: whole } = source
  const spliced = spliceValue(bytes.subarray(member.valueStart, member.end), whole[key], value, depth)
  return Buffer.concat([Buffer.from(`${JSON.stringify(key)}:`), spliced])
}

/** Each level reads the bytes of the value once more. */
const deepestSplice = 8

/** Writes `after`, with the bytes of what it shares with `before`. @param bytes of `before` */
function spliceValue(bytes: Buffer, before: unknown, after: unknown, depth: number): Buffer {
  if (depth <= deepestSplice && isReference(before) && isReference(after)) {
    if (before === after) return bytes
    if (Array.isArray(before) && Array.isArray(after)) {
      const ranges = scanElements(bytes.toString('latin1'))
      if (ranges.length === before.length) return spliceElements(bytes, ranges, before, after, depth)
    } else if (isRecord(before) && isRecord(after) && keepsOrder(before, after)) {
      if (depth > 0 && isWrittenByStringify(bytes, before)) return Buffer.from(JSON.stringify(after))
      const scan = scanMembers(bytes.toString('latin1'))
      if (scan.ok && scan.members.length > 0) {
        return spliceObject({ bytes, value: before, members: scan.members }, changedMembers(before, after), depth + 1)
      }
    }
  }
  // `undefined` in an array is written as null, as by JSON.stringify.
  return Buffer.from(JSON.stringify(after ?? null))
}

/** Bytes. Larger values have mostly one change, for which copying the others is faster. */
const mostCompared = 64 * 1024

/** Serialising the value again gives the same bytes, so that what a changed value keeps of it is written as before. */
function isWrittenByStringify(bytes: Buffer, value: object): boolean {
  return bytes.length <= mostCompared && bytes.toString('utf8') === JSON.stringify(value)
}

interface Range {
  readonly start: number
  readonly end: number
}

function spliceElements(
  bytes: Buffer,
  ranges: readonly Range[],
  before: readonly unknown[],
  after: readonly unknown[],
  depth: number,
): Buffer {
  const places = new Map(before.flatMap((element, at) => (isReference(element) ? [[element, at] as const] : [])))
  const isMapped = before.length === after.length
  const pieces = after.map((element, at) => {
    const place = isReference(element) ? places.get(element) : undefined
    const range = ranges[place ?? at]
    // An element of a longer or shorter list may come from any other, so it is written anew.
    if (range === undefined || (place === undefined && !isMapped)) return Buffer.from(JSON.stringify(element ?? null))
    return spliceValue(bytes.subarray(range.start, range.end), before[place ?? at], element, depth + 1)
  })
  return joined('[', pieces, ']')
}

/** Splicing keeps the order of members and adds new ones at the end. */
function keepsOrder(before: object, after: object): boolean {
  const keys = Object.keys(after)
  const shared = Object.keys(before).filter((key) => Object.hasOwn(after, key))
  return shared.every((key, at) => key === keys[at])
}

function isReference(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isRecord(value: object): value is Readonly<Record<string, unknown>> {
  return !Array.isArray(value)
}

/** The elements of a JSON array in a valid text, one character per byte. */
function scanElements(text: string): readonly Range[] {
  const ranges: Range[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = closingQuote(text, at)
        if (at === -1) return []
        break
      case COMMA:
        if (depth !== 1) break
        ranges.push({ start, end: at })
        start = at + 1
        break
      case BRACE_OPEN:
      case BRACKET_OPEN:
        depth += 1
        if (depth === 1) start = at + 1
        break
      case BRACE_CLOSE:
      case BRACKET_CLOSE:
        depth -= 1
        // An empty array has no element.
        if (depth === 0 && (ranges.length > 0 || text.slice(start, at).trim() !== '')) ranges.push({ start, end: at })
        break
    }
  }
  return ranges
}

/** Edits for `spliceMembers`: the top-level members whose values are not identical. */
export function changedMembers(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, unknown> {
  const changed = new Map(Object.entries(after).filter(([key, value]) => before[key] !== value))
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) changed.set(key, undefined)
  return changed
}

/** Replaces one member and scans the result, for further edits. */
export function replaceMember(source: JsonObjectBytes, key: string, value: unknown): Omit<JsonObjectBytes, 'value'> {
  const bytes = spliceMembers(source, new Map([[key, value]]))
  const scan = scanMembers(bytes.toString('latin1'))
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
