import { mintTokens } from './tokens.ts'
import type { CodexPerson as DemoPerson } from './tokens.ts'

/** The account of a login. */
export interface CodexPerson extends DemoPerson {
  readonly isFedramp: boolean
}

/** The tokens of one exchange or renewal. */
interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken: string
  readonly idToken: string
  readonly expiresInSeconds: number
}

type RenewalRefusal = 'refresh_token_expired' | 'refresh_token_reused' | 'refresh_token_invalidated'

type AccessTokenState =
  | { readonly is: 'live'; readonly person: CodexPerson }
  | { readonly is: 'expired' | 'revoked' | 'foreign' }

interface TokenOptions {
  readonly lifetimeSeconds: number
}

/**
 * The current logins. The fake keeps the rules of the real issuer: a refresh token is single use, and a second use ends
 * the login and all of its tokens (docs/codex-wire.md, "Login").
 */
export interface CodexLogins {
  readonly start: (person: CodexPerson, wish: TokenOptions) => IssuedTokens
  readonly renew: (refreshToken: string, wish: TokenOptions) => IssuedTokens | RenewalRefusal
  readonly accessState: (token: string) => AccessTokenState
  /** Ends the login of an access or refresh token. False if there is no such login. */
  readonly revoke: (token: string) => boolean
  readonly revokeAll: () => void
  /** Expires every access token issued so far, whatever its `exp` says. */
  readonly expireAccess: () => void
  /** Expires every refresh token issued so far. */
  readonly expireRefresh: () => void
}

/** One login and all of its renewals. */
interface Family {
  readonly person: CodexPerson
  readonly number: number
  isDead: boolean
}

export interface LoginsDeps {
  readonly now: () => number
  /** Part of every token, so that two servers issue different tokens. */
  readonly scope: string
  /** `iss` of the tokens. */
  readonly issuer: string
  readonly clientId: () => string
}

/** Tokens contain a counter, so that a run is reproducible. */
export function createLogins({ now, scope, issuer, clientId }: LoginsDeps): CodexLogins {
  const access = new Map<string, { readonly family: Family; expiresAtMs: number }>()
  const refresh = new Map<string, { readonly family: Family; state: 'good' | 'spent' | 'expired' }>()
  const families: Family[] = []
  let issueCount = 0

  const issueAccess = (family: Family, { lifetimeSeconds }: TokenOptions): Omit<IssuedTokens, 'refreshToken'> => {
    issueCount += 1
    const { person, number: login } = family
    const { accessToken, idToken } = mintTokens({
      person,
      login,
      id: `demo-${scope}-${issueCount}`,
      issuer,
      clientId: clientId(),
      nowMs: now(),
      lifetimeSeconds,
      claims: person.isFedramp ? { chatgpt_account_is_fedramp: true } : {},
    })
    access.set(accessToken, { family, expiresAtMs: (Math.floor(now() / 1000) + lifetimeSeconds) * 1000 })
    return { accessToken, idToken, expiresInSeconds: lifetimeSeconds }
  }

  const issueRefresh = (family: Family): string => {
    const token = `rt_demo_${scope}_${refresh.size + 1}`
    refresh.set(token, { family, state: 'good' })
    return token
  }

  return {
    start: (person, wish) => {
      const family = { person, number: families.length + 1, isDead: false }
      families.push(family)
      return { ...issueAccess(family, wish), refreshToken: issueRefresh(family) }
    },
    renew: (token, wish) => {
      const known = refresh.get(token)
      if (known === undefined || known.family.isDead) return 'refresh_token_invalidated'
      if (known.state === 'expired') return 'refresh_token_expired'
      if (known.state === 'spent') {
        known.family.isDead = true
        return 'refresh_token_reused'
      }
      const issued = issueAccess(known.family, wish)
      known.state = 'spent'
      return { ...issued, refreshToken: issueRefresh(known.family) }
    },
    accessState: (token) => {
      const known = access.get(token)
      if (known === undefined) return { is: 'foreign' }
      if (known.family.isDead) return { is: 'revoked' }
      return now() < known.expiresAtMs ? { is: 'live', person: known.family.person } : { is: 'expired' }
    },
    revoke: (token) => {
      const family = (access.get(token) ?? refresh.get(token))?.family
      if (family !== undefined) family.isDead = true
      return family !== undefined
    },
    revokeAll: () => {
      for (const family of families) family.isDead = true
    },
    expireAccess: () => {
      for (const known of access.values()) known.expiresAtMs = 0
    },
    expireRefresh: () => {
      for (const known of refresh.values()) if (known.state === 'good') known.state = 'expired'
    },
  }
}
