/** Replies of the login and account endpoints are a few KB; more than this is not one of them. */
const MAX_REPLY_BYTES = 1024 * 1024

export interface RequestDeps {
  readonly fetch: typeof globalThis.fetch
  /** For one whole exchange, headers and body. */
  readonly timeoutMs: number
}

/** How an exchange ended. `detail` names hosts and error codes, never a credential. */
export type RequestOutcome =
  | { readonly kind: 'reply'; readonly status: number; readonly headers: Headers; readonly text: string }
  /** 3xx. Not followed: the request carries a credential that belongs to one host. */
  | { readonly kind: 'redirected'; readonly detail: string }
  | { readonly kind: 'unreachable'; readonly detail: string }
  | { readonly kind: 'timed_out'; readonly detail: string }
  /** `signal` was aborted. */
  | { readonly kind: 'aborted' }

/** One request to a login or account endpoint; every ending is a value. */
export async function sendRequest(
  deps: RequestDeps,
  url: string,
  init: {
    readonly method?: 'GET' | 'POST'
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string
  },
  signal: AbortSignal,
): Promise<RequestOutcome> {
  const host = new URL(url).host
  const timeout = AbortSignal.timeout(deps.timeoutMs)
  try {
    const response = await deps.fetch(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    })
    if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
      await response.body?.cancel()
      return {
        kind: 'redirected',
        detail: `${host} answered with a redirect${redirectTarget(response)}, which is not followed`,
      }
    }
    const text = await readText(response)
    if (text === undefined) return { kind: 'unreachable', detail: `the reply of ${host} is too large to be its own` }
    return { kind: 'reply', status: response.status, headers: response.headers, text }
  } catch (error) {
    if (signal.aborted) return { kind: 'aborted' }
    if (timeout.aborted) {
      return { kind: 'timed_out', detail: `${host} did not answer within ${deps.timeoutMs / 1000} s` }
    }
    return { kind: 'unreachable', detail: `could not reach ${host}${failureClass(error)}` }
  }
}

/** The body as JSON, whatever its content type says; undefined when it is none. */
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

/** ` to <host>`, without path and query: those may carry what was sent. */
function redirectTarget(response: Response): string {
  const location = response.headers.get('location')
  return location !== null && URL.canParse(location) ? ` to ${new URL(location).host}` : ''
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

/** ` (ENOTFOUND)` and the like: fetch hides the reason in `cause`, sometimes one level deeper. */
function failureClass(error: unknown): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return ` (${at.code})`
  }
  return ''
}
