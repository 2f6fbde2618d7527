import { fingerprint, noise, sealed } from '../../src/demo/answer/opaque-text.ts'
import type { OpaqueKind } from '../../src/demo/answer/opaque-text.ts'

/** Size of the MAC at the start of a text (`sealed`). */
const MAC_BYTES = 32

/** The id that a text was issued for; undefined if the text is damaged, was not issued here, or is of another kind. */
export function openOpaque(kind: OpaqueKind, text: string): Binding | undefined {
  const bytes = Buffer.from(text, 'base64')
  const length = bytes[MAC_BYTES] ?? 0
  const head = bytes.subarray(MAC_BYTES + 1, MAC_BYTES + 1 + length).toString('latin1')
  if (!head.startsWith(`${kind}:`) || sealed(head) !== text) return undefined
  const print = head.slice(head.lastIndexOf(':') + 1)
  return { isOf: (bound) => fingerprint(bound) === print }
}

interface Binding {
  readonly isOf: (bound: string) => boolean
}

/** Length of an item id. The captured ids have more than 300 characters (docs/copilot-wire.md, "Responses stream"). */
const ID_LENGTH = 408

/** An item id of `/responses`: base64 of varying length, different for every serial number. */
export function itemId(serial: number): string {
  const number = Buffer.alloc(6)
  number.writeUIntBE(serial % 0x1000000000000, 0, 6)
  return `${number.toString('base64')}${noise(serial, ID_LENGTH + 4 * (serial % 5))}==`
}
