import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** Where the browser comes back to; registered with the OAuth app, so it does not change. */
const CALLBACK_PATH = '/callback'

export interface CallbackOptions {
  /** On 127.0.0.1; 0 takes a free one. */
  readonly port: number
  /** The `state` sent along; only a visit that brings it back counts. */
  readonly state: string
  readonly waitMs: number
  /** Called once with the redirect address. */
  readonly onListening: (redirectUri: string) => void
}

export type CallbackResult =
  | { readonly kind: 'code'; readonly code: string }
  | { readonly kind: 'error'; readonly error: string; readonly description: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'port_taken'; readonly port: number }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/**
 * Listens on 127.0.0.1 until the browser returns with the right `state`, once. Any page in that browser can knock
 * here, so a visit without the state changes nothing: it gets a 400 and the wait goes on.
 */
export function awaitCallback(options: CallbackOptions, signal: AbortSignal): Promise<CallbackResult> {
  const { promise, resolve } = Promise.withResolvers<CallbackResult>()
  if (signal.aborted) return Promise.resolve({ kind: 'aborted' })

  let result: CallbackResult | undefined
  const finish = (ending: CallbackResult): void => {
    if (result !== undefined) return
    result = ending
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    if (!server.listening) return resolve(ending)
    server.close(() => resolve(ending))
    // The page has been sent by now; what is left are spare connections a browser opens, which would hold `close` up.
    server.closeAllConnections()
  }
  const onAbort = (): void => finish({ kind: 'aborted' })
  const timer = setTimeout(() => finish({ kind: 'timed_out' }), options.waitMs)
  signal.addEventListener('abort', onAbort, { once: true })

  let origin = ''
  let used = false
  const server = createServer((request, response) => {
    const visit = used ? refusedVisit : readVisit(request, origin, options.state)
    if (visit.kind === 'accepted') {
      used = true
      response.once('close', () => finish(visit.result))
    }
    answer(response, visit)
  })
  server.once('error', (error: NodeJS.ErrnoException) =>
    finish(
      error.code === 'EADDRINUSE'
        ? { kind: 'port_taken', port: options.port }
        : { kind: 'failed', detail: `Cannot listen on 127.0.0.1:${options.port} (${error.code ?? 'unknown'})` },
    ),
  )
  server.listen(options.port, '127.0.0.1', () => {
    const address = server.address()
    // A TCP server's address is an object; the type also covers pipes.
    const port = typeof address === 'object' && address !== null ? address.port : options.port
    origin = `http://127.0.0.1:${port}`
    options.onListening(origin + CALLBACK_PATH)
  })
  return promise
}

type Visit =
  | { readonly kind: 'accepted'; readonly result: CallbackResult }
  | { readonly kind: 'refused'; readonly status: 400 | 404 | 405 }

const refusedVisit: Visit = { kind: 'refused', status: 400 }

function readVisit(request: IncomingMessage, origin: string, state: string): Visit {
  // The exact Host line keeps out pages that reach us through a name of their own (DNS rebinding).
  if (`http://${request.headers.host ?? ''}` !== origin) return refusedVisit
  const target = `${origin}${request.url ?? ''}`
  if (!URL.canParse(target)) return refusedVisit
  const url = new URL(target)
  if (url.origin !== origin || url.pathname !== CALLBACK_PATH) return { kind: 'refused', status: 404 }
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
function answer(response: ServerResponse, visit: Visit): void {
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
      ? page('GitHub has answered', 'You can close this tab and go back to the terminal.')
      : page('Not the expected visit', 'Start again with the address that the terminal shows.'),
  )
}

function page(title: string, text: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>copilot-proxy</title><h1>${title}</h1><p>${text}</p></html>\n`
}
