import type { Config } from '../config/schema.ts'
import type { Logger } from '../log.ts'
import type { Keychain } from './keychain.ts'
import type { RecordFs } from './record-fs.ts'
import type { RecordKind, StoredRecord } from './record-kind.ts'
import { createRecordSeal } from './record-seal.ts'
import { createRecordStore, type RecordStore } from './record-store.ts'

/** Where this user's logins are kept, and how. */
export interface RecordPlace {
  /** `$XDG_DATA_HOME/copilot-proxy/auth`. */
  readonly dir: string
  /** `auth.store` and `auth.strict-permissions`. */
  readonly rules: Config['auth']
  /** Touched only where a record is sealed with it. */
  readonly keychain: Keychain
  /** Warnings that were given, for stores that share them. */
  readonly told?: Set<string> | undefined
}

/** The store that the configuration asks for, and never another one in its place. */
export function openRecordStore<Stored extends StoredRecord>(
  kind: RecordKind<Stored>,
  { dir, rules, keychain, told }: RecordPlace,
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
    told,
    ...(fs && { fs }),
  })
}

/** The same place with the store that is not asked for, where an earlier login may still be. */
export function otherPlace(place: RecordPlace): RecordPlace {
  return { ...place, rules: { ...place.rules, store: place.rules.store === 'file' ? 'keychain' : 'file' } }
}
