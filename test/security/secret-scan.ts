/** What real credentials look like, by their issuers' own documentation of their forms. */
const shapes: readonly (readonly [what: string, shape: RegExp])[] = [
  ['a GitHub token', /\bgh[opsur]_[A-Za-z0-9]{30,}/g],
  ['a fine-grained GitHub token', /\bgithub_pat_[A-Za-z0-9_]{40,}/g],
  ['a Copilot token', /\btid=[0-9a-f]{16,};[\w=;.:-]{20,}/g],
  ['an OpenAI or Anthropic key', /\bsk-(?:proj-|ant-|svcacct-)?[A-Za-z0-9_-]{20,}/g],
  ['a ChatGPT refresh token', /\brt_[A-Za-z0-9_.-]{30,}/g],
  ['a JSON web token', /\beyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}/g],
  ['an npm token', /\bnpm_[A-Za-z0-9]{30,}/g],
  ['an AWS key', /\bAKIA[0-9A-Z]{16}\b/g],
  ['a Slack token', /\bxox[abprs]-[A-Za-z0-9-]{20,}/g],
  ['a private key', /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+[A-Za-z0-9+/]{40}/g],
]

/** Values in tests are made up, and say so themselves. */
const madeUp = /example|demo|made-?up|canary|fake|0123456789|(.)\1{7}/i

export interface Finding {
  readonly what: string
  readonly line: number
  /** Enough to find it, and no more. */
  readonly start: string
}

/** What in a text looks like a credential and does not say that it is made up. */
export function scanForSecrets(text: string): readonly Finding[] {
  return shapes.flatMap(([what, shape]) =>
    [...text.matchAll(shape)]
      .filter(([match]) => !madeUp.test(match))
      .map((match) => ({
        what,
        line: text.slice(0, match.index).split('\n').length,
        start: `${match[0].slice(0, 8)}…`,
      })),
  )
}
