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

/** Who may do what. The fake keeps the real rule that only tokens this service issued are good, each until its end. */
export interface TokenStore {
  readonly issueGithub: (prefix?: 'ghu_' | 'gho_' | 'github_pat_') => string
  readonly isGithubLive: (token: string) => boolean
  readonly issueCopilot: (seed: CopilotTokenSeed) => IssuedCopilotToken
  readonly isCopilotLive: (token: string) => boolean
}

export interface TokenStoreOptions {
  readonly now: () => number
  /** Keeps the tokens of two servers apart. */
  readonly scope: string
  /** The GitHub tokens that are good. */
  readonly github?: Set<string>
  /** End of each Copilot token. Ms since epoch. */
  readonly copilotExpiryMs?: Map<string, number>
}

/** Names are counted, so a run is reproducible. */
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
