import { isObject, parseObject, stringify } from './wire-json.ts'

// Nearly all events of a stream are one token of text in exactly the wrapping of the event before. Where the wrapping is
// the same, character by character, `JSON.parse` has nothing to find out but the token: a template is the text around
// it, and the object that was parsed once, in which the token is replaced.

/** A member whose value differs from event to event. */
export interface Hole {
  readonly path: readonly (string | number)[]
  /**
   * An integer is one without a sign, of at most 15 digits. A mark is a text that is compared or replaced and never read,
   * so that nobody looks at its characters one by one: where `JSON.parse` would refuse a control character in it, a match
   * does not.
   */
  readonly kind: 'text' | 'mark' | 'integer'
}

/** What one stream's events look like. Owned by one stream, updated in place. */
export interface EventTemplates {
  /** None at all turns templates off. */
  readonly holes: readonly Hole[]
  last: Template | undefined
  /** How many more events were learned than matched, lately. Below 0: how many are still let go. */
  unmatched: number
}

interface Template {
  /** The event that was learned; holds what the last match read. */
  readonly event: WireObject
  readonly slots: readonly Slot[]
  /** What follows the last slot. */
  readonly tail: string
  /** The event's text after it was mended; undefined where nothing had to be. */
  readonly mended: MendedText | undefined
}

/** A hole of the learned event. `start`, `end` and `isEscaped` are of the last match. */
interface Slot {
  /** What stands between the slot before it and this one. */
  readonly before: string
  readonly hole: number
  readonly kind: Hole['kind']
  /** Mending removed it. */
  readonly isGone: boolean
  readonly object: WireObject
  readonly key: string | number
  start: number
  end: number
  isEscaped: boolean
}

interface MendedText {
  readonly pieces: readonly MendedPiece[]
  readonly tail: string
}

interface MendedPiece {
  readonly before: string
  readonly hole: number
  /** Where its value comes from; a literal where mending brought it in. */
  readonly source: Slot | string
}

/** Where the literal of a hole lies in a text. */
interface Place {
  readonly hole: number
  readonly start: number
  readonly end: number
}

type WireObject = { [key: string]: unknown }

/** Longer events are not learned: a template holds one as long as its stream lasts. Characters. */
const longestEvent = 4096

/**
 * After this many events that were learned in vain, only one of `rarely` is: each costs more than a parse. Of shapes that
 * take turns, one stays.
 */
const patience = 8
const rarely = 64

const QUOTE = 34
const ZERO = 48
const NINE = 57
const BACKSLASH = 92
const SPACE = 32

/** So many events go by before the first is learned: a short answer would be over before it is worth anything. */
export const eventsLetGo = 4

/** @param letGo how many events go by before the first is learned */
export function startTemplates(holes: readonly Hole[], letGo = 0): EventTemplates {
  return { holes, last: undefined, unmatched: -letGo }
}

/**
 * What `JSON.parse` would make of the text, where it is the learned event with other values in its holes; undefined
 * where it is not, or is not known to be. The object is the template's own: it is right until the next match, and nothing
 * but its holes may be changed.
 */
export function matchTemplate(templates: EventTemplates, text: string): Readonly<WireObject> | undefined {
  const { last } = templates
  if (last === undefined) return undefined
  const { slots, tail } = last
  let at = 0
  for (const slot of slots) {
    const start = at + slot.before.length
    // A comparison of strings is one of memory; `startsWith` goes by characters, and takes up to ten times as long.
    if (text.slice(at, start) !== slot.before) return undefined
    slot.start = start
    at = readValue(slot, text)
    if (at === -1) return undefined
    slot.end = at
  }
  if (text.slice(at) !== tail) return undefined
  if (templates.unmatched > 0) templates.unmatched -= 1
  return last.event
}

/**
 * Learns an event that did not match.
 * @param mend repairs the event in place and returns whether it repaired anything; undefined where the event is none to
 *   learn. Of holes it can do no more than remove them, which `undefined` does: of what was removed nothing comes back
 */
