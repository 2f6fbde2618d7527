import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer, request as requestHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { env } from 'node:process'
import { pipeline, type Duplex } from 'node:stream'
import type { Proxy } from '../../config/proxy-variables.ts'
import { createLanes } from '../lanes.ts'
import type { Network } from './host-pattern.ts'
import { judgeHost, type NetworkDeps, type Target } from './judge-host.ts'
import { isPublicAddress } from './public-address.ts'

/** The hosts that a command did not reach. */
interface Unreached {
  readonly sentences: readonly string[]
  /** Whether it would reach one of them if it might reach every public host. */
  readonly needsPublic: boolean
}

/** The proxy of one command. It listens on a Unix socket. */
export interface FilteringProxy {
  readonly socketPath: string
  /** Ends all connections. */
  readonly close: () => Promise<Unreached>
}

/** A look-up keeps a thread of Node.js, which has four of them for files and names. */
const inTurn = createLanes({ perKey: 2, total: 2 })

const systemNetwork: NetworkDeps = {
  lookup: (name) => inTurn(name, AbortSignal.timeout(connectMs), () => lookup(name, { all: true })),
  isPublic: isPublicAddress,
  env,
}

/** Package managers use some ten connections. */
const maxConnections = 100

/** A host that does not answer must not keep a command until its own limit. Ms. */
const connectMs = 30_000

/** A build at the other end may be silent for minutes. Ms. */
const idleMs = 10 * 60_000

const maxHeadBytes = 16 * 1024

/** A command that tries many hosts must not fill its answer. */
const maxSentences = 10

/**
 * The folder of the socket. Commands in a sandbox have a /tmp of their own, so no other command finds the socket. The path of
 * a socket has 107 bytes at most, and the system's folder for temporary files may have a longer name.
 */
const socketFolder = '/tmp/copilot-proxy-'

/** Headers that are for the next machine only (RFC 9110, 7.6.1). Node.js frames the body by `transfer-encoding`. */
const hopHeaders = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authorization',
  'te',
  'upgrade',
  'host',
])

/** Opens an HTTP proxy that connects to the hosts of `network` only. It looks at the head of a request and not into its body. */
export async function openFilteringProxy(network: Network, deps: NetworkDeps = systemNetwork): Promise<FilteringProxy> {
  const sockets = new Set<Duplex>()
  const busy = new WeakSet<Socket>()
  const sentences = new Set<string>()
  let needsPublic = false

  function hold<Each extends Duplex>(socket: Each): Each {
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
    return socket
  }

  /** Returns undefined after it has answered with a refusal. */
  async function admit(
    asked: { readonly scheme: 'http' | 'https'; readonly host: string; readonly port: number } | undefined,
    refuse: (status: number, detail: string) => void,
  ): Promise<Target | undefined> {
    if (asked === undefined) {
      refuse(400, 'This is the proxy of commands. It takes CONNECT and requests with an http address.')
      return undefined
    }
    const verdict = await judgeHost(network, asked, deps)
    if (verdict.ok) return verdict.target
    if (sentences.size < maxSentences) sentences.add(verdict.detail)
    needsPublic ||= verdict.needsPublic ?? false
    refuse(verdict.status, verdict.detail)
    return undefined
  }

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const refuse = (status: number, detail: string): void => {
      const text = `${detail}\n`
      client.end(
        `HTTP/1.1 ${status} ${status === 403 ? 'Forbidden' : 'Failed'}\r\ncontent-type: text/plain\r\n` +
          `content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
      )
    }
    const target = await admit(readAuthority(request.url ?? ''), refuse)
    if (target === undefined || client.destroyed) return
    try {
      const upstream = hold(await open(target))
      if (client.destroyed) {
        upstream.destroy()
        return
      }
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.write(head)
      joinStreams(client, upstream)
    } catch {
      refuse(502, `${target.authority} could not be reached.`)
    }
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = (status: number, detail: string): void => {
      if (response.headersSent) response.destroy()
      else response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${detail}\n`)
    }
    const url = URL.parse(request.url ?? '')
    const asked =
      url?.protocol === 'http:'
        ? ({ scheme: 'http', host: url.hostname, port: Number(url.port || 80) } as const)
        : undefined
    const target = await admit(asked, refuse)
    if (target === undefined || url === null || response.destroyed) return
    const onward = startRequest(target, url, request)
    onward.setTimeout(idleMs, () => onward.destroy())
    onward.once('socket', hold)
    onward.once('error', () => refuse(502, `${target.authority} could not be reached.`))
    onward.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, passedHeaders(answer, []))
      pipeline(answer, response, () => {})
    })
    response.once('close', () => onward.destroy())
    request.pipe(onward)
  }

  const folder = await mkdtemp(socketFolder)
  const socketPath = join(folder, 'proxy')
  const server = createServer({ maxHeaderSize: maxHeadBytes, requestTimeout: 0, headersTimeout: connectMs })
  server.maxConnections = maxConnections
  server.on('connection', hold)
  // The sandbox has the socket now, so nothing remains if this process is killed.
  server.once('connection', () => void rm(folder, { recursive: true, force: true }))
  server.on('request', (request, response) => {
    // Requests without waiting for answers would open any number of connections.
    if (busy.has(request.socket)) {
      request.socket.destroy()
      return
    }
    busy.add(request.socket)
    response.once('finish', () => busy.delete(request.socket))
    void forward(request, response).catch(() => response.destroy())
  })
  server.on('connect', (request, client, head) => void tunnel(request, client, head).catch(() => client.destroy()))

  async function end(): Promise<void> {
    server.close()
    for (const socket of sockets) socket.destroy()
    await rm(folder, { recursive: true, force: true })
  }

  try {
    server.listen(socketPath)
    await once(server, 'listening')
    // A command may run as another user. The folder keeps all other processes out.
    await chmod(socketPath, 0o666)
  } catch (error) {
    await end()
    throw error
  }
  return {
    socketPath,
    close: async () => {
      await end()
      return { sentences: [...sentences], needsPublic }
    },
  }
}

