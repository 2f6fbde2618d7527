import { BlockList, isIP } from 'node:net'
import type { Environment } from './environment.ts'
import { isLoopbackHost } from './loopback.ts'
import type { Problem } from './problem.ts'

/** The variables of each setting, the first one first. An empty one counts as not set, as in the settings of this program. */
export const proxyVariables = {
  http: ['http_proxy', 'HTTP_PROXY'],
  https: ['https_proxy', 'HTTPS_PROXY'],
  all: ['all_proxy', 'ALL_PROXY'],
  exempt: ['no_proxy', 'NO_PROXY'],
} as const

/** A proxy of the environment. */
export interface Proxy {
  /** The variable that names it. */
  readonly variable: string
  /** With user name and password, percent-encoded. */
  readonly url: string
}

interface Proxies {
  readonly http: Proxy | undefined
  readonly https: Proxy | undefined
  /** The variable of a SOCKS proxy that nothing replaces: requests go past it. */
  readonly ignored: string | undefined
}

interface Variable {
  readonly name: string
  readonly text: string
}

export type ProxiesResult =
  | { readonly ok: true; readonly value: Proxies }
  | { readonly ok: false; readonly problems: readonly Problem[] }

const noAddress =
  'expected the address of a proxy such as http://proxy.example:3128, with a login http://user:password@proxy.example:3128'
const strayPercent = 'write % as %25 in the user name and password'
const otherKind = 'expected an http or https proxy: other kinds, such as SOCKS, are not supported'

/**
 * A proxy's address has no path, so everything between the scheme and the last `@` is the login, also `\`, `#`, `/` and `?`,
 * which end the host of other addresses. `http://` is the default scheme, as in curl.
 */
function splitAddress(text: string): {
  readonly scheme: string
  readonly login: string | undefined
  readonly host: string
} {
  const [start = '', scheme = 'http'] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? []
  const address = text.slice(start.length)
  const at = address.lastIndexOf('@')
  return { scheme: scheme.toLowerCase(), login: at < 0 ? undefined : address.slice(0, at), host: address.slice(at + 1) }
}

