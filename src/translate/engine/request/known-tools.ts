import { isObject } from '../../../json/json.ts'
import type { Member } from '../../../json/json-members.ts'

/** Bytes. Fitting shorter lists takes no time worth saving. */
const shortest = 4096
/** Bytes of all lists together. Their values take about five times as much. */
const mostBytes = 1024 * 1024

interface KnownList {
  /** Of `tools` in a request. */
  readonly bytes: Buffer
  readonly tools: unknown
}

const key = Buffer.from('"tools"')

/**
 * Gives requests whose `tools` have the same bytes the same objects, because agents send one list with every request. What is
 * remembered of a tool's schema (`fit-tools.ts`) then counts for the next request too. Nobody changes a decoded value.
 */
export function createKnownTools() {
  /** The last used first. */
  let lists: readonly KnownList[] = []
  return (value: unknown, bytes: Buffer, members: readonly Member[]): unknown => {
    if (!isObject(value)) return value
    // The last of several members counts, as in `JSON.parse`.
    const member = members.findLast(({ start, keyEnd }) => bytes.subarray(start, keyEnd).equals(key))
    const { tools } = value
    if (member === undefined || !Array.isArray(tools)) return value
    const size = member.end - member.valueStart
    if (size < shortest || size > mostBytes) return value
    const written = bytes.subarray(member.valueStart, member.end)
    const known = lists.find((list) => list.bytes.equals(written))
    // A copy, because the bytes of the request hold the whole conversation.
    const used = known ?? { bytes: Buffer.from(written), tools }
    if (used !== lists[0]) lists = withinLimit([used, ...lists.filter((list) => list !== used)])
    return known === undefined ? value : { ...value, tools: known.tools }
  }
}

function withinLimit(lists: readonly KnownList[]): readonly KnownList[] {
  let size = 0
  return lists.filter(({ bytes }) => {
    size += bytes.length
    return size <= mostBytes
  })
}
