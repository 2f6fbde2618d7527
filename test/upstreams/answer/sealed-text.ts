import { createHash, createHmac } from 'node:crypto'

/** Meaningless base64. Slices of it replace opaque text that callers never send back. */
const NOISE = Array.from({ length: 768 }, (_, at) =>
  createHash('sha512').update(`demo noise ${at}`).digest('base64').slice(0, 84),
).join('')

/** A slice of `NOISE`. Serial numbers within some tens of thousands get different slices. */
export function noise(serial: number, length: number): string {
  const from = (serial * 89) % (NOISE.length - length)
  return NOISE.slice(from, from + length)
}

/** Kinds of text that upstream encrypts or signs, and later accepts back. A text is valid for its own kind only. */
export type OpaqueKind = 'reasoning' | 'compaction' | 'signature' | 'redacted' | 'search' | `codex-${string}`

/** Nothing is secret here, so any key would do. A fixed key keeps sessions valid over a restart of the demo. */
const KEY = 'copilot-proxy --demo'

const FILLER_BYTES = 240

/** Returns text that only this simulation can make. `bound` is the id or the thought that the text belongs to. */
export function issueOpaque(kind: OpaqueKind, serial: number, bound: string): string {
  return sealed(`${kind}:${serial}:${fingerprint(bound)}`)
}

/** Returns text that begins with a MAC over `head`, so that only this simulation can make it. */
function sealed(head: string): string {
  const mac = createHmac('sha256', KEY).update(head).digest()
  const filler = Buffer.from(noise(mac.readUInt16BE(), FILLER_BYTES), 'latin1')
  return Buffer.concat([mac, Buffer.from([head.length]), Buffer.from(head, 'latin1'), filler]).toString('base64')
}

function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

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
