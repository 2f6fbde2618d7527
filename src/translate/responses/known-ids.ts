import { shortName } from '../prepare/short-name.ts'

/** Characters in an `id` or `call_id`; more is 400 `string_above_max_length` (anomalyco/opencode#17933). */
const LONGEST_ID = 64

/** As `mintItemId` begins the ids it makes up: `rs_cpx…`, `msg_cpx…`. */
export const MINTED = /^[a-z]{1,8}_cpx/

/** Upstream may know the id: it is not one of ours, and not too long for any of its backends. */
export function mayBeUpstreams(id: unknown): boolean {
  return typeof id === 'string' && id.length <= LONGEST_ID && !MINTED.test(id)
}

/** The same for a call and its output, on every turn. */
export function shortCallId(id: string): string {
  return id.length <= LONGEST_ID ? id : shortName(id, LONGEST_ID)
}
