import { createHash } from 'node:crypto'

interface CopilotTokenSeed {
  readonly lifetimeSeconds: number
  readonly sku: string
  /** Host (and port) for the `proxy-ep` key. */
  readonly proxyEp: string
}

export interface IssuedCopilotToken {
  readonly token: string
  readonly expiresAtSeconds: number
}

/** Issues and checks tokens. Like the real service, it accepts only tokens that it issued, until they expire. */
export interface TokenStore {
  readonly issueGithub: (prefix?: 'ghu_' | 'gho_' | 'github_pat_') => string
  readonly isGithubLive: (token: string) => boolean
  readonly issueCopilot: (seed: CopilotTokenSeed) => IssuedCopilotToken
  readonly isCopilotLive: (token: string) => boolean
}

export interface TokenStoreOptions {
  readonly now: () => number
  /** Part of every token, so that two servers issue different ones. */
  readonly scope: string
  /** The valid GitHub tokens. */
  readonly github?: Set<string>
  /** Expiry of each Copilot token. Ms since epoch. */
  readonly copilotExpiryMs?: Map<string, number>
}

/** Tokens contain a counter, so that runs are reproducible. */
export function createTokenStore({
  now,
  scope,
  github = new Set(),
  copilotExpiryMs = new Map(),
}: TokenStoreOptions): TokenStore {
  let githubCount = 0
  let copilotCount = 0

  return {
    issueGithub: (prefix = 'ghu_') => {
      githubCount += 1
      const token = `${prefix}demo_${scope}_${githubCount}`
      github.add(token)
      return token
    },
    isGithubLive: (token) => github.has(token),
    issueCopilot: ({ lifetimeSeconds, sku, proxyEp }) => {
      copilotCount += 1
      const expiresAtSeconds = Math.floor(now() / 1000) + lifetimeSeconds
      // Pairs joined by ';', then ':' and a hex code over them (docs/copilot-wire.md, "Token exchange").
      const pairs = [
        `tid=demo-${scope}-${copilotCount}`,
        `exp=${expiresAtSeconds}`,
        `sku=${sku}`,
        `proxy-ep=${proxyEp}`,
        'st=dotcom',
        'chat=1',
        'cit=1',
        'malfil=1',
      ].join(';')
      const token = `${pairs}:${createHash('sha256').update(pairs).digest('hex')}`
      copilotExpiryMs.set(token, expiresAtSeconds * 1000)
      return { token, expiresAtSeconds }
    },
    isCopilotLive: (token) => now() < (copilotExpiryMs.get(token) ?? 0),
  }
}
