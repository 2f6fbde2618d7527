import { createHash, createHmac } from 'node:crypto'

/** Base64 without meaning: cut up, it stands for all that upstream makes unreadable and nobody has to give back. */
const NOISE = Array.from({ length: 768 }, (_, at) =>
  createHash('sha512').update(`demo noise ${at}`).digest('base64').slice(0, 84),
).join('')

/** That many characters, others for every serial number within some tens of thousands. */
export function noise(serial: number, length: number): string {
  const from = (serial * 89) % (NOISE.length - length)
  return NOISE.slice(from, from + length)
}

/** What upstream encrypts or signs, and later takes back: the text of each is good for its own kind only. */
export type OpaqueKind = 'reasoning' | 'compaction' | 'signature' | 'redacted' | 'search' | `codex-${string}`

/** Any key does, since nothing is secret here; a fixed one keeps sessions alive over a restart of the demo. */
const KEY = 'copilot-proxy --demo'

export const MAC_BYTES = 32
const FILLER_BYTES = 240

/** Text that only this simulation can have made. `bound` is what it is tied to: the id or the thought it belongs to. */
export function issueOpaque(kind: OpaqueKind, serial: number, bound: string): string {
  return sealed(`${kind}:${serial}:${fingerprint(bound)}`)
}

/** Text whose beginning is a MAC over `head`, so that nobody else can make it. */
export function sealed(head: string): string {
  const mac = createHmac('sha256', KEY).update(head).digest()
  const filler = Buffer.from(noise(mac.readUInt16BE(), FILLER_BYTES), 'latin1')
  return Buffer.concat([mac, Buffer.from([head.length]), Buffer.from(head, 'latin1'), filler]).toString('base64')
}

export function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