export function learnTemplate(
  templates: EventTemplates,
  text: string,
  mend: (event: WireObject) => boolean | undefined,
): void {
  if (templates.holes.length === 0 || text.length > longestEvent) return
  templates.unmatched += 1
  if (templates.unmatched <= 0) return
  if (templates.unmatched > patience) {
    if (templates.unmatched < patience + rarely) return
    templates.unmatched = patience
  }
  templates.last = toTemplate(templates.holes, text, mend) ?? templates.last
}

/**
 * The text of the event that matched last, mended as the learned one was: character by character what `JSON.stringify`
 * makes of the mended event.
 * @param text what was matched
 * @param literals JSON to put in place of upstream's, by hole
 */
export function renderMatch(
  { last }: EventTemplates,
  text: string,
  literals: readonly (string | undefined)[] = [],
): string {
  if (last?.mended === undefined) return splice(text, last?.slots ?? [], literals)
  let rendered = ''
  for (const { before, hole, source } of last.mended.pieces) {
    rendered += before + (literals[hole] ?? (typeof source === 'string' ? source : literalOf(source, text)))
  }
  return rendered + last.mended.tail
}

function splice(text: string, slots: readonly Slot[], literals: readonly (string | undefined)[]): string {
  let spliced = ''
  let from = 0
  for (const { hole, start, end } of slots) {
    const literal = literals[hole]
    if (literal === undefined) continue
    spliced += text.slice(from, start) + literal
    from = end
  }
  return from === 0 ? text : spliced + text.slice(from)
}

/** As `JSON.stringify` writes it, which differs where upstream had a choice: in what is escaped. */
function literalOf(slot: Slot, text: string): string {
  const value = slot.object[slot.key]
  if (typeof value === 'string' && (slot.isEscaped || !value.isWellFormed())) return stringify(value)
  return text.slice(slot.start, slot.end)
}

function readText(slot: Slot, text: string): number {
  const { start } = slot
  if (text.charCodeAt(start) !== QUOTE) return -1
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      slot.isEscaped = false
      slot.object[slot.key] = ownCopy(text.slice(start + 1, at))
      return at + 1
    }
    if (code === BACKSLASH) return readEscaped(slot, text, at)
    if (code < SPACE) return -1
  }
  return -1
}

/** As `readText`, by two searches that take no time to speak of, however long the text is. */
function readMark(slot: Slot, text: string): number {
  const { start } = slot
  const end = text.indexOf('"', start + 1)
  if (text.charCodeAt(start) !== QUOTE || end === -1) return -1
  const mark = text.slice(start + 1, end)
  if (mark.includes('\\')) return readText(slot, text)
  slot.isEscaped = false
  // No copy: the next match puts another in its place.
  slot.object[slot.key] = mark
  return end + 1
}

/** @param from of the first backslash */
function readEscaped(slot: Slot, text: string, from: number): number {
  let at = from
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  const value = parseString(text.slice(slot.start, at + 1))
  if (value === undefined) return -1
  slot.isEscaped = true
  slot.object[slot.key] = value
  return at + 1
}

