import { createHash } from 'node:crypto'
import { issueOpaque } from '../opaque-text.ts'

/** What the model keeps for itself, and takes back. */
type CiphertextKind = 'reasoning' | 'compaction'

interface Owner {
  /** A ChatGPT account or an API key: nobody else's ciphertext can be read. */
  readonly account: string
  /** Id of the item. */
  readonly id: string
}

/** A ciphertext that is good for one account, and with one item id. */
export function issueCiphertext(kind: CiphertextKind, serial: number, { account, id }: Owner): string {
  return issueOpaque(kindFor(kind, account), serial, id)
}

export function kindFor(kind: CiphertextKind, account: string): `codex-${string}` {
  return `codex-${kind}-${createHash('sha256').update(account).digest('hex').slice(0, 16)}`
}
