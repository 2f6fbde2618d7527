import { isObject, parseObject, stringify } from '../../json/json.ts'
import { parseIfJson } from './json-body.ts'

// Most events of a stream repeat the previous event with another token of text. A template keeps the text around the
// token and the object that one `JSON.parse` returned. An event with exactly that text around its token needs no parse:
// the template reads the token and puts it into the object. The budget of an event needs it: to decode and normalise a
// text delta of GPT, Grok or Claude takes 0.9 µs with it and 1.9 to 2.8 µs without, of a Responses stream 1.1 and 1.5 to
// 2.2 µs, and the budget is 1.8 µs above the pipe (CPU time of the fastest run of 40, Node 24.21).

/** A member whose value differs from event to event. */
export interface TemplateField {
  readonly path: readonly (string | number)[]
  /**
   * `integer`: without a sign, at most 15 digits. `raw`: a string that callers compare or replace and never read; a match
   * does not check its characters, so it accepts control characters that `JSON.parse` refuses.
   */
  readonly kind: 'text' | 'raw' | 'integer'
}

/** The template of one stream. Owned by the stream, updated in place. */
export interface EventTemplates {
  /** [] turns templates off. */
  readonly fields: readonly TemplateField[]
  last: Template | undefined
  /** Events learned since the last matches, one off for each match. Below 0: events still to skip. */
  unmatched: number
}

interface Template {
  /** The learned event, with the field values of the last match. */
  readonly event: WireObject
  readonly learned: readonly LearnedField[]
  /** The text after the last field. */
  readonly tail: string
  /** How to write the normalised event; undefined if the event needed no change. */
  readonly normalised: NormalisedText | undefined
}

/** A field of the learned event. `start`, `end` and `isEscaped` describe the last match. */
interface LearnedField {
  /** The text between the previous field and this one. */
  readonly before: string
  /** Index among the stream's fields. */
  readonly index: number
  readonly kind: TemplateField['kind']
  /** Normalising removed the member. */
  readonly isRemoved: boolean
  readonly object: WireObject
  readonly key: string | number
  start: number
  end: number
  isEscaped: boolean
}

interface NormalisedText {
  readonly pieces: readonly NormalisedPiece[]
  readonly tail: string
}

interface NormalisedPiece {
  readonly before: string
  readonly index: number
  /** The learned field that supplies the value, or the literal that normalising added. */
  readonly source: LearnedField | string
}

/** The position of a field's literal in a JSON text. */
interface FieldSpan {
  readonly field: TemplateField
  /** Index among the stream's fields. */
  readonly index: number
  readonly start: number
  readonly end: number
}

type WireObject = { [key: string]: unknown }

/** Longer events are not learned: a template keeps its event in memory until the stream ends. Characters. */
const longestEvent = 4096

/**
 * Learning costs more than a parse. After `maxUnmatched` events that were learned and never matched, only one event in
 * `retryInterval` is learned. In a stream that alternates between shapes, one shape keeps its template.
 */
const maxUnmatched = 8
const retryInterval = 64

const QUOTE = 34
const ZERO = 48
const NINE = 57
const BACKSLASH = 92
const SPACE = 32

/** Events to skip before learning one: a short answer ends before a template pays off. */
export const eventsBeforeLearning = 4

/** @param skipped events to skip before learning one */
export function startTemplates(fields: readonly TemplateField[], skipped = 0): EventTemplates {
  return { fields, last: undefined, unmatched: -skipped }
}

/**
 * Returns what `JSON.parse` returns for the text, if the text is the learned event with other field values; else
 * undefined. The object belongs to the template and is valid until the next match; callers may change its fields only.
 */
export function matchTemplate(templates: EventTemplates, text: string): Readonly<WireObject> | undefined {
  const { last } = templates
  if (last === undefined) return undefined
  const { learned, tail } = last
  let at = 0
  for (const field of learned) {
    const start = at + field.before.length
    // Comparing slices compares memory; `startsWith` compares characters and takes up to ten times as long.
    if (text.slice(at, start) !== field.before) return undefined
    field.start = start
    at = readValue(field, text)
    if (at === -1) return undefined
    field.end = at
  }
  if (text.slice(at) !== tail) return undefined
  if (templates.unmatched > 0) templates.unmatched -= 1
  return last.event
}

