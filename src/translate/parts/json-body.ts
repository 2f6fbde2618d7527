import { Fault } from '../../errors.ts'
import { refuseValue } from './invalid.ts'
import { jsonFaultAt, lineAndColumn } from './json-fault.ts'
import { scanMembers, type Member, type ScanLimits } from './json-members.ts'

export interface ParsedBody {
  readonly value: unknown
  /** As `scanMembers` finds them; without meaning where `value` is not an object. */
  readonly members: readonly Member[]
}

/**
 * Parses a request body after checking that it is not built to exhaust the parser or what walks the value later.
 *
 * @param scanned the body as `scanMembers` reads it; one character for each byte where the members matter
 * @throws Fault `invalid_request` beyond a limit, `malformed_body` naming line and column
 */
export function parseBody(text: string, limits: ScanLimits, scanned: string = text): ParsedBody {
  const scan = scanMembers(scanned, limits)
  if (!scan.ok) refuseScan(scan.exceeded, limits)
  return { value: parseJson(text), members: scan.members }
}

function refuseScan(exceeded: keyof ScanLimits, limits: ScanLimits): never {
  switch (exceeded) {
    case 'maxDepth':
      return refuseValue('', `JSON nested deeper than ${limits.maxDepth} levels`, 'nesting_too_deep')
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
    // Without a cause: V8's message quotes the body, and causes are logged.
    throw new Fault({ kind: 'malformed_body', detail: faultDetail(text) })
  }
}

/** Says where, and nothing of what: the body may hold anything. */
function faultDetail(text: string): string {
  if (text.trim() === '') return 'the body is empty, expected a JSON object'
  const at = jsonFaultAt(text) ?? 0
  const { line, column } = lineAndColumn(text, at)
  const place = `line ${line}, column ${column} (position ${at})`
  return at === text.length ? `the JSON ends too early, at ${place}` : `not valid JSON at ${place}`
}
