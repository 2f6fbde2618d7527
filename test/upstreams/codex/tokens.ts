/** The account of a login. */
export interface CodexPerson {
  readonly accountId: string
  readonly email: string
  readonly plan: string
}

export interface TokenSeed {
  readonly person: CodexPerson
  /** Number of the login; the user's ids contain it. */
  readonly login: number
  /** Distinguishes this token from every other. */
  readonly id: string
  readonly issuer: string
  readonly clientId: string
  readonly nowMs: number
  readonly lifetimeSeconds: number
  /** Further claims about the account. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** The two JSON Web Tokens of a login, with the claims of docs/codex-wire.md, "Login". */
export function mintTokens({ person, login, id, issuer, clientId, nowMs, lifetimeSeconds, claims }: TokenSeed) {
  const issuedAt = Math.floor(nowMs / 1000)
  const common = { iat: issuedAt, exp: issuedAt + lifetimeSeconds, iss: issuer, sub: `demo|${login}` }
  const account = {
    chatgpt_account_id: person.accountId,
    chatgpt_plan_type: person.plan,
    chatgpt_user_id: `user-demo-${login}`,
    user_id: `user-demo-${login}`,
    ...claims,
  }
  const email = { email: person.email, email_verified: true }
  return {
    accessToken: jwt({
      ...common,
      aud: ['https://api.openai.com/v1'],
      client_id: clientId,
      jti: id,
      scp: ['openid', 'profile', 'email', 'offline_access'],
      'https://api.openai.com/auth': account,
      'https://api.openai.com/profile': email,
    }),
    idToken: jwt({
      ...common,
      aud: [clientId],
      ...email,
      'https://api.openai.com/auth': {
        ...account,
        organizations: [{ id: 'org-demo', is_default: true, role: 'owner' }],
      },
    }),
  }
}

/** A JSON Web Token with the word "test" as its signature, so readers of its claims must not trust them. */
function jwt(claims: Readonly<Record<string, unknown>>): string {
  return `${encoded({ alg: 'RS256', kid: 'demo', typ: 'JWT' })}.${encoded(claims)}.test`
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
