import { isLoopbackHost } from './loopback.ts'

const copilotDomains = ['githubcopilot.com', 'githubusercontent.com', 'ghe.com']

/** The host names of the configured GitHub URLs, for `tokenBaseUrl`. */
export function githubHostsOf(urls: readonly string[]): readonly string[] {
  return urls.flatMap((url) => URL.parse(url)?.hostname ?? [])
}

/**
 * The base URL in its plain form, or undefined when a Copilot token may not be sent there: https on the standard port
 * of githubcopilot.com, githubusercontent.com, ghe.com, a configured GitHub host or a subdomain of one; or loopback,
 * for development. No user information, query or fragment, no slash at the end. Decides for `copilot.base-url` when
 * the configuration is read, and for what records and token replies name.
 */
export function tokenBaseUrl(text: string, githubHosts: readonly string[]): string | undefined {
  const url = URL.parse(text)
  if (url === null) return undefined
  // `@`, `?` and `#` are looked for in the text too: the parser drops them when they carry nothing.
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
/** Where keys go, and nothing of a ChatGPT login. */
const keyHost = 'api.openai.com'

/** Whether a ChatGPT login may be sent to the URL's host: OpenAI's own, but not the one for keys, or loopback. */
export function takesChatgptLogin(text: string): boolean {
  const host = hostOf(text)
  return isLoopbackHost(host) || (isUnder(host, openaiDomains) && host !== keyHost)
}

/** Whether an OpenAI key may be sent to the URL's host: a gateway of the user's own, too, but no other provider's. */
export function takesOpenaiKey(text: string): boolean {
  return !isUnder(hostOf(text), [...githubDomains, 'chatgpt.com'])
}

/** Whether a GitHub login may be sent to the URL's host: a company's own, too, but not OpenAI's. */
export function takesGithubLogin(text: string): boolean {
  return !isUnder(hostOf(text), openaiDomains)
}

function hostOf(text: string): string {
  return URL.parse(text)?.hostname ?? ''
}
