import { kindFor } from '../../../src/demo/codex/ciphertext.ts'
import { openOpaque } from '../opaque-text.ts'

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
