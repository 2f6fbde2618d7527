import { createHmac } from 'node:crypto'
import { findKey, sha256 } from './api-keys.ts'
import type { ApiKey } from './api-keys.ts'

/** Who counts as the owner of this start of the daemon: the token in its file, and the pages that the owner opened. */
export interface OwnerAccess {
  /** The accepted tokens, in the form of keys. */
  readonly keys: () => readonly ApiKey[]
  /** Accepts the code once. @param lifeMs undefined: until it is used */
  readonly addCode: (code: string, lifeMs: number | undefined) => void
  /** Whether the code was right. If so, it is used up, and the page's token is the owner's from now on. */
  readonly redeem: (code: string, pageToken: string) => boolean
}

export interface OwnerAccessDeps {
  readonly token: string
  /** Ms, monotonic. */
  readonly now: () => number
  /** Called with each accepted token, so that no log shows one. A token replaces an earlier one of the same holder. */
  readonly holdSecret: (holder: string, token: string) => void
}

/** A person opens one page at a time. A further code replaces the oldest. */
const maxCodes = 8
/** Beyond this many open pages, the oldest is no longer the owner's. */
const maxPages = 64

export function createOwnerAccess({ token, now, holdSecret }: OwnerAccessDeps): OwnerAccess {
  const own = toKey(token)
  let pages: readonly ApiKey[] = []
  let opened = 0
  let accepted: readonly ApiKey[] = [own]
  let codes: readonly { readonly key: ApiKey; readonly untilMs: number }[] = []
  holdSecret('owner', token)

  return {
    keys: () => accepted,
    addCode(code, lifeMs = Infinity) {
      codes = [...codes.slice(1 - maxCodes), { key: toKey(code), untilMs: now() + lifeMs }]
    },
    redeem(code, pageToken) {
      codes = codes.filter(({ untilMs }) => untilMs > now())
      const used = findKey(
        [code],
        codes.map(({ key }) => key),
      )
      if (used === undefined) return false
      codes = codes.filter(({ key }) => key !== used)
      pages = [...pages.slice(1 - maxPages), toKey(pageToken)]
      accepted = [own, ...pages]
      holdSecret(`page ${opened % maxPages}`, pageToken)
      opened += 1
      return true
    },
  }
}

/** A hash that only the holders of the owner's token can compute: it reveals nothing of even a short text to others. */
export function ownerHash(token: string): (text: string) => string {
  return (text) => createHmac('sha256', token).update(text).digest('base64url')
}

function toKey(secret: string): ApiKey {
  return { name: 'owner', id: 'owner', digest: sha256(secret) }
}
