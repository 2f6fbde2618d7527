import { hash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { errnoOf } from './records/record-fs.ts'
import { toPlainLine, type RequestDeps } from './http-json.ts'

/** The addresses that the redirect's host name can resolve to. */
const LOOPBACK = {
  '127.0.0.1': ['127.0.0.1'],
  // The name may resolve to either address, and the browser decides which one it uses.
  localhost: ['127.0.0.1', '::1'],
} as const

/** A login through a browser on this machine. */
export interface BrowserLoginDeps extends RequestDeps {
  /** Cryptographically strong. */
  readonly randomBytes: (size: number) => Uint8Array
  /** Called once, when the listener is up, with the address to open or show. */
  readonly onUrl: (url: string) => void
}

export interface AuthorizationOptions {
  readonly authorizeUrl: string
  readonly clientId: string
  /** Space separated. */
  readonly scope: string
  /** Further query parameters of the authorize URL. */
  readonly query?: Readonly<Record<string, string>>
  readonly verifierBytes: number
  /** Tried in this order. A port that is taken is skipped. 0 selects a free one. */
  readonly ports: readonly number[]
  /** Host of the redirect address, as registered. The browser's Host header must name it. */
  readonly host: keyof typeof LOOPBACK
  /** Path of the redirect address, as registered. */
  readonly path: string
  /** The site that redirects the browser. The final page names it. */
  readonly site: 'GitHub' | 'OpenAI'
  /** Total time limit for the user. */
  readonly waitMs: number
}

/** A code, and the values for redeeming it. */
export interface AuthorizationCode {
  readonly code: string
  /** The PKCE verifier of the code. */
  readonly verifier: string
  readonly redirectUri: string
}

/** Why a browser login ended without a code. `detail` is a sentence without its period. */
export type BrowserLoginFailure =
  /** The user or the site's rules refused. `detail` is the site's reason, '' if it gives none. */
  | { readonly kind: 'denied'; readonly detail: string }
  | { readonly kind: 'timed_out' }
  /** Another program holds every port. */
  | { readonly kind: 'ports_taken' }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/**
 * Gets an authorization code through a browser on this machine, with PKCE (RFC 7636, S256) and a loopback redirect (RFC
 * 8252 §7.3). Listens until the browser returns with the right `state`. Any page in that browser can send a request
 * here, so a request without the state gets a 400 and the wait continues. Aborting `signal` closes the listener at
 * once.
 */
export async function authorizeInBrowser(
  deps: Pick<BrowserLoginDeps, 'onUrl' | 'randomBytes'>,
  options: AuthorizationOptions,
  signal: AbortSignal,
): Promise<({ readonly kind: 'code' } & AuthorizationCode) | BrowserLoginFailure> {
  if (signal.aborted) return { kind: 'aborted' }
  const state = toBase64Url(deps.randomBytes(32))
  const verifier = toBase64Url(deps.randomBytes(options.verifierBytes))
  const { promise, resolve } = Promise.withResolvers<CallbackResult>()
  const expected = { origin: '', path: options.path, state }
  let used = false
  const listening = await listenOnFirst(options, (request, response) => {
    const visit = used ? 400 : readVisit(request, expected)
    if (typeof visit !== 'number') {
      used = true
      response.once('close', () => resolve(visit))
    }
    answer(response, visit, options.site)
  })
  if (listening.kind !== 'listening') return listening

  const onAbort = (): void => resolve({ kind: 'aborted' })
  const timer = setTimeout(() => resolve({ kind: 'timed_out' }), options.waitMs)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    // The signal was aborted while the ports were opened, so its event has passed.
    if (signal.aborted) return { kind: 'aborted' }
    expected.origin = `http://${options.host}:${listening.port}`
    const redirectUri = expected.origin + options.path
    deps.onUrl(authorizeUrl(options, { redirectUri, state, verifier }))
    const result = await promise
    if (result.kind === 'code') return { ...result, verifier, redirectUri }
    return result.kind === 'error' ? toFailure(result, options.site) : result
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    await closeAll(listening.servers)
  }
}

