import type { CodexCredential } from '../auth/codex/credentials.ts'
import { passHeaders } from './reply-headers.ts'
import type { UpstreamReply } from './send-request.ts'

/** Who the program says it is; its own name, never that of another client. */
export interface CodexIdentity {
  /** One word, e.g. `copilot-proxy`. */
  readonly originator: string
  readonly version: string
  /** As Node names them, e.g. `linux` and `x64`. */
  readonly platform: string
  readonly arch: string
}

/** Headers that every exchange has. Source: docs/codex-wire.md, "Request headers". */
function commonHeaders(identity: CodexIdentity, credential: CodexCredential, accept: string): Record<string, string> {
  const { originator, version, platform, arch } = identity
  return {
    authorization: `Bearer ${credential.value}`,
    accept,
    'user-agent': `${originator}/${version} (${platform}; ${arch})`,
    ...(credential.kind === 'chatgpt' && {
      'chatgpt-account-id': credential.accountId,
      originator,
      ...(credential.isFedramp && { 'x-openai-fedramp': 'true' }),
    }),
  }
}

/**
 * Headers of one model call.
 * @param ofBody what the body's format asks for; it cannot displace who asks and for whom
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
 * try again, and the ids that support asks for. Everything else stays here: cookies, CORS, routing, and what a Codex CLI
 * would take for news of the list and the model names that it has from this program.
 * Source: docs/codex-wire.md, "Rate limits".
 */
const passedOn = new RegExp(
  [
    String.raw`x-codex-(?:primary|secondary)-(?:used-percent|window-minutes|reset-at|reset-after-seconds)`,
    String.raw`x-codex-(?:active-limit|plan-type|rate-limit-reached-type)`,
    String.raw`x-codex-credits-(?:has-credits|unlimited|balance)`,
    String.raw`x-ratelimit-[a-z-]{1,40}`,
    'x-oai-request-id|cf-ray|x-should-retry|retry-after-ms',
  ]
    .map((names) => `^(?:${names})$`)
    .join('|'),
)

export function passedCodexHeaders(headers: UpstreamReply['headers']): Record<string, string> {
  // The caller's `x-request-id` is ours.
  return passHeaders({ 'x-oai-request-id': headers['x-request-id'], ...headers }, passedOn)
}
