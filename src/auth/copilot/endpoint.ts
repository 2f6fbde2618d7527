import { isLoopbackHost } from '../../config/loopback.ts'
import { githubHostsOf, tokenBaseUrl } from '../../config/upstream-hosts.ts'
import type { CopilotRecord } from './wire.ts'

/** The host for a Copilot token if neither the configuration, the record nor the token names one. */
const PUBLIC_BASE_URL = 'https://api.githubcopilot.com'

/** A path of another API. Older tools stored it as part of the Copilot base URL. */
const CODEX_SUFFIX = '/backend-api/codex'

export interface EndpointOptions {
  /** `copilot.base-url`. It wins over the record. Empty or absent: not set. */
  readonly explicitBaseUrl?: string
  /** Hosts of the configured GitHub URLs, e.g. `github.com`. Their subdomains are allowed too. */
  readonly githubHosts: readonly string[]
}

export interface Endpoints {
  /** Base URLs in the order to try, without a final slash; never empty. */
  readonly candidates: readonly string[]
  /** URLs that were found but may not receive a token, for a warning. */
  readonly refused: readonly string[]
}

/**
 * The base URLs for requests of this account: `copilot.base-url`, `attributes.base_url`, `metadata.base_url`, the host
 * in the token's `proxy-ep`, the account's default. Each occurs once, without `/backend-api/codex`, and only if it may
 * receive a token.
 */
export function endpointCandidates(record: CopilotRecord, options: EndpointOptions): Endpoints {
  const hint = deriveCopilotBaseFromToken(record.metadata.access_token ?? '')
  const named = [
    { url: options.explicitBaseUrl, allowed: allowedBaseUrl },
    { url: record.attributes.base_url, allowed: allowedBaseUrl },
    { url: asChatHost(record.metadata.base_url), allowed: hintedBaseUrl },
    { url: asChatHost(hint), allowed: hintedBaseUrl },
    { url: defaultBaseUrl(record, options.githubHosts), allowed: allowedBaseUrl },
  ]
  const candidates = new Set<string>()
  const refused = new Set<string>()
  for (const { url, allowed } of named) {
    if (url === undefined || url === '') continue
    const base = allowed(url, options.githubHosts)
    if (base === undefined) refused.add(url)
    else candidates.add(base)
  }
  return { candidates: [...candidates], refused: [...refused] }
}

/** Default of GitHub's editors for a token reply without one (docs/copilot-wire.md, "Hosts"). */
const publicCompletionsUrl = 'https://copilot-proxy.githubusercontent.com'

/**
 * The base URL for code completion: the one that the token reply names if it may receive a token, else the public one.
 */
export function completionsUrlOf({ metadata }: CopilotRecord, githubHosts: readonly string[]): string {
  const hinted = metadata.completions_url ? hintedBaseUrl(metadata.completions_url, githubHosts) : undefined
  return hinted ?? publicCompletionsUrl
}

/** A tenant of GHE.com has its own host, and the public host does not know its tokens. */
function defaultBaseUrl({ metadata }: CopilotRecord, githubHosts: readonly string[]): string {
  const own = githubHostsOf([metadata.github_base_url ?? '', metadata.github_api_base_url ?? ''])
  const tenants = (own.length > 0 ? own : githubHosts).flatMap(
    (host) => /^(?:api\.)?([a-z0-9-]+\.ghe\.com)$/.exec(host)?.[1] ?? [],
  )
  return tenants[0] === undefined ? PUBLIC_BASE_URL : `https://copilot-api.${tenants[0]}`
}

/**
 * `https://<host>/backend-api/codex` from the `proxy-ep=` of a Copilot token, with the host as given. Undefined if the
 * token has no such pair or its value is not a host name. A token is `key=value` pairs joined by `;`, then `:` and a
 * signature. The value may have a scheme, whose colon does not end the pairs. A port is dropped.
 *
 * NOTE: the host named here is the completions host (`proxy.…`), which answers chat with 421 (mcowger/plexus#57).
 * `endpointCandidates` turns it into its `api.` sibling.
 */
export function deriveCopilotBaseFromToken(token: string): string | undefined {
  const pairs = token.split(/:(?!\/\/)/, 1)[0] ?? ''
  const hint = pairs.split(';').find((pair) => pair.trim().startsWith('proxy-ep='))
  const value = hint?.slice(hint.indexOf('=') + 1).trim() ?? ''
  const host = value.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/\/.*$/, '')
  return /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i.test(host) && URL.canParse(`https://${host}`)
    ? `https://${host.toLowerCase()}${CODEX_SUFFIX}`
    : undefined
}

/** The URL without `/backend-api/codex` and final slashes. */
export function stripCodexSuffix(url: string): string {
  const trimmed = trimSlashes(url)
  return hasCodexSuffix(trimmed) ? trimSlashes(trimmed.slice(0, -CODEX_SUFFIX.length)) : trimmed
}

export function hasCodexSuffix(url: string): boolean {
  return trimSlashes(url).endsWith(CODEX_SUFFIX)
}

/** As `tokenBaseUrl`, trimmed and without `/backend-api/codex`. */
export function allowedBaseUrl(text: string, githubHosts: readonly string[]): string | undefined {
  return tokenBaseUrl(stripCodexSuffix(text.trim()), githubHosts)
}

/**
 * As `allowedBaseUrl`, for URLs from upstream and not from the user. GitHub may name this machine only if GitHub itself
 * runs on it, as in development. Otherwise any program that listens there would get the token.
 */
export function hintedBaseUrl(text: string, githubHosts: readonly string[]): string | undefined {
  const base = allowedBaseUrl(text, githubHosts)
  if (base === undefined || !isLoopbackHost(new URL(base).hostname)) return base
  return githubHosts.some(isLoopbackHost) ? base : undefined
}

/** `proxy.X.githubcopilot.com` serves completions only; its sibling `api.X.githubcopilot.com` serves chat. */
function asChatHost(url: string | undefined): string | undefined {
  return url?.replace(/^(https:\/\/)proxy\.(?=(?:[a-z0-9-]+\.)*githubcopilot\.com(?:\/|$))/i, '$1api.')
}

function trimSlashes(url: string): string {
  let end = url.length
  while (url[end - 1] === '/') end -= 1
  return url.slice(0, end)
}
