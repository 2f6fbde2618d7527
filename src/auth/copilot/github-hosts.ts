import { isLoopbackHost } from '../../config/loopback.ts'

/**
 * The addresses of an account: web pages and device flow at `baseUrl`, REST and token exchange at `apiBaseUrl`. Without
 * final slashes.
 */
export interface GithubHosts {
  readonly baseUrl: string
  readonly apiBaseUrl: string
}

export type GithubHostsResult =
  | { readonly ok: true; readonly value: GithubHosts }
  | { readonly ok: false; readonly detail: string }

/**
 * Parses `--host`: `github.com`, `SUB.ghe.com`, or either as an https URL. A loopback URL is for development and is
 * also its own API host. Everything else is refused, because login gives that host a credential.
 */
export function parseGithubHost(input: string): GithubHostsResult {
  const text = input.trim()
  const withScheme = text.includes('://') ? text : `https://${text}`
  if (!URL.canParse(withScheme)) return refuse(text)
  const url = new URL(withScheme)
  if (/[@?#\\]/.test(text) || url.pathname !== '/') return refuse(text)
  if (isLoopbackHost(url.hostname)) {
    return /^https?:$/.test(url.protocol)
      ? { ok: true, value: { baseUrl: url.origin, apiBaseUrl: url.origin } }
      : refuse(text)
  }
  if (url.protocol !== 'https:' || url.port !== '') return refuse(text)
  const known =
    url.hostname === 'github.com' ||
    /^(?!api\.|copilot-api\.)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.ghe\.com$/.test(url.hostname)
  return known ? { ok: true, value: { baseUrl: url.origin, apiBaseUrl: `https://api.${url.hostname}` } } : refuse(text)
}

function refuse(text: string): GithubHostsResult {
  return {
    ok: false,
    detail: `${JSON.stringify(text)} is not a GitHub host: give SUB.ghe.com, where SUB is the name of your enterprise, or leave it out for github.com`,
  }
}
