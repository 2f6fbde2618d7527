/**
 * Where a GitHub token comes from: a stored record, the environment, or a person at this very moment (`--token-stdin`,
 * a login that has just been finished).
 */
export type TokenOrigin = 'record' | 'environment' | 'given'

/** How to speak of a token that does not work, and what to do about it. */
interface OriginWords {
  /** As in "GitHub does not accept …". */
  readonly name: string
  /** A sentence without its period. */
  readonly unusable: string
  readonly fix: string
}

export const loginFix = 'Log in with: copilot-proxy login'

export const originWords: Readonly<Record<TokenOrigin, OriginWords>> = {
  record: { name: 'the stored login', unusable: 'The stored login holds no usable token', fix: loginFix },
  environment: {
    name: 'the token in COPILOT_GITHUB_TOKEN',
    unusable: 'COPILOT_GITHUB_TOKEN holds no usable token: there are no spaces, line breaks or accents in one',
    fix: 'Set COPILOT_GITHUB_TOKEN to a token that is valid',
  },
  given: {
    name: 'this token',
    unusable: 'This is no usable token: there are no spaces, line breaks or accents in one',
    fix: 'Log in with a code instead: copilot-proxy login',
  },
}
