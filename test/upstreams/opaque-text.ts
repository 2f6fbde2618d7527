import { fingerprint, MAC_BYTES, sealed } from '../../src/demo/opaque-text.ts'
import type { OpaqueKind } from '../../src/demo/opaque-text.ts'

/** What a text was tied to; undefined where it was not issued here, or as another kind, or is damaged. */
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
