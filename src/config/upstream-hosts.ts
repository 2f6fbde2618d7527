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
  return [...copilotDomains, ...githubHosts].some((domain) => host === domain || host.endsWith(`.${domain}`))
}
