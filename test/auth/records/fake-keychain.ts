import { keychainError, type Keychain, type KeychainReason } from '../../../src/auth/records/keychain.ts'

export interface FakeKeychain extends Keychain {
  readonly entries: ReadonlyMap<string, string>
  /** Every call so far, as `get copilot-octocat …`. */
  readonly calls: readonly string[]
  /** From now on every call of these kinds fails as the system's would; undefined: all work again. */
  readonly break: (reason: KeychainReason | undefined, kinds?: readonly (keyof Keychain)[]) => void
}

/** A keychain in memory. Like the system's it answers later, and names its entries exactly. */
export function fakeKeychain(): FakeKeychain {
  const entries = new Map<string, string>()
  const calls: string[] = []
  let broken: { readonly reason: KeychainReason; readonly kinds: readonly (keyof Keychain)[] } | undefined
  const call = async <T>(kind: keyof Keychain, entry: string, answer: () => T): Promise<T> => {
    calls.push(`${kind} ${entry}`)
    await new Promise((resolve) => setImmediate(resolve))
    if (broken?.kinds.includes(kind)) throw keychainError(broken.reason, 'made up')
    return answer()
  }
  return {
    entries,
    calls,
    break(reason, kinds = ['get', 'set', 'remove']) {
      broken = reason === undefined ? undefined : { reason, kinds }
    },
    get: (entry) => call('get', entry, () => entries.get(entry)),
    set: (entry, secret) => call('set', entry, () => void entries.set(entry, secret)),
    remove: (entry) => call('remove', entry, () => entries.delete(entry)),
  }
}
