import { describeConnectionFailure, isBeforeSending } from './connection-failure.ts'

/** Replies of the login and account endpoints are a few KB; more than this is not one of them. */
const MAX_REPLY_BYTES = 1024 * 1024

export interface RequestDeps {
  readonly fetch: typeof globalThis.fetch
  /** For one request and its reply, headers and body. */
  readonly timeoutMs: number
}

export interface Reply {
  readonly kind: 'reply'
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** How a request ended. `detail` is a sentence without its period; it names hosts, never a credential. */
export type RequestOutcome =
  | Reply
  /** 3xx. Not followed: the request carries a credential that belongs to one host. */
  | { readonly kind: 'redirected'; readonly detail: string }
  /** `unsent`: there was no connection, so nobody has read the request. */
  | { readonly kind: 'unreachable'; readonly detail: string; readonly unsent?: true }
  | { readonly kind: 'timed_out'; readonly detail: string }
  /** `signal` was aborted. */
  | { readonly kind: 'aborted' }

/** A GET with headers, or a POST of a body. */
type RequestContent =
  | { readonly headers: Readonly<Record<string, string>> }
  | { readonly json: Readonly<Record<string, string>> }
  | { readonly form: Readonly<Record<string, string>> }

/** One request to a login or account endpoint; every ending is a value. */
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
        detail: `The answer of ${host} is a redirect${redirectTarget(response, host)}`,
      }
    }
    const text = await readText(response)
    if (text === undefined) return { kind: 'unreachable', detail: `The reply of ${host} is too large to be its own` }
    return { kind: 'reply', status: response.status, headers: response.headers, text }
  } catch (error) {
    if (signal.aborted) return { kind: 'aborted' }
    if (timeout.aborted) {
      return { kind: 'timed_out', detail: `No answer from ${host} within ${deps.timeoutMs / 1000} s` }
    }
    const clause = describeConnectionFailure(error)
    const detail = `Could not reach ${host}${clause === '' ? '' : `: ${clause}`}`
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

/** The body as JSON, whatever its content type; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Visible ASCII: a credential with anything else in it could not be sent in a header. */
export function isHeaderSafe(token: string): boolean {
  return /^[\x21-\x7E]+$/.test(token)
}

/** The target's host. Path and query may carry what was sent. */
function redirectTarget(response: Response, host: string): string {
  const target = URL.parse(response.headers.get('location') ?? '')?.host
  return target === undefined || target === host
    ? ', which is not followed'
    : ` to ${target}, which is not followed: ${inTheWay}`
}

const inTheWay = 'the sign-in page of a network, a company proxy or firewall may be in the way'

/**
 * Says that a web page came instead of an answer; undefined for any other reply.
 * @param whose as in “GitHub’s answer”
 * @param whatElse may have answered, besides what is in the way of every request
 */
export function describeWebPage({ status, headers, text }: Reply, whose: string, whatElse = ''): string | undefined {
  const isPage = /^text\/html\b/i.test(headers.get('content-type') ?? '') || text.trimStart().startsWith('<')
  return isPage
    ? `A web page came back instead of ${whose} answer (status ${status}): ${whatElse}${inTheWay}`
    : undefined
}

/** Undefined when the body is larger than any honest reply. */
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

/** The longest upstream text that is shown to a person or logged. Characters. */
const MAX_LENGTH = 300

// C0, DEL, C1 and the bidirectional controls: they could repaint a terminal or reorder what a person reads.
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu

/**
 * Upstream's text as one harmless line: control characters become spaces, `secrets` are redacted (an upstream may
 * reflect what it was sent), and the length is bounded.
 */
export function toPlainLine(text: string, secrets: readonly string[] = []): string {
  let line = text
  for (const secret of secrets) {
    if (secret !== '') line = line.replaceAll(secret, '[redacted]')
  }
  line = line.replaceAll(UNPRINTABLE, ' ').trim()
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line
}
