import { Fault } from '../../errors.ts'
import { refuseValue } from './invalid.ts'
import { jsonFaultAt, lineAndColumn } from './json-fault.ts'
import { scanMembers, type JsonObjectBytes, type Member, type ScanLimits } from '../../json/json-members.ts'
import { parseObject } from '../../json/json.ts'

export interface ParsedBody {
  readonly value: unknown
  /** The top-level members; meaningless unless `value` is an object. */
  readonly members: readonly Member[]
}

/**
 * Parses a request body, after checking that it cannot exhaust the parser or later code.
 *
 * @param scanned the body for `scanMembers`: read as latin1 if the caller uses `members`
 * @throws Fault `invalid_request` beyond a limit, `malformed_body` naming line and column
 */
export function parseBody(text: string, limits: ScanLimits, scanned: string = text): ParsedBody {
  const scan = scanMembers(scanned, limits)
  if (!scan.ok) refuseScan(scan.exceeded, limits)
  return { value: parseJson(text), members: scan.members }
}

/** A body that was sent, whose limits were checked when it came in; undefined if it is no JSON object. */
export function parseObjectBytes(bytes: Buffer): JsonObjectBytes | undefined {
  const value = parseObject(bytes.toString('utf8'))
  const scan = scanMembers(bytes.toString('latin1'))
  return value !== undefined && scan.ok ? { bytes, value, members: scan.members } : undefined
}

function refuseScan(exceeded: keyof ScanLimits, limits: ScanLimits): never {
  switch (exceeded) {
    case 'maxDepth':
      return refuseValue('', `the JSON is nested deeper than ${limits.maxDepth} levels`, 'nesting_too_deep')
    case 'maxMembers':
      return refuseValue('', `more than ${limits.maxMembers} top-level members`, 'too_many_members')
    case 'maxValues':
      return refuseValue('', `more than ${limits.maxValues} JSON values`, 'too_many_values')
  }
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
