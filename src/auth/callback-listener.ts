import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'

/** Where the redirect leads, and every loopback address that a browser may take it to. */
const LOOPBACK = {
  '127.0.0.1': ['127.0.0.1'],
  // The name may resolve to either, and the browser decides.
  localhost: ['127.0.0.1', '::1'],
} as const

export interface CallbackOptions {
  /** Tried in this order; one that is taken gives way to the next. 0 takes a free one. */
  readonly ports: readonly number[]
  /** Host of the redirect address, as it is registered; the browser's Host header must name it. */
  readonly host: keyof typeof LOOPBACK
  /** Path of the redirect address, as it is registered. */
  readonly path: string
  /** The site that sends the browser back, named on the page that the browser then shows. */
  readonly site: 'GitHub' | 'OpenAI'
  /** The `state` sent along; only a visit that brings it back counts. */
  readonly state: string
  readonly waitMs: number
  /** Called once with the redirect address. */
  readonly onListening: (redirectUri: string) => void
}

export interface AuthorizationOptions extends Omit<CallbackOptions, 'state' | 'onListening'> {
  readonly authorizeUrl: string
  readonly clientId: string
  /** Space separated. */
  readonly scope: string
  /** Further query parameters of the authorize URL. */
  readonly query?: Readonly<Record<string, string>>
  readonly verifierBytes: number
  /** Cryptographically strong. */
  readonly randomBytes: (size: number) => Uint8Array
  /** Called once the listener is up: open or show this address. */
  readonly onUrl: (url: string) => void
}

export type AuthorizationResult =
  | { readonly kind: 'code'; readonly code: string; readonly verifier: string; readonly redirectUri: string }
  | Exclude<CallbackResult, { kind: 'code' }>

/**
 * Gets an authorization code through a browser on this machine, with PKCE (RFC 7636, S256) and a loopback redirect
 * (RFC 8252 §7.3). Aborting `signal` closes the listener at once.
 */
export async function authorizeInBrowser(
  options: AuthorizationOptions,
  signal: AbortSignal,
): Promise<AuthorizationResult> {
  const state = toBase64Url(options.randomBytes(32))
  const verifier = toBase64Url(options.randomBytes(options.verifierBytes))
  let redirectUri = ''
  const onListening = (uri: string): void => {
    redirectUri = uri
    const url = new URL(options.authorizeUrl)
    const query = {
      response_type: 'code',
      client_id: options.clientId,
      redirect_uri: redirectUri,
      scope: options.scope,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...options.query,
    }
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    options.onUrl(url.href)
  }
  const result = await awaitCallback({ ...options, state, onListening }, signal)
  return result.kind === 'code' ? { ...result, verifier, redirectUri } : result
}

function toBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

export type CallbackResult =
  | { readonly kind: 'code'; readonly code: string }
  | { readonly kind: 'error'; readonly error: string; readonly description: string }
  | { readonly kind: 'timed_out' }
  /** All of the ports. */
  | { readonly kind: 'ports_taken' }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/**
 * Listens on loopback until the browser returns with the right `state`, once. Any page in that browser can send a
 * request here, so a request without the state gets a 400 and the wait goes on.
 */
export async function awaitCallback(options: CallbackOptions, signal: AbortSignal): Promise<CallbackResult> {
  if (signal.aborted) return { kind: 'aborted' }
  const { promise, resolve } = Promise.withResolvers<CallbackResult>()
  const expected = { origin: '', path: options.path, state: options.state }
  let used = false
  const listening = await listenOnFirst(options, (request, response) => {
    const visit = used ? refusedVisit : readVisit(request, expected)
    if (visit.kind === 'accepted') {
      used = true
      response.once('close', () => resolve(visit.result))
    }
    answer(response, visit, options.site)
  })
  if (listening.kind !== 'listening') return listening

  const onAbort = (): void => resolve({ kind: 'aborted' })
  const timer = setTimeout(() => resolve({ kind: 'timed_out' }), options.waitMs)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    // Aborted while the ports were opened: the event is over.
    if (signal.aborted) return { kind: 'aborted' }
    expected.origin = `http://${options.host}:${listening.port}`
    options.onListening(expected.origin + options.path)
    return await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    await closeAll(listening.servers)
  }
}

