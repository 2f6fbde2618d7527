import type { Config } from '../../config/schema.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Keychain } from './keychain.ts'
import type { RecordFs } from './record-fs.ts'
import type { RecordKind, StoredRecord } from './record-kind.ts'
import { createRecordSeal } from './record-seal.ts'
import { createRecordStore, type RecordStore } from './record-store.ts'

/** Where this user's logins are kept, and how. */
export interface StoreLocation {
  /** `$XDG_DATA_HOME/copilot-proxy/auth`. */
  readonly dir: string
  /** `auth.store` and `auth.strict-permissions`. */
  readonly rules: Config['auth']
  /** Touched only where a record is sealed with it. */
  readonly keychain: Keychain
  /** Warnings already logged, for stores that share them. */
  readonly warned?: Set<string> | undefined
}

/** The store that the configuration asks for, and never another one in its place. */
export function openRecordStore<Stored extends StoredRecord>(
  kind: RecordKind<Stored>,
  { dir, rules, keychain, warned }: StoreLocation,
  log: Logger,
  fs?: RecordFs,
): RecordStore<Stored> {
  const seal = rules.store === 'keychain' ? createRecordSeal(keychain) : undefined
  return createRecordStore({
    kind,
    dir,
    log,
    seal,
    strictPermissions: rules.strictPermissions,
    warned,
    ...(fs && { fs }),
  })
}

/** The same location with the other kind of store, where an earlier login may still be. */
export function otherStoreLocation(location: StoreLocation): StoreLocation {
  return { ...location, rules: { ...location.rules, store: location.rules.store === 'file' ? 'keychain' : 'file' } }
}
