import { createHash } from 'node:crypto'
import { issueOpaque } from '../answer/sealed-text.ts'
import { openOpaque } from '../answer/sealed-text.ts'

/** Opaque values of the model that it accepts back. */
type CiphertextKind = 'reasoning' | 'compaction'

interface Owner {
  /** The ChatGPT account or the API key that can read the ciphertext. */
  readonly account: string
  /** Id of the item. */
  readonly id: string
}

/** Returns a ciphertext that is valid for one account and one item id. */
export function issueCiphertext(kind: CiphertextKind, serial: number, { account, id }: Owner): string {
  return issueOpaque(kindFor(kind, account), serial, id)
}

function kindFor(kind: CiphertextKind, account: string): `codex-${string}` {
  return `codex-${kind}-${createHash('sha256').update(account).digest('hex').slice(0, 16)}`
}

/** Why a ciphertext is refused; undefined if it is valid. An item may be sent back without its id. */
export function refuseCiphertext(
  kind: 'reasoning' | 'compaction',
  text: string,
  { account, id }: { readonly account: string; readonly id: string | undefined },
): string | undefined {
  const opened = openOpaque(kindFor(kind, account), text)
  if (opened === undefined) return 'Encrypted content could not be decrypted or parsed.'
  return id === undefined || opened.isOf(id) ? undefined : 'Encrypted content item_id did not match the target item id.'
}