/** Reads the target of a CONNECT. */
function readAuthority(
  text: string,
): { readonly scheme: 'http' | 'https'; readonly host: string; readonly port: number } | undefined {
  const { host, port } = /^(?<host>\[[^\]]+\]|[^:[\]]+):(?<port>\d{1,5})$/.exec(text)?.groups ?? {}
  const number = Number(port)
  if (host === undefined || !(number >= 1 && number <= 65_535)) return undefined
  return { scheme: number === 80 ? 'http' : 'https', host, port: number }
}

/** Connects to the addresses that were checked, or through the proxy of this process. @throws */
async function open({ name, port, authority, way }: Target): Promise<Duplex> {
  if ('proxy' in way) return openThrough(way.proxy, authority)
  const socket = connectTo(name, port, way.addresses)
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectMs) })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** Resolves nothing again. The first address that answers is used. */
function connectTo(name: string, port: number, addresses: readonly LookupAddress[]): Socket {
  return connect({
    host: name,
    port,
    autoSelectFamily: true,
    lookup: (_name, _options, callback) => callback(null, [...addresses]),
  })
}

async function openThrough(proxy: Proxy, authority: string): Promise<Duplex> {
  const request = proxyRequest(proxy)({
    ...proxyAddress(proxy),
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...proxyLogin(proxy) },
  }).end()
  request.setTimeout(connectMs, () => request.destroy(new Error('the proxy does not answer')))
  const answered = Promise.withResolvers<Duplex>()
  request.once('error', answered.reject)
  request.once('response', () => answered.reject(new Error('the proxy has refused')))
  request.once('connect', (response, socket, head) => {
    if (response.statusCode === 200) {
      if (head.length > 0) socket.unshift(head)
      answered.resolve(socket)
    } else {
      socket.destroy()
      answered.reject(new Error('the proxy has refused'))
    }
  })
  try {
    return await answered.promise
  } catch (error) {
    request.destroy()
    throw error
  }
}

function startRequest({ name, port, way }: Target, url: URL, request: IncomingMessage) {
  const { method } = request
  const host = ['host', url.host]
  if ('proxy' in way) {
    const login = Object.entries(proxyLogin(way.proxy)).flat()
    const headers = passedHeaders(request, [...host, ...login])
    return proxyRequest(way.proxy)({ ...proxyAddress(way.proxy), method, path: url.href, headers })
  }
  const headers = passedHeaders(request, host)
  const path = url.pathname + url.search
  const { addresses } = way
  return requestHttp({ method, path, headers, createConnection: () => connectTo(name, port, addresses) })
}

function proxyRequest({ url }: Proxy): typeof requestHttp {
  return new URL(url).protocol === 'https:' ? requestHttps : requestHttp
}

function proxyAddress({ url }: Proxy) {
  const { hostname, port, protocol } = new URL(url)
  const ordinary = protocol === 'https:' ? 443 : 80
  return { host: hostname.replace(/^\[(.+)\]$/, '$1'), port: Number(port || ordinary), agent: false } as const
}

function proxyLogin({ url }: Proxy): Readonly<Record<string, string>> {
  const { username, password } = new URL(url)
  if (username === '' && password === '') return {}
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }
}

/** Returns names and values in turn. Each connection serves one request of the other side. */
function passedHeaders({ rawHeaders }: IncomingMessage, added: readonly string[]): string[] {
  const passed = rawHeaders.flatMap((name, index) => {
    const value = rawHeaders[index + 1]
    return index % 2 === 1 || value === undefined || hopHeaders.has(name.toLowerCase()) ? [] : [name, value]
  })
  return [...passed, ...added, 'connection', 'close']
}

/** Copies both ways until both have ended, one has failed, or nothing was sent for long. */
function joinStreams(client: Duplex, upstream: Duplex): void {
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.pipe(to)
    from.once('close', () => to.destroy())
    if ('setTimeout' in from && typeof from.setTimeout === 'function') from.setTimeout(idleMs, () => to.destroy())
  }
}