type Listening =
  | { readonly kind: 'listening'; readonly port: number; readonly servers: readonly Server[] }
  | { readonly kind: 'ports_taken' }
  | { readonly kind: 'failed'; readonly detail: string }

/** Opens the first free port. An error other than a taken port is returned only if no port can be opened. */
async function listenOnFirst(
  { ports, host }: Pick<CallbackOptions, 'ports' | 'host'>,
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
  let absent = 'unknown'
  for (const address of addresses) {
    const server = createServer(listener)
    const outcome = await listenOn(server, opened, address)
    if (typeof outcome === 'number') {
      opened = outcome
      servers.push(server)
      continue
    }
    if (absentCodes.has(outcome.code)) {
      absent = outcome.code
      continue
    }
    await closeAll(servers)
    return outcome.code === 'EADDRINUSE' ? { kind: 'ports_taken' } : cannotListen(address, port, outcome.code)
  }
  const [first = ''] = addresses
  return servers.length === 0 ? cannotListen(first, port, absent) : { kind: 'listening', port: opened, servers }
}

function cannotListen(address: string, port: number, code: string): Listening {
  return { kind: 'failed', detail: `Cannot listen on ${address}:${port} (${code})` }
}

/** The port, or the code of the error. */
function listenOn(server: Server, port: number, address: string): Promise<number | { readonly code: string }> {
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve({ code: error.code ?? 'unknown' }))
    server.listen(port, address, () => {
      const bound = server.address()
      // A TCP server's address is an object; the type also covers pipes.
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port)
    })
  })
}

async function closeAll(servers: readonly Server[]): Promise<void> {
  await Promise.all(
    servers.map(
      (server) =>
        new Promise<void>((resolve) => {
          server.close(() => resolve())
          // The page has been sent. Spare connections of the browser would hold `close` up.
          server.closeAllConnections()
        }),
    ),
  )
}

type Visit =
  | { readonly kind: 'accepted'; readonly result: CallbackResult }
  | { readonly kind: 'refused'; readonly status: 400 | 404 | 405 }

const refusedVisit: Visit = { kind: 'refused', status: 400 }

interface ExpectedVisit {
  readonly origin: string
  readonly path: string
  readonly state: string
}

function readVisit(request: IncomingMessage, { origin, path, state }: ExpectedVisit): Visit {
  // The exact Host line keeps out pages that reach us through a name of their own (DNS rebinding).
  if (`http://${request.headers.host ?? ''}` !== origin) return refusedVisit
  const target = `${origin}${request.url ?? ''}`
  if (!URL.canParse(target)) return refusedVisit
  const url = new URL(target)
  if (url.origin !== origin || url.pathname !== path) return { kind: 'refused', status: 404 }
  if (request.method !== 'GET') return { kind: 'refused', status: 405 }
  if (!isSame(url.searchParams.get('state') ?? '', state)) return refusedVisit
  const code = url.searchParams.get('code') ?? ''
  const error = url.searchParams.get('error') ?? ''
  if (error !== '') {
    const description = url.searchParams.get('error_description') ?? ''
    return { kind: 'accepted', result: { kind: 'error', error, description } }
  }
  return code === '' ? refusedVisit : { kind: 'accepted', result: { kind: 'code', code } }
}

/** In constant time: hashing first makes the lengths equal too. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Fixed pages: nothing of the request is reflected. */
function answer(response: ServerResponse, visit: Visit, site: CallbackOptions['site']): void {
  const accepted = visit.kind === 'accepted'
  response.writeHead(accepted ? 200 : visit.status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(
    accepted
      ? page(`${site} has answered`, 'You can close this tab and go back to the terminal.')
      : page('Not the expected visit', 'Start again with the address that the terminal shows.'),
  )
}

function page(title: string, text: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>copilot-proxy</title><h1>${title}</h1><p>${text}</p></html>\n`
}
