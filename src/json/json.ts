import { Fault } from '../errors.ts'
import { scanMembers } from './json-members.ts'
import type { ScanLimits } from './json-members.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/** A JSON object; neither null nor an array. */
export function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const maxKeys = 100_000

/**
 * The limits of every text that a caller, a client or a provider of tools sends. The depth is more than any real tool
 * schema needs and less than recursive serialisers can handle. OpenAI's APIs have some 40 members. A message with a text part has 6
 * values and one with a tool call 10, so 100,000 messages fit. `JSON.parse` takes 0.2 s for that many values (Node 24.21).
 */
export const callerJsonLimits: ScanLimits = {
  maxDepth: 500,
  maxMembers: 1000,
  maxValues: 1_500_000,
  maxKeys,
}

/** The end of a sentence about a text that exceeds a limit. */
export function describeExceeded(exceeded: keyof ScanLimits, limits: ScanLimits): string {
  switch (exceeded) {
    case 'maxDepth':
      return `the JSON is nested deeper than ${limits.maxDepth} levels`
    case 'maxMembers':
      return `more than ${limits.maxMembers} top-level members`
    case 'maxValues':
      return `more than ${limits.maxValues} JSON values`
    case 'maxKeys':
      return `more than ${limits.maxKeys} different JSON keys`
  }
}

/** Code that walks or writes a value recursively bears some thousands of levels. */
const otherJsonLimits: ScanLimits = { ...callerJsonLimits, maxDepth: 1000, maxMembers: Infinity }

/** Whether a text is nested too deeply, or has too many values, to be parsed. */
export function isTooComplex(text: string): boolean {
  // Each level takes at least two characters, so the short events of an ordinary stream skip the scan.
  if (text.length <= 2 * otherJsonLimits.maxDepth) return false
  // A key takes at least four characters, so a text this long has fewer than the limit, and few brackets are no deep nesting.
  // Only other texts are scanned: V8 loads its optimising compiler for the scan of a model list (5 MB of memory).
  const isLong = text.length > 4 * maxKeys
  return (isLong || hasMany(text, otherJsonLimits.maxDepth)) && !scanMembers(text, otherJsonLimits).ok
}

/** Ends a sentence about a text that is too complex. */
export const tooComplex = 'is nested too deeply or has too many values'

/** Whether a text has more opening brackets and braces than `most`. */
function hasMany(text: string, most: number): boolean {
  let count = 0
  for (const opening of '[{') {
    for (let at = text.indexOf(opening); at !== -1; at = text.indexOf(opening, at + 1)) {
      count += 1
      if (count > most) return true
    }
  }
  return false
}

type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string }

/**
 * Parses a text of a caller after checking its limits in linear time: the parse itself would take seconds for megabytes of
 * small values. `problem` ends a sentence and quotes nothing.
 */
export function parseCallerJson(text: string): Parsed {
  const scan = scanMembers(text, callerJsonLimits)
  if (!scan.ok) return { ok: false, problem: describeExceeded(scan.exceeded, callerJsonLimits) }
  try {
    const value: unknown = JSON.parse(text)
    return { ok: true, value }
  } catch {
    return { ok: false, problem: 'it is not valid JSON' }
  }
}

/** Undefined for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Undefined for a text that is not JSON, not an object, or too complex. */
export function parseObject(text: string): { [key: string]: unknown } | undefined {
  if (isTooComplex(text)) return undefined
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

/**
 * As `parseObject`, for a text that a model wrote. Some models write line breaks and tabs into strings without escaping them,
 * which has only one reading.
 */
export function parseWrittenObject(text: string): { [key: string]: unknown } | undefined {
  return (
    parseObject(text) ??
    parseObject(text.replaceAll(stringToken, (token) => token.replaceAll(escapeOrControl, escapeControl)))
  )
}

const stringToken = /"(?:[^"\\]|\\[^])*"/g
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const escapeOrControl = /\\[^]|[\u0000-\u001f]/g

/** A backslash before a real line break means the line break. */
function escapeControl(found: string): string {
  const last = found.slice(-1)
  return last < ' ' ? JSON.stringify(last).slice(1, -1) : found
}

export function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** An object; an empty one if the value is none. */
export function objectOf(value: unknown): { [key: string]: unknown } {
  return isObject(value) ? value : {}
}

/** The objects in an array; [] if the value is no array. */
export function objectsOf(value: unknown): { [key: string]: unknown }[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** A text; '' if the value is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Whether a member is there: many clients and libraries send null for what they leave out. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** A token count; 0 if upstream states none. */
export function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** @throws Fault `upstream_unusable` for a value nested more deeply than the runtime can write */
export function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it sent a JSON event that is nested too deeply' }, { cause })
  }
}
