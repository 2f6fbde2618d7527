import { describeConnectionFailure, isBeforeSending } from './connection-failure.ts'

/** Replies of the login and account endpoints are a few KB. Anything larger is not such a reply. */
const MAX_REPLY_BYTES = 1024 * 1024

export interface RequestDeps {
  readonly fetch: typeof globalThis.fetch
  /** Limit for one request and its reply, headers and body. */
  readonly timeoutMs: number
}

export interface Reply {
  readonly kind: 'reply'
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** The outcome of a request. `detail` is a sentence without its period; it names hosts, never a credential. */
export type RequestOutcome =
  | Reply
  /** 3xx. Not followed, because the request carries a credential for one host. */
  | { readonly kind: 'redirected'; readonly detail: string }
  /** `unsent`: there was no connection, so no server has read the request. */
  | { readonly kind: 'unreachable'; readonly detail: string; readonly unsent?: true }
  | { readonly kind: 'timed_out'; readonly detail: string }
  /** `signal` was aborted. */
  | { readonly kind: 'aborted' }

/** A GET with headers, or a POST of a body. */
type RequestContent =
  | { readonly headers: Readonly<Record<string, string>> }
  | { readonly json: Readonly<Record<string, string>> }
  | { readonly form: Readonly<Record<string, string>> }

/** Sends one request to a login or account endpoint. Returns every outcome as a value. */
export async function sendRequest(
  deps: RequestDeps,
  url: string,
  content: RequestContent,
  signal: AbortSignal,
): Promise<RequestOutcome> {
  const host = new URL(url).host
  const timeout = AbortSignal.timeout(deps.timeoutMs)
  try {
    const response = await deps.fetch(url, {
      ...toInit(content),
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    })
    if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
      await response.body?.cancel()
      return {
        kind: 'redirected',
        detail: `${host} answered with a redirect${redirectTarget(response, host)}`,
      }
    }
    const text = await readText(response)
    if (text === undefined) return { kind: 'unreachable', detail: `The reply of ${host} is too large` }
    return { kind: 'reply', status: response.status, headers: response.headers, text }
  } catch (error) {
    if (signal.aborted) return { kind: 'aborted' }
    if (timeout.aborted) {
      return { kind: 'timed_out', detail: `No answer from ${host} within ${deps.timeoutMs / 1000} s` }
    }
    const detail = `Could not reach ${host}: ${describeConnectionFailure(error) || 'the connection failed'}`
    return { kind: 'unreachable', detail, ...(isBeforeSending(error) && { unsent: true }) }
  }
}

function toInit(content: RequestContent): RequestInit {
  if ('headers' in content) return { headers: content.headers }
  const [type, body] =
    'json' in content
      ? ['application/json', JSON.stringify(content.json)]
      : ['application/x-www-form-urlencoded', new URLSearchParams(content.form).toString()]
  return { method: 'POST', headers: { accept: 'application/json', 'content-type': type }, body }
}

export function isOk({ status }: Reply): boolean {
  return status >= 200 && status < 300
}

/** Visible ASCII. A header cannot carry a credential with any other character. */
export function isHeaderSafe(token: string): boolean {
  return /^[\x21-\x7E]+$/.test(token)
}

/** Returns only the target's host: path and query may repeat secrets of the request. */
function redirectTarget(response: Response, host: string): string {
  const target = URL.parse(response.headers.get('location') ?? '')?.host
  return target === undefined || target === host ? '' : ` to ${target}. ${causesOf('')}`
}

/** @param others further causes, to list before the usual ones; each ends in a comma */
function causesOf(others: string): string {
  return `Possible causes: ${others}a sign-in page of this network, a company proxy, a firewall`
}

/**
 * States that a web page came instead of an answer; undefined for any other reply.
 * @param whose as in “GitHub’s answer”
 * @param others possible causes besides the usual ones
 */
export function describeWebPage({ status, headers, text }: Reply, whose: string, others = ''): string | undefined {
  const isPage = /^text\/html\b/i.test(headers.get('content-type') ?? '') || text.trimStart().startsWith('<')
  return isPage ? `Got a web page instead of ${whose} answer (status ${status}). ${causesOf(others)}` : undefined
}

/** Undefined if the body is larger than any real reply. */
async function readText(response: Response): Promise<string | undefined> {
  if (response.body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  let sizeBytes = 0
  for await (const chunk of response.body) {
    sizeBytes += chunk.byteLength
    if (sizeBytes > MAX_REPLY_BYTES) return undefined
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** The longest upstream text that is shown to users or logged. Characters. */
const MAX_LENGTH = 300

// C0, DEL, C1 and the bidirectional controls. They could repaint a terminal or reorder text.
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu

/**
 * Sanitises upstream's text to one line: replaces control characters by spaces, redacts `secrets` (an upstream may
 * reflect what it was sent), and bounds the length.
 */
export function toPlainLine(text: string, secrets: readonly string[] = []): string {
  let line = text
  for (const secret of secrets) {
    if (secret !== '') line = line.replaceAll(secret, '[redacted]')
  }
  line = line.replaceAll(UNPRINTABLE, ' ').trim()
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line
}
