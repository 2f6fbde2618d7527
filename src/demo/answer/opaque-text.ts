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
export function sealed(head: string): string {
  const mac = createHmac('sha256', KEY).update(head).digest()
  const filler = Buffer.from(noise(mac.readUInt16BE(), FILLER_BYTES), 'latin1')
  return Buffer.concat([mac, Buffer.from([head.length]), Buffer.from(head, 'latin1'), filler]).toString('base64')
}

export function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