function authorizeUrl(
  { authorizeUrl: base, clientId, scope, query }: AuthorizationOptions,
  sent: { readonly redirectUri: string; readonly state: string; readonly verifier: string },
): string {
  const url = new URL(base)
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: sent.redirectUri,
    scope,
    state: sent.state,
    code_challenge: hash('sha256', sent.verifier, 'base64url'),
    code_challenge_method: 'S256',
    ...query,
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

function toFailure(
  { error, description }: Extract<CallbackResult, { kind: 'error' }>,
  site: AuthorizationOptions['site'],
): BrowserLoginFailure {
  if (error === 'access_denied') return { kind: 'denied', detail: toPlainLine(description) }
  const words = toPlainLine(description || error)
  return { kind: 'failed', detail: site === 'OpenAI' ? `OpenAI said: ${words}` : words }
}

function toBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

type CallbackResult =
  | { readonly kind: 'code'; readonly code: string }
  | { readonly kind: 'error'; readonly error: string; readonly description: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'aborted' }

type Listening =
  | { readonly kind: 'listening'; readonly port: number; readonly servers: readonly Server[] }
  | { readonly kind: 'ports_taken' }
  | { readonly kind: 'failed'; readonly detail: string }

/** Opens the first free port. An error other than a taken port is returned only if no port can be opened. */
async function listenOnFirst(
  { ports, host }: Pick<AuthorizationOptions, 'ports' | 'host'>,
  listener: RequestListener,
): Promise<Listening> {
  let failure: Listening = { kind: 'ports_taken' }
  for (const port of ports) {
    const listening = await listenOnAll(port, LOOPBACK[host], listener)
    if (listening.kind === 'listening') return listening
    if (failure.kind === 'ports_taken') failure = listening
  }
  return failure
}

/** The machine does not have the address, e.g. `::1` with IPv6 off. */
const absentCodes: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

/**
 * Opens one port on every address. A port taken on one address counts as taken: the browser might reach the other
 * program.
 */
async function listenOnAll(port: number, addresses: readonly string[], listener: RequestListener): Promise<Listening> {
  const servers: Server[] = []
  let opened = port
  let failure: Listening = { kind: 'ports_taken' }
  for (const address of addresses) {
    const server = createServer(listener)
    server.on('error', () => {})
    try {
      opened = await listenOn(server, opened, address)
      servers.push(server)
    } catch (error) {
      const code = errnoOf(error) || 'unknown'
      failure =
        code === 'EADDRINUSE'
          ? { kind: 'ports_taken' }
          : { kind: 'failed', detail: `Cannot listen on ${address}:${port} (${code})` }
      if (absentCodes.has(code)) continue
      await closeAll(servers)
      return failure
    }
  }
  return servers.length === 0 ? failure : { kind: 'listening', port: opened, servers }
}

/**
 * @returns the port
 * @throws the system's error
 */
async function listenOn(server: Server, port: number, address: string): Promise<number> {
  server.listen(port, address)
  await once(server, 'listening')
  const bound = server.address()
  // A TCP server's address is an object; the type also covers pipes.
  return typeof bound === 'object' && bound !== null ? bound.port : port
}

async function closeAll(servers: readonly Server[]): Promise<void> {
  await Promise.all(
    servers.map(async (server) => {
      const closed = once(server, 'close')
      server.close()
      // The page has been sent. Idle connections of the browser would delay `close`.
      server.closeAllConnections()
      await closed
    }),
  )
}

/** The result of a request to the listener, or the status that refuses it. */
type Visit = CallbackResult | 400 | 404 | 405

function readVisit(
  request: IncomingMessage,
  { origin, path, state }: { readonly origin: string; readonly path: string; readonly state: string },
): Visit {
  // The exact Host header keeps out pages that reach this listener through a name of their own (DNS rebinding).
  if (`http://${request.headers.host ?? ''}` !== origin) return 400
  const target = `${origin}${request.url ?? ''}`
  if (!URL.canParse(target)) return 400
  const url = new URL(target)
  if (url.origin !== origin || url.pathname !== path) return 404
  if (request.method !== 'GET') return 405
  if (!isSame(url.searchParams.get('state') ?? '', state)) return 400
  const code = url.searchParams.get('code') ?? ''
  const error = url.searchParams.get('error') ?? ''
  if (error !== '') return { kind: 'error', error, description: url.searchParams.get('error_description') ?? '' }
  return code === '' ? 400 : { kind: 'code', code }
}

/** Compares in constant time. Hashing first makes the lengths equal too. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'))
}

/** Fixed pages that repeat nothing from the request. */
function answer(response: ServerResponse, visit: Visit, site: AuthorizationOptions['site']): void {
  const isRefused = typeof visit === 'number'
  response.writeHead(isRefused ? visit : 200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(
    isRefused
      ? page('Unexpected request', 'Open the address that the terminal shows.')
      : page(`${site} answered`, 'You can close this tab and go back to the terminal.'),
  )
}

function page(title: string, text: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>copilot-proxy</title><h1>${title}</h1><p>${text}</p></html>\n`
}
