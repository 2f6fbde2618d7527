import { vendorOf } from '../parts/opaque-envelope.ts'
import type { ModelFamily } from '../parts/model-family.ts'
import type { Opaque } from '../turn.ts'

/**
 * Whether a chat upstream can read the value: it made it, and for a model of this vendor. What a chat caller hands back
 * unsealed says nothing of its maker; that it came from a chat upstream is all that is known, and enough here.
 */
export function fitsChat({ form, vendor }: Opaque, family: ModelFamily): boolean {
  return form === 'reasoning_opaque' && (vendor === 'unknown' || vendor === vendorOf(family))
}
