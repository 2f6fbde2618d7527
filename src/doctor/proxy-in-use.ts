import { isLoopbackHost } from '../config/loopback.ts'
import { readProxyUrls } from '../config/proxy-variables.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The proxy that a request goes through. */
export interface ProxyInUse {
  /** The variable that names it. */
  readonly variable: string
  /** Without user name and password. */
  readonly address: string
}

/**
 * The proxy of the environment that this program's own requests to `url` go through; undefined: none. This machine is
 * never looked for at one (createPool in executors/agent.ts).
 */
export function proxyInUse(url: URL, env: Environment): ProxyInUse | undefined {
  const proxies = readProxyUrls(env)
  if (!proxies.ok || isLoopbackHost(bareHost(url.hostname)) || isExempt(url, env)) return undefined
  const { http, https } = proxies.value
  // Without one of its own, https takes the way of http, as undici's EnvHttpProxyAgent has it.
  const isHttps = url.protocol === 'https:' && https !== undefined
  const address = isHttps ? https : http
  if (address === undefined) return undefined
  const names = isHttps ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY']
  const variable = names.find((name) => env[name] !== undefined) ?? ''
  return { variable, address: new URL(address).origin }
}

/** Whether `no_proxy` or `NO_PROXY` names the host, as undici's EnvHttpProxyAgent reads them. */
export function isExempt(url: URL, env: Environment): boolean {
  const host = bareHost(url.hostname)
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
  const entries = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').split(/[,\s]+/)
  return entries.some((text) => {
    const entry = readEntry(text.toLowerCase())
    if (entry.name === '' || (entry.port !== undefined && entry.port !== port)) return false
    return entry.name === '*' || (host === entry.name && !entry.below) || host.endsWith(`.${entry.name}`)
  })
}

interface Entry {
  readonly name: string
  readonly port: string | undefined
  /** `*.example.com`: what is below the name, not the name itself. */
  readonly below: boolean
}

function readEntry(text: string): Entry {
  const { name = text, port } = /^(?:\[(?<address>.+)\]|(?<name>[^:]+)):(?<port>\d+)$/.exec(text)?.groups ?? {}
  const bracketed = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1]
  return { name: bareHost(bracketed ?? name.replace(/^\*?\./, '')), port, below: text.startsWith('*.') }
}

/** Without brackets, and without the dot that ends a full name. */
function bareHost(host: string): string {
  return host.replace(/^\[(.+)\]$/, '$1').replace(/(?<=.)\.$/, '')
}
