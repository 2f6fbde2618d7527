import { isSealed, sealOpaque } from '../../parts/opaque-envelope.ts'
import { isFilled } from '../../parts/wire-json.ts'
import type { WireObject } from '../wire-event.ts'
import type { MendState } from './mend-state.ts'

/** Items that live by their `encrypted_content`. */
const opaqueItems: ReadonlySet<unknown> = new Set(['reasoning', 'compaction', 'compaction_summary'])

/**
 * Puts an item's ciphertext into an envelope that says who made it: bare, it would go to whichever upstream the caller
 * asks next. Null is none, which Open Responses (2026-04-24) tells by leaving the member out. Returns whether it was
 * right as it came.
 */
export function sealItem({ sealedAs }: MendState, item: WireObject): boolean {
  const { type, id, encrypted_content: value } = item
  if (value === null && type === 'reasoning') {
    item['encrypted_content'] = undefined
    return false
  }
  if (sealedAs === undefined || !opaqueItems.has(type) || !isFilled(value) || isSealed(value)) return true
  item['encrypted_content'] = sealOpaque({
    ...sealedAs,
    form: 'encrypted_content',
    ...(isFilled(id) && { id }),
    value,
  })
  return false
}