/** Counts an event and returns whether it is one of those that precede learning. Spares the caller its own tests. */
export function precedesLearning(templates: EventTemplates): boolean {
  if (templates.unmatched >= 0) return false
  templates.unmatched += 1
  return true
}

/**
 * Learns an event that did not match.
 * @param normalise changes the event in place and returns whether it changed anything, or undefined to refuse the event.
 *   It may add template fields and remove them (by setting them to `undefined`), but not change their values.
 */
export function learnTemplate(
  templates: EventTemplates,
  text: string,
  normalise: (event: WireObject) => boolean | undefined,
): void {
  if (templates.fields.length === 0 || text.length > longestEvent) return
  templates.unmatched += 1
  if (templates.unmatched <= 0) return
  if (templates.unmatched > maxUnmatched) {
    if (templates.unmatched < maxUnmatched + retryInterval) return
    templates.unmatched = maxUnmatched
  }
  templates.last = toTemplate(templates.fields, text, normalise) ?? templates.last
}

/**
 * The text of the last match: as upstream wrote it if the learned event needed no change, else exactly what
 * `JSON.stringify` returns for the normalised event.
 * @param text the matched text
 * @param literals JSON literals to write instead of upstream's, by field
 */
export function renderMatch(
  { last }: EventTemplates,
  text: string,
  literals: readonly (string | undefined)[] = [],
): string {
  if (last?.normalised === undefined) return splice(text, last?.learned ?? [], literals)
  let rendered = ''
  for (const { before, index, source } of last.normalised.pieces) {
    rendered += before + (literals[index] ?? (typeof source === 'string' ? source : literalOf(source, text)))
  }
  return rendered + last.normalised.tail
}

function splice(text: string, learned: readonly LearnedField[], literals: readonly (string | undefined)[]): string {
  let spliced = ''
  let from = 0
  for (const { index, start, end } of learned) {
    const literal = literals[index]
    if (literal === undefined) continue
    spliced += text.slice(from, start) + literal
    from = end
  }
  return from === 0 ? text : spliced + text.slice(from)
}

/** The value as `JSON.stringify` writes it: upstream may have escaped other characters. */
function literalOf(field: LearnedField, text: string): string {
  const value = field.object[field.key]
  if (typeof value === 'string' && (field.isEscaped || !value.isWellFormed())) return stringify(value)
  return text.slice(field.start, field.end)
}

function readText(field: LearnedField, text: string): number {
  const { start } = field
  if (text.charCodeAt(start) !== QUOTE) return -1
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      field.isEscaped = false
      field.object[field.key] = copyOf(text.slice(start + 1, at))
      return at + 1
    }
    if (code === BACKSLASH) return readEscaped(field, text, at)
    if (code < SPACE) return -1
  }
  return -1
}

/** As `readText`, but with two native searches instead of a loop over characters. */
function readRaw(field: LearnedField, text: string): number {
  const { start } = field
  const end = text.indexOf('"', start + 1)
  if (text.charCodeAt(start) !== QUOTE || end === -1) return -1
  const raw = text.slice(start + 1, end)
  if (raw.includes('\\')) return readText(field, text)
  field.isEscaped = false
  // Not copied: the next match replaces it.
  field.object[field.key] = raw
  return end + 1
}

/** @param from offset of the first backslash */
function readEscaped(field: LearnedField, text: string, from: number): number {
  let at = from
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  const value = parseIfJson(text.slice(field.start, at + 1))
  if (typeof value !== 'string') return -1
  field.isEscaped = true
  field.object[field.key] = value
  return at + 1
}

/** Copies a slice that the template keeps: V8 lets a slice of 13 or more characters keep its whole text in memory. */
function copyOf(piece: string): string {
  return piece.length < 13 ? piece : ` ${piece}`.slice(1)
}

