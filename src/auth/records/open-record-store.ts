import type { Config } from '../../config/schema.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Keychain } from './keychain.ts'
import type { RecordKind, StoredRecord } from './record-kind.ts'
import { createRecordSeal } from './record-seal.ts'
import { createRecordStore, type RecordStore, type RecordStoreOptions } from './record-store.ts'

/** The location and the form of this user's logins. */
export interface StoreLocation {
  /** `$XDG_DATA_HOME/copilot-proxy/auth`. */
  readonly dir: string
  /** `auth.store` and `auth.strict-permissions`. */
  readonly rules: Config['auth']
  /** Used only if a record is sealed with it. */
  readonly keychain: Keychain
  /** Warnings already logged, for stores that share them. */
  readonly warned?: Set<string> | undefined
}

/** Opens the store that the configuration asks for. Never falls back to the other kind. */
export function openRecordStore<Stored extends StoredRecord>(
  kind: RecordKind<Stored>,
  { dir, rules, keychain, warned }: StoreLocation,
  log: Logger,
  { isReadOnly }: Pick<RecordStoreOptions<Stored>, 'isReadOnly'> = {},
): RecordStore<Stored> {
  const seal = rules.store === 'keychain' ? createRecordSeal(keychain) : undefined
  return createRecordStore({ kind, dir, log, seal, strictPermissions: rules.strictPermissions, isReadOnly, warned })
}

/** The same location with the other kind of store, which may still hold an earlier login. */
export function otherStoreLocation(location: StoreLocation): StoreLocation {
  return { ...location, rules: { ...location.rules, store: location.rules.store === 'file' ? 'keychain' : 'file' } }
}
