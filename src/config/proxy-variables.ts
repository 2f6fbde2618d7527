import type { Environment } from './environment.ts'
import type { Problem } from './problem.ts'

/** As URLs; absent: not set. */
interface ProxyUrls {
  readonly http?: string
  readonly https?: string
}

export type ProxyUrlsResult =
  | { readonly ok: true; readonly value: ProxyUrls }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Sending decodes user name and password, and throws for a stray `%`. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** As in curl, `http://` is the default scheme. No detail repeats the value, which can hold a password. */
function readProxyUrl(text: string): { readonly url: string } | { readonly detail: string } {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0]
  if (scheme !== undefined && !/^https?:/i.test(scheme))
    return { detail: 'expected an http or https proxy: other kinds are not supported' }
  const url = /\s/.test(text) ? null : URL.parse(scheme === undefined ? `http://${text}` : text)
  if (url === null) return { detail: 'expected the address of a proxy such as http://proxy.example:3128' }
  return isDecodable(url.username) && isDecodable(url.password)
    ? { url: url.href }
    : { detail: 'write % as %25 in the user name and password' }
}

/** Passwords of the proxies, percent-encoded and decoded. */
export function proxyPasswords(env: Environment): readonly string[] {
  const proxies = readProxyUrls(env)
  if (!proxies.ok) return []
  return Object.values(proxies.value).flatMap((url) => {
    const { password } = new URL(url)
    return password === '' ? [] : [password, decodeURIComponent(password)]
  })
}

/**
 * Reads `http_proxy` and `https_proxy`, lower case before upper case. An unusable variable is a problem: ignoring it would
 * bypass the proxy.
 */
export function readProxyUrls(env: Environment): ProxyUrlsResult {
  const problems: Problem[] = []
  const read = (...names: readonly string[]): string | undefined => {
    const name = names.find((candidate) => env[candidate] !== undefined)
    const text = name === undefined ? '' : (env[name]?.trim() ?? '')
    if (name === undefined || text === '') return undefined
    const proxy = readProxyUrl(text)
    if ('url' in proxy) return proxy.url
    problems.push({ source: { kind: 'environment', name }, key: '', detail: proxy.detail })
    return undefined
  }
  const http = read('http_proxy', 'HTTP_PROXY')
  const https = read('https_proxy', 'HTTPS_PROXY')
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, value: { ...(http !== undefined && { http }), ...(https !== undefined && { https }) } }
}