function parseString(literal: string): string | undefined {
  try {
    const value: unknown = JSON.parse(literal)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** A slice of 13 characters or more keeps all of its text in memory, and these are kept while the stream lasts. */
function ownCopy(piece: string): string {
  return piece.length < 13 ? piece : ` ${piece}`.slice(1)
}

function readInteger(slot: Slot, text: string): number {
  const { start } = slot
  let value = 0
  let at = start
  while (at < start + 16) {
    const code = text.charCodeAt(at)
    if (!(code >= ZERO && code <= NINE)) break
    value = value * 10 + code - ZERO
    at += 1
  }
  const digits = at - start
  if (digits === 0 || digits === 16 || (digits > 1 && text.charCodeAt(start) === ZERO)) return -1
  slot.object[slot.key] = value
  return at
}

/** Reads a value where the slot starts. Returns where it ends, -1 where it is of another kind. */
function readValue(slot: Slot, text: string): number {
  // Not by a table of functions, which V8 cannot compile into its caller.
  if (slot.kind === 'text') return readText(slot, text)
  return slot.kind === 'mark' ? readMark(slot, text) : readInteger(slot, text)
}

const nowhere: Hole = { path: [], kind: 'text' }

function toTemplate(
  holes: readonly Hole[],
  text: string,
  mend: (event: WireObject) => boolean | undefined,
): Template | undefined {
  // Parsed again: nobody else may hold the object.
  const event = parseObject(text)
  const places = event && findHoles(holes, text)
  if (event === undefined || places === undefined || places.length === 0) return undefined
  // Else a member is not the one that counts.
  if (!places.every((place) => valueIn(event, holes, place) === JSON.parse(text.slice(place.start, place.end)))) {
    return undefined
  }
  const isMended = mend(event)
  if (isMended === undefined) return undefined
  const slots = places.map((place, at) =>
    toSlot(event, holes, place, ownCopy(text.slice(places[at - 1]?.end ?? 0, place.start))),
  )
  const mended = isMended ? toMendedText(holes, stringify(event), slots) : undefined
  if (isMended && mended === undefined) return undefined
  return { event, slots, tail: ownCopy(text.slice(places.at(-1)?.end)), mended }
}

function toSlot(event: WireObject, holes: readonly Hole[], { hole, start, end }: Place, before: string): Slot {
  const { path, kind } = holes[hole] ?? nowhere
  const parent = parentOf(event, path)
  const key = path.at(-1) ?? ''
  const isGone = parent?.[key] === undefined
  // What is read for a hole that mending removed is forgotten.
  const object = isGone || parent === undefined ? {} : parent
  return { before, hole, kind, isGone, object, key, start, end, isEscaped: true }
}

function valueIn(event: WireObject, holes: readonly Hole[], { hole }: Place): unknown {
  const { path = [] } = holes[hole] ?? {}
  return parentOf(event, path)?.[path.at(-1) ?? '']
}

function toMendedText(holes: readonly Hole[], text: string, slots: readonly Slot[]): MendedText | undefined {
  const places = findHoles(holes, text)
  // What upstream's text varies must vary in the mended one.
  const isThere = ({ hole, isGone }: Slot) => isGone || places?.some((place) => place.hole === hole)
  if (places === undefined || !slots.every(isThere)) return undefined
  const starts = [0, ...places.map(({ end }) => end)]
  return {
    pieces: places.map(({ hole, start, end }, at) => ({
      before: text.slice(starts[at], start),
      hole,
      source: slots.find((slot) => slot.hole === hole) ?? text.slice(start, end),
    })),
    tail: text.slice(starts.at(-1)),
  }
}

function parentOf(event: WireObject, path: Hole['path']): WireObject | undefined {
  let value: unknown = event
  for (const key of path.slice(0, -1)) {
    if (Array.isArray(value)) value = value[Number(key)]
    else value = isObject(value) ? value[key] : undefined
  }
  return isObject(value) ? value : undefined
}

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g
const integer = /^(?:0|[1-9]\d{0,14})$/

/**
 * Where the holes lie in a JSON text, in order. A hole that is not there, or has a value of another kind, has no place.
 * Undefined where a key may be there twice.
 */
function findHoles(holes: readonly Hole[], text: string): readonly Place[] | undefined {
  // No key that is not escaped has a line end in it, so that paths joined by it are as different as they were.
  const wanted = new Map(holes.map(({ path }, at) => [path.join('\n'), at]))
  const seen = new Set<number>()
  const places: Place[] = []
  /** Of the value that comes next: for each object and list around it, which member it is in. */
  const path: (string | number)[] = []
  let isKey = false
  for (const { 0: token, index: start } of text.matchAll(tokens)) {
    switch (token) {
      case '{':
        path.push('')
        isKey = true
        break
      case '[':
        path.push(0)
        isKey = false
        break
      case '}':
      case ']':
        path.pop()
        break
      case ',': {
        const member = path.pop()
        isKey = typeof member !== 'number'
        path.push(typeof member === 'number' ? member + 1 : '')
        break
      }
      case ':':
        break
      default: {
        if (isKey) {
          // The same key can be written with escapes and without.
          if (token.includes('\\')) return undefined
          path[path.length - 1] = token.slice(1, -1)
          isKey = false
          break
        }
        const hole = wanted.get(path.join('\n'))
        if (hole === undefined) break
        if (seen.has(hole)) return undefined
        seen.add(hole)
        const isKind = holes[hole]?.kind === 'integer' ? integer.test(token) : token.startsWith('"')
        if (isKind) places.push({ hole, start, end: start + token.length })
      }
    }
  }
  return places
}
