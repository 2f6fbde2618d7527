import { isLoopbackHost } from './loopback.ts'

const copilotDomains = ['githubcopilot.com', 'githubusercontent.com', 'ghe.com']

/** The host names of the configured GitHub URLs, for `tokenBaseUrl`. */
export function githubHostsOf(urls: readonly string[]): readonly string[] {
  return urls.flatMap((url) => URL.parse(url)?.hostname ?? [])
}

/**
 * The base URL without trailing slashes; undefined if a Copilot token may not be sent there. Allowed: https on the standard
 * port of githubcopilot.com, githubusercontent.com, ghe.com, a configured GitHub host or a subdomain of one, and loopback,
 * without user information, query and fragment. Checks `copilot.base-url` and the URLs in records and token replies.
 */
export function tokenBaseUrl(text: string, githubHosts: readonly string[]): string | undefined {
  const url = URL.parse(text)
  if (url === null) return undefined
  // Search the text as well: the parser drops `@`, `?` and `#` if nothing follows them.
  if (url.username !== '' || url.password !== '' || /[@?#\\]/.test(text)) return undefined
  const allowed = isLoopbackHost(url.hostname)
    ? url.protocol === 'https:' || url.protocol === 'http:'
    : url.protocol === 'https:' && url.port === '' && isAllowedHost(url.hostname, githubHosts)
  return allowed ? (url.origin + url.pathname).replace(/\/+$/, '') : undefined
}

function isAllowedHost(host: string, githubHosts: readonly string[]): boolean {
  return isUnder(host, [...copilotDomains, ...githubHosts])
}

function isUnder(host: string, domains: readonly string[]): boolean {
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`))
}

const openaiDomains = ['openai.com', 'chatgpt.com']
const githubDomains = [...copilotDomains, 'github.com']
/** Accepts API keys only, no ChatGPT login. */
const keyHost = 'api.openai.com'

/** Allows OpenAI's hosts, except the one for keys, and loopback. */
export function takesChatgptLogin(text: string): boolean {
  const host = hostOf(text)
  return isLoopbackHost(host) || (isUnder(host, openaiDomains) && host !== keyHost)
}

/** Allows any host, such as a user's gateway, except those of another login. */
export function takesOpenaiKey(text: string): boolean {
  return !isUnder(hostOf(text), [...githubDomains, 'chatgpt.com'])
}

/** Allows any host, such as a company's, except OpenAI's. */
export function takesGithubLogin(text: string): boolean {
  return !isUnder(hostOf(text), openaiDomains)
}

function hostOf(text: string): string {
  return URL.parse(text)?.hostname ?? ''
}