function readInteger(field: LearnedField, text: string): number {
  const { start } = field
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
  field.object[field.key] = value
  return at
}

/** Reads the value at the field's `start` into the event. Returns its end, or -1 for a value of another kind. */
function readValue(field: LearnedField, text: string): number {
  // Not a table of functions: V8 could not inline those.
  if (field.kind === 'text') return readText(field, text)
  return field.kind === 'raw' ? readRaw(field, text) : readInteger(field, text)
}

function toTemplate(
  fields: readonly TemplateField[],
  text: string,
  normalise: (event: WireObject) => boolean | undefined,
): Template | undefined {
  // Parse again: the template changes the object, so nothing else may hold it.
  const event = parseObject(text)
  const spans = event && findFields(fields, text)
  if (event === undefined || spans === undefined || spans.length === 0) return undefined
  // A span may lie in an object that a later duplicate key replaced.
  const isValueOf = ({ field: { path }, start, end }: FieldSpan): boolean =>
    parentOf(event, path)?.[path.at(-1) ?? ''] === JSON.parse(text.slice(start, end))
  if (!spans.every(isValueOf)) return undefined
  const isChanged = normalise(event)
  if (isChanged === undefined) return undefined
  const learned = spans.map((span, at) =>
    toLearnedField(event, span, copyOf(text.slice(spans[at - 1]?.end ?? 0, span.start))),
  )
  const normalised = isChanged ? toNormalisedText(fields, stringify(event), learned) : undefined
  if (isChanged && normalised === undefined) return undefined
  return { event, learned, tail: copyOf(text.slice(spans.at(-1)?.end)), normalised }
}

function toLearnedField(event: WireObject, { field, index, start, end }: FieldSpan, before: string): LearnedField {
  const { path, kind } = field
  const parent = parentOf(event, path)
  const key = path.at(-1) ?? ''
  const isRemoved = parent?.[key] === undefined
  // The values of a removed field go to an object that nothing reads.
  const object = isRemoved || parent === undefined ? {} : parent
  return { before, index, kind, isRemoved, object, key, start, end, isEscaped: true }
}

function toNormalisedText(
  fields: readonly TemplateField[],
  text: string,
  learned: readonly LearnedField[],
): NormalisedText | undefined {
  const spans = findFields(fields, text)
  // Every field that varies in upstream's text must vary in the normalised text.
  const isThere = ({ index, isRemoved }: LearnedField) => isRemoved || spans?.some((span) => span.index === index)
  if (spans === undefined || !learned.every(isThere)) return undefined
  const starts = [0, ...spans.map(({ end }) => end)]
  return {
    pieces: spans.map(({ index, start, end }, at) => ({
      before: text.slice(starts[at], start),
      index,
      source: learned.find((field) => field.index === index) ?? text.slice(start, end),
    })),
    tail: text.slice(starts.at(-1)),
  }
}

function parentOf(event: WireObject, path: TemplateField['path']): WireObject | undefined {
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
 * The spans of the fields in a JSON text, in order. A field that is absent or has a value of another kind has none.
 * Undefined if a key may occur twice.
 */
function findFields(fields: readonly TemplateField[], text: string): readonly FieldSpan[] | undefined {
  // A key without escapes holds no line end, so joining with line ends keeps paths distinct.
  const wanted = new Map(fields.map((field, index) => [field.path.join('\n'), { field, index }]))
  const seen = new Set<number>()
  const spans: FieldSpan[] = []
  /** The path of the next value. */
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
          // An escaped key may equal one written plainly.
          if (token.includes('\\')) return undefined
          path[path.length - 1] = token.slice(1, -1)
          isKey = false
          break
        }
        const found = wanted.get(path.join('\n'))
        if (found === undefined) break
        if (seen.has(found.index)) return undefined
        seen.add(found.index)
        const isKind = found.field.kind === 'integer' ? integer.test(token) : token.startsWith('"')
        if (isKind) spans.push({ ...found, start, end: start + token.length })
      }
    }
  }
  return spans
}