/** No detail repeats the text, which can hold a password. */
function readProxyUrl(text: string): { readonly url: string } | { readonly detail: string } {
  const { scheme, login, host } = splitAddress(text)
  if (scheme !== 'http' && scheme !== 'https') return { detail: otherKind }
  // `http:/user:password@proxy` is a mistyped scheme, and no login of a user `http`.
  if (login !== undefined && /^https?:(?!\/\/)/i.test(text)) return { detail: noAddress }
  const url = /[\s\\?#]|\/./.test(host) ? null : URL.parse(`${scheme}://${host}`)
  if (url === null) return { detail: noAddress }
  if (login === undefined) return { url: url.href }
  const encoded = encodeLogin(login)
  return encoded === undefined ? { detail: strayPercent } : { url: `${scheme}://${encoded}@${url.host}/` }
}

/** The value of a proxy variable in one spelling, to compare it with another. */
export function comparableValue(name: string, value: string): string {
  if (/^no_proxy$/i.test(name))
    return value
      .split(/[\s,]+/)
      .filter(Boolean)
      .join()
  if (!/_proxy$/i.test(name)) return value
  const read = readProxyUrl(value)
  return 'url' in read ? read.url : value
}

/** `user:password`, percent-encoded where it is not yet; undefined if a `%` begins no encoded character. */
function encodeLogin(text: string): string | undefined {
  const colon = text.indexOf(':')
  const parts = colon < 0 ? [text] : [text.slice(0, colon), text.slice(colon + 1)]
  const encoded = parts.map((part) =>
    part.replaceAll(/%[0-9a-f]{2}|[^%]/giu, (unit) => (unit.length === 3 && unit[0] === '%' ? unit : encode(unit))),
  )
  return encoded.every((part) => decoded(part) !== undefined) ? encoded.join(':') : undefined
}

/** `encodeURIComponent` throws for half of a surrogate pair. */
function encode(unit: string): string {
  return encodeURIComponent(unit.toWellFormed())
}

/** Undefined for a stray `%` and for bytes that are not UTF-8. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Passwords of the proxies: as they are written, percent-encoded and decoded. */
export function proxyPasswords(env: Environment): readonly string[] {
  const proxies = readProxies(env)
  if (!proxies.ok) return []
  const { http, https } = proxies.value
  return [http, https].flatMap((proxy) => {
    if (proxy === undefined) return []
    const { password } = new URL(proxy.url)
    const { login = '' } = splitAddress(env[proxy.variable]?.trim() ?? '')
    const written = login.includes(':') ? login.slice(login.indexOf(':') + 1) : ''
    return [password, decoded(password) ?? '', written].filter((text) => text !== '')
  })
}

/** The variable that names a proxy of one of these kinds; undefined if there is none. */
export function findProxyVariable(
  env: Environment,
  kinds: readonly Exclude<keyof typeof proxyVariables, 'exempt'>[],
): string | undefined {
  return firstSet(
    env,
    kinds.flatMap((kind) => proxyVariables[kind]),
  )?.name
}

/** The address of a proxy without its login; undefined if it has none. */
export function hideLogin(text: string): string | undefined {
  const { login, host } = splitAddress(text)
  if (login === undefined) return undefined
  const start = text.slice(0, text.length - `${login}@${host}`.length)
  return `${start}…@${host}`
}

/** The first variable that has a value. */
function firstSet(env: Environment, names: readonly string[]): Variable | undefined {
  for (const name of names) {
    const text = env[name]?.trim() ?? ''
    if (text !== '') return { name, text }
  }
  return undefined
}

/**
 * Reads `http_proxy` and `https_proxy`, and `all_proxy` for the one that is not set; lower case before upper case. An
 * unusable variable is a problem, because ignoring it would bypass the proxy. A SOCKS proxy in `all_proxy` is `ignored`
 * instead: this program cannot use it, and other programs of the same shell can.
 */
export function readProxies(env: Environment): ProxiesResult {
  const problems: Problem[] = []
  const read = ({ name, text }: Variable): Proxy | undefined => {
    const proxy = readProxyUrl(text)
    if ('url' in proxy) return { variable: name, url: proxy.url }
    problems.push({ source: { kind: 'environment', name }, key: '', detail: proxy.detail })
    return undefined
  }
  const found = (names: readonly string[]): Proxy | undefined => {
    const variable = firstSet(env, names)
    return variable && read(variable)
  }
  const ownHttp = found(proxyVariables.http)
  const ownHttps = found(proxyVariables.https)
  const forAll = firstSet(env, proxyVariables.all)
  const isSocks = forAll !== undefined && /^socks/i.test(forAll.text)
  const all = forAll === undefined || isSocks || (ownHttp && ownHttps) ? undefined : read(forAll)
  if (problems.length > 0) return { ok: false, problems }
  const http = ownHttp ?? all
  // Without a proxy of its own, https uses that of http, as in undici's EnvHttpProxyAgent.
  const https = ownHttps ?? all ?? ownHttp
  const ignored = isSocks && https === undefined ? forAll.name : undefined
  return { ok: true, value: { http, https, ignored } }
}

/** A warning and its remedy, without final periods, if the only proxy of the environment is one that this program cannot use. */
export function ignoredProxy(env: Environment): { readonly detail: string; readonly fix: string } | undefined {
  const proxies = readProxies(env)
  const name = proxies.ok ? proxies.value.ignored : undefined
  if (name === undefined) return undefined
  return {
    detail: `${name} names a SOCKS proxy, which copilot-proxy does not support, so it connects directly`,
    fix: 'To use a proxy, set HTTPS_PROXY to the address of an http proxy',
  }
}

/** The proxy for requests to `url`; undefined for none. Loopback addresses never use one. */
export function proxyFor(url: URL, env: Environment): Proxy | undefined {
  const proxies = readProxies(env)
  // `loadConfig` has refused unusable variables.
  if (!proxies.ok || isLoopbackHost(bareHost(url.hostname)) || isExempt(url, env)) return undefined
  return url.protocol === 'https:' ? proxies.value.https : proxies.value.http
}

/** The entries of `no_proxy`, and the variable that has them, or would have them. */
export function readExemptions(env: Environment): { readonly variable: string; readonly entries: readonly string[] } {
  const { name = 'NO_PROXY', text = '' } = firstSet(env, proxyVariables.exempt) ?? {}
  return { variable: name, entries: text.split(/[,\s]+/).filter((entry) => entry !== '') }
}

/**
 * Whether `no_proxy` names the host, in the forms that curl and Go accept: `*`, a name with its subdomains (`example.com`,
 * `.example.com`), subdomains only (`*.example.com`), an address or a network (`10.0.0.0/8`, `fd00::/8`), each with a
 * port or without. Source: curl(1), NO_PROXY; golang.org/x/net/http/httpproxy, Config.NoProxy.
 */
export function isExempt(url: URL, env: Environment): boolean {
  const host = bareHost(url.hostname)
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
  return readExemptions(env).entries.some((text) => {
    const entry = readEntry(text.toLowerCase())
    if (entry.name === '' || (entry.port !== undefined && entry.port !== port)) return false
    if (isIP(host) !== 0) return entry.name === '*' || (!entry.below && isInNetwork(host, entry.name))
    return entry.name === '*' || (host === entry.name && !entry.below) || host.endsWith(`.${entry.name}`)
  })
}

/** @param network an address, or one with the length of its prefix */
function isInNetwork(address: string, network: string): boolean {
  const [start = '', length] = network.split('/')
  const family = isIP(start)
  if (family === 0) return false
  const type = family === 4 ? 'ipv4' : 'ipv6'
  const bits = length === undefined ? (family === 4 ? 32 : 128) : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
  if (!(bits <= (family === 4 ? 32 : 128))) return false
  const list = new BlockList()
  list.addSubnet(start, bits, type)
  return list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
}

interface Entry {
  readonly name: string
  readonly port: string | undefined
  /** `*.example.com`: subdomains, not the name itself. */
  readonly below: boolean
}

function readEntry(text: string): Entry {
  const { name = text, port } = /^(?:\[(?<address>.+)\]|(?<name>[^:]+)):(?<port>\d+)$/.exec(text)?.groups ?? {}
  const bracketed = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1]
  return { name: bareHost(bracketed ?? name.replace(/^\*?\./, '')), port, below: text.startsWith('*.') }
}

/** Without brackets and the final dot. */
function bareHost(host: string): string {
  return host.replace(/^\[(.+)\]$/, '$1').replace(/(?<=.)\.$/, '')
}
