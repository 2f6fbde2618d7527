import type { StoredRecord } from './record-kind.ts'
import type { ReadOptions, RecordStore } from './record-store.ts'

/** A store that shows one account only, so that its users never get the credentials of another. */
export interface OneAccount<Stored extends StoredRecord> extends RecordStore<Stored> {
  /** The id of the account's record; undefined until there is one. */
  readonly accountId: () => string | undefined
}

/**
 * Shows the account that `choose` returns first, and no other account after that, also if it is logged out.
 * @param beforeChange called before the watchers of the store, which wait for it
 */
export function showOneAccount<Stored extends StoredRecord>(
  store: RecordStore<Stored>,
  choose: (options?: ReadOptions) => Promise<Stored | undefined>,
  beforeChange: () => Promise<void> = () => Promise.resolve(),
): OneAccount<Stored> {
  let accountId: string | undefined
  return {
    ...store,
    async current(options) {
      if (accountId !== undefined) return store.read(accountId, options)
      const record = await choose(options)
      // Another call may have chosen meanwhile.
      if (accountId !== undefined && record?.id !== accountId) return store.read(accountId, options)
      accountId = record?.id
      return record
    },
    watch(onChange) {
      let isOver = false
      const tell = async (): Promise<void> => {
        await beforeChange()
        if (!isOver) onChange()
      }
      const unwatch = store.watch(() => void tell())
      return () => {
        isOver = true
        unwatch()
      }
    },
    accountId: () => accountId,
  }
}
