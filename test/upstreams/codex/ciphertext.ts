import { createHash } from 'node:crypto'
import { issueOpaque } from '../../../src/demo/opaque-text.ts'
import { openOpaque } from '../opaque-text.ts'

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

function kindFor(kind: CiphertextKind, account: string): `codex-${string}` {
  return `codex-${kind}-${createHash('sha256').update(account).digest('hex').slice(0, 16)}`
}

/** Why a ciphertext cannot be taken back; undefined when it can. An item may come back without its id. */
export function refuseCiphertext(
  kind: 'reasoning' | 'compaction',
  text: string,
  { account, id }: { readonly account: string; readonly id: string | undefined },
): string | undefined {
  const opened = openOpaque(kindFor(kind, account), text)
  if (opened === undefined) return 'Encrypted content could not be decrypted or parsed.'
  return id === undefined || opened.isOf(id) ? undefined : 'Encrypted content item_id did not match the target item id.'
}
