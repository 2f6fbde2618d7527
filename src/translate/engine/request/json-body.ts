import { Fault } from '../../../errors.ts'
import { refuseValue, formatPath, refuseType } from './invalid.ts'
import { scanMembers, type JsonObjectBytes, type ScanLimits } from '../../../json/json-members.ts'
import { describeExceeded, parseObject, type JsonObject } from '../../../json/json.ts'
import type { z } from 'zod'
import { valueAt } from '../../../json/value-at.ts'

/**
 * Parses a request body, after checking that it cannot exhaust the parser or later code. Returns the value and its
 * top-level members, which mean nothing unless the value is an object.
 *
 * @param bytes the UTF-8 of `text`, if the caller uses `members`
 * @throws Fault `invalid_request` beyond a limit, `malformed_body` naming line and column
 */
export function parseBody(text: string, limits: ScanLimits, bytes?: Buffer) {
  // If the text has as many characters as bytes, it is ASCII and equals its latin1 decoding.
  const isAscii = bytes === undefined || text.length === bytes.length
  const scan = scanMembers(isAscii ? text : bytes.toString('latin1'), limits)
  if (!scan.ok) refuseScan(scan.exceeded, limits)
  return { value: parseJson(text), members: scan.members }
}

/** A body that was sent, whose limits were checked when it came in; undefined if it is no JSON object. */
export function parseObjectBytes(bytes: Buffer): JsonObjectBytes | undefined {
  const value = parseObject(bytes.toString('utf8'))
  const scan = scanMembers(bytes.toString('latin1'))
  return value !== undefined && scan.ok ? { bytes, value, members: scan.members } : undefined
}

const scanCodes = {
  maxDepth: 'nesting_too_deep',
  maxMembers: 'too_many_members',
  maxValues: 'too_many_values',
  maxKeys: 'too_many_keys',
} satisfies Record<keyof ScanLimits, string>

function refuseScan(exceeded: keyof ScanLimits, limits: ScanLimits): never {
  refuseValue('', describeExceeded(exceeded, limits), scanCodes[exceeded])
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // No cause: causes are logged, and V8's message quotes the body.
    throw new Fault({ kind: 'malformed_body', detail: faultDetail(text) })
  }
}

/** Names the position and quotes nothing, because the body may hold secrets. */
function faultDetail(text: string): string {
  if (text.trim() === '') return 'the body is empty; send a JSON object'
  const at = jsonFaultAt(text) ?? 0
  const { line, column } = lineAndColumn(text, at)
  const position = `line ${line}, column ${column} (position ${at})`
  return at === text.length ? `the JSON ends too early at ${position}` : `not valid JSON at ${position}`
}

const LINE_END = 0x0a
const SPACE = /[ \t\n\r]*/y
const LITERAL = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
// All characters from the space on, except the quote and the backslash.
const PLAIN = /[ !#-[\]-\uffff]*/y

/**
 * The offset of the first syntax error in a JSON text: `text.length` if the text ends too early, undefined if it is valid.
 * Run after `JSON.parse` has thrown: V8's message lacks the position of some errors, and quotes the body, which must not
 * reach a log.
 */
export function jsonFaultAt(text: string): number | undefined {
  const closers: string[] = []
  let at = skip(SPACE, text, 0)
  let expects: 'value' | 'value-or-close' | 'key' | 'key-or-close' | 'comma-or-close' = 'value'
  for (;;) {
    const char = text[at]
    if (expects.endsWith('close') && char !== undefined && char === closers.at(-1)) {
      closers.pop()
      at += 1
      expects = 'comma-or-close'
    } else if (expects === 'comma-or-close') {
      if (char !== ',') return at
      at += 1
      expects = closers.at(-1) === '}' ? 'key' : 'value'
    } else if (expects.startsWith('key')) {
      if (char !== '"') return at
      const key = stringEnd(text, at)
      if (!key.ok) return key.at
      at = skip(SPACE, text, key.at)
      if (text[at] !== ':') return at
      at += 1
      expects = 'value'
    } else if (char === '{' || char === '[') {
      closers.push(char === '{' ? '}' : ']')
      at += 1
      expects = char === '{' ? 'key-or-close' : 'value-or-close'
    } else if (char === '"') {
      const string = stringEnd(text, at)
      if (!string.ok) return string.at
      at = string.at
      expects = 'comma-or-close'
    } else {
      const end = skip(LITERAL, text, at)
      if (end === at) return at
      at = end
      expects = 'comma-or-close'
    }
    at = skip(SPACE, text, at)
    if (closers.length === 0) return at === text.length ? undefined : at
  }
}

/** Line and column of an offset, both from 1. A line ends at `\n`. */
export function lineAndColumn(text: string, at: number): { readonly line: number; readonly column: number } {
  let line = 1
  let lineStart = 0
  // A loop over characters: `indexOf` per line takes four times as long for a text of mostly line ends.
  for (let next = 0; next < at; next += 1) {
    if (text.charCodeAt(next) !== LINE_END) continue
    line += 1
    lineStart = next + 1
  }
  return { line, column: at - lineStart + 1 }
}

function stringEnd(text: string, opening: number): { readonly ok: boolean; readonly at: number } {
  let at = opening + 1
  for (;;) {
    at = skip(PLAIN, text, at)
    if (text[at] === '"') return { ok: true, at: at + 1 }
    const end = skip(ESCAPE, text, at)
    if (end === at) return { ok: false, at }
    at = end
  }
}

/** The end of the sticky pattern's match at `at`, or `at` itself. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

/**
 * Creates the check of a body against a schema. It runs the schemas of the members that are present, in the order of the
 * schema: a body has a few of some thirty members. zod's own check of the object makes a copy that nobody reads, 2.3 KB a
 * request, and compiles a function at the first request (Node 24.21). The schema may have no refinements of its own.
 * @returns a function that throws Fault `invalid_request` for the first wrong member
 */
export function createMemberCheck({ shape }: z.ZodObject<Readonly<Record<string, z.ZodType>>>) {
  let members: readonly { readonly key: string; readonly schema: z.ZodType; readonly isOptional: boolean }[] | undefined
  return (value: JsonObject): void => {
    members ??= Object.entries(shape).map(([key, schema]) => {
      return { key, schema, isOptional: schema.safeParse(undefined).success }
    })
    for (const { key, schema, isOptional } of members) {
      const member = value[key]
      if (member === undefined && isOptional) continue
      const issue = schema.safeParse(member).error?.issues[0]
      if (issue === undefined) continue
      const path = [key, ...issue.path]
      refuseType(formatPath(path), issue.message, valueAt(value, path))
    }
  }
}
