import type { ApiKey } from './api-keys.ts'

/** Which keys have been let in from where. */
export interface KnownCallers {
  readonly note: (source: string, key: ApiKey) => void
  readonly has: (source: string, key: ApiKey) => boolean
}

/** Only right keys are noted, so nobody fills this who has none; beyond it the one unheard of for longest is forgotten. */
const most = 10_000

export function createKnownCallers(): KnownCallers {
  // In the order of last use: a Set iterates by insertion.
  const pairs = new Set<string>()
  return {
    note(source, key) {
      const pair = pairOf(source, key)
      pairs.delete(pair)
      pairs.add(pair)
      const [oldest] = pairs
      if (pairs.size > most && oldest !== undefined) pairs.delete(oldest)
    },
    has: (source, key) => pairs.has(pairOf(source, key)),
  }
}

/** By digest: a key stays the same when the configuration changes around it. */
function pairOf(source: string, { digest }: ApiKey): string {
  return `${source} ${digest.toString('base64')}`
}
