import type { CodexCredential } from '../auth/codex/credentials.ts'
import { createHeaderFilter } from './read-reply.ts'
import type { UpstreamReply } from './send-request.ts'

/** Identifies the program by its own name, never by another client's. */
export interface CodexIdentity {
  /** One word, e.g. `copilot-proxy`. */
  readonly originator: string
  readonly userAgent: string
}

/** Headers of every request. Source: docs/codex-wire.md, "Request headers". */
function commonHeaders(
  { originator, userAgent }: CodexIdentity,
  credential: CodexCredential,
  accept: string,
): Record<string, string> {
  return {
    authorization: `Bearer ${credential.value}`,
    accept,
    'user-agent': userAgent,
    ...(credential.kind === 'chatgpt' && {
      'chatgpt-account-id': credential.accountId,
      originator,
      ...(credential.isFedramp && { 'x-openai-fedramp': 'true' }),
    }),
  }
}

/**
 * Headers of one model call.
 * @param ofBody headers of the body's format; they cannot replace the identity or the credential
 */
export function codexHeaders(
  identity: CodexIdentity,
  credential: CodexCredential,
  ofBody: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return {
    ...ofBody,
    ...commonHeaders(identity, credential, 'text/event-stream'),
    'content-type': 'application/json',
  }
}

/** Headers of the model list. */
export function codexModelsHeaders(identity: CodexIdentity, credential: CodexCredential): Record<string, string> {
  return commonHeaders(identity, credential, 'application/json')
}

/**
 * Response headers that reach the caller: the plan's windows and credits, the rate limits of a key, whether and when to
 * try again, and the ids that support asks for. Everything else is dropped: cookies, CORS, routing, and headers that a
 * Codex CLI would take for news about its model list.
 * Source: docs/codex-wire.md, "Rate limits".
 */
const passOn = createHeaderFilter(
  new RegExp(
    [
      String.raw`x-codex-(?:primary|secondary)-(?:used-percent|window-minutes|reset-at|reset-after-seconds)`,
      String.raw`x-codex-(?:active-limit|plan-type|rate-limit-reached-type)`,
      String.raw`x-codex-credits-(?:has-credits|unlimited|balance)`,
      String.raw`x-ratelimit-[a-z-]{1,40}`,
      'x-oai-request-id|cf-ray|x-should-retry|retry-after-ms',
    ]
      .map((names) => `^(?:${names})$`)
      .join('|'),
  ),
)

export function passedCodexHeaders(headers: UpstreamReply['headers']): Record<string, string> {
  // The caller's `x-request-id` is ours.
  return passOn({ 'x-oai-request-id': headers['x-request-id'], ...headers })
}
