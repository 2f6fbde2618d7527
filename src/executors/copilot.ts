import type { CopilotToken, CopilotTokenSource } from '../auth/copilot/token.ts'
import { Fault } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import type { AccountRequests } from './account-requests.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { createCopilotHeaders, passedHeaders } from './copilot-headers.ts'
import { cliIdentity, editorIdentity, type IdentityHeaders } from './copilot-identity.ts'
import { staleChoice } from './executor.ts'
import type { Executor, UpstreamCall } from './executor.ts'
import { readErrorText, readModelList, readReplyJson, requireEventStream, retryAfterIn } from './read-reply.ts'
import { createSender, toTarget } from './send-request.ts'
import type { Target, UpstreamReply } from './send-request.ts'
import { toStatusFault } from './copilot-fault.ts'

export interface CopilotExecutorDeps {
  readonly tokens: Pick<CopilotTokenSource, 'get' | 'replace' | 'renewBeforeNext'>
  /** The executor's own; closed with it. */
  readonly pool: ConnectionPool
  readonly log: Logger
  /** Ends requests when their account logs out. */
  readonly requests?: Pick<AccountRequests, 'begin'> | undefined
  /** Removes known credentials from upstream's error messages. */
  readonly redact: (text: string) => string
  /** Called with the status of every reply. */
  readonly onStatus?: ((status: number) => void) | undefined
}

export interface CopilotExecutorOptions {
  readonly refreshOnUnauthorized: boolean
  readonly headers: IdentityHeaders
  /** Headers that name this install, if the user has enabled them. */
  readonly connectMs: number
  readonly headersMs: number
  readonly idleMs: number
}

/** A request whose token and host are not known yet. */
interface TokenRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string | Buffer | null
  readonly host?: UpstreamCall['host']
  /** @param repeated the proxy sends the request again, not the user */
  readonly headers: (token: CopilotToken, repeated: boolean) => Record<string, string>
  readonly signal: AbortSignal
}

/**
 * The executor of GitHub Copilot. Error rules: 401 → one refresh and one replay with a different token; 421 → the next
 * endpoint of the chain, once; every other status goes to the caller, never retried. After a 402 or 403 the next
 * request gets a new token.
 */
export function createCopilotExecutor(deps: CopilotExecutorDeps, options: CopilotExecutorOptions): Executor {
  const { tokens, pool, log } = deps
  const editor = createCopilotHeaders(editorIdentity(options.headers), options.headers)
  const cli = createCopilotHeaders(cliIdentity(options.headers), options.headers)
  const send = createSender(pool, options, deps.requests)
  /** The endpoint that accepted requests after the first had answered 421; used for as long as its token. */
  let chosen: { readonly token: string; readonly baseUrl: string } | undefined
  let lastTarget: Target | undefined

  function sendWith(request: TokenRequest, token: CopilotToken, baseUrl: string): Promise<UpstreamReply> {
    if (lastTarget?.baseUrl !== baseUrl) lastTarget = toTarget(baseUrl)
    const { path, method, body, signal } = request
    return send({
      target: lastTarget,
      path,
      method,
      body,
      headers: (repeated) => request.headers(token, repeated),
      account: token.recordId,
      signal,
    })
  }

  /** The program that sends such a token. */
  function headersFor({ direct }: CopilotToken): typeof editor {
    return direct === true ? cli : editor
  }

  /** @returns a reply with status 200 and its body unread */
  async function open(request: TokenRequest): Promise<UpstreamReply> {
    let token = await tokens.get(request.signal)
    let mayRefresh = options.refreshOnUnauthorized
    let misdirected: Fault | undefined
    let baseUrl = endpointOf(token, request)
    for (;;) {
      let reply: UpstreamReply
      try {
        reply = await sendWith(request, token, baseUrl)
      } catch (error) {
        // If the endpoint after a 421 cannot be reached, the 421 is the answer.
        throw error instanceof Fault && misdirected !== undefined ? misdirected : error
      }
      deps.onStatus?.(reply.status)
      if (reply.status === 200) {
        if (misdirected !== undefined) chosen = { token: token.value, baseUrl }
        return reply
      }
      const fault = await readFault(reply)
      if (fault.error.kind !== 'upstream_status') throw fault
      const { status, message, code, headers } = fault.error
      log.debug({ status, message, code, path: request.path, headers }, 'the provider refused the request')

      if (status === 421) {
        // The host for code completion has no alternative.
        const next = request.host === undefined ? token.candidates[token.candidates.indexOf(baseUrl) + 1] : undefined
        if (misdirected !== undefined || next === undefined) throw misdirected ?? fault
        misdirected = fault
        baseUrl = next
      } else if (status === 404 && misdirected !== undefined) {
        throw misdirected
      } else if (status === 401 && isStaleChoice(message)) {
        // The session token of an automatic model choice is stale, and a new Copilot token would not help. A 401 would
        // send callers looking for a wrong key.
        throw new Fault({ ...fault.error, status: 502, code: staleChoice })
      } else if (status === 401 && !isAboutToken(message)) {
        // The request is wrong: it names an item of another connection.
        throw new Fault({ ...fault.error, status: 400 })
      } else if (status === 401) {
        const fresh = mayRefresh ? await tokens.replace(token.value, request.signal) : token
        if (fresh.value === token.value) {
          throw new Fault({ kind: 'upstream_unauthorized', upstreamMessage: message, ...(headers && { headers }) })
        }
        mayRefresh = false
        token = fresh
        baseUrl = endpointOf(token, request)
      } else {
        if (status === 402 || status === 403) tokens.renewBeforeNext(token.value)
        throw fault
      }
    }
  }

  function endpointOf({ value, candidates, completionsUrl }: CopilotToken, { host }: TokenRequest): string {
    return host === 'completions' ? completionsUrl : firstEndpoint(value, candidates)
  }

  function firstEndpoint(token: string, candidates: readonly string[]): string {
    const first = chosen?.token === token ? chosen.baseUrl : candidates[0]
    if (first === undefined) throw new Fault({ kind: 'internal' })
    return first
  }

  async function readFault(reply: UpstreamReply): Promise<Fault> {
    const refusal = {
      status: reply.status,
      body: await readErrorText(reply, options.idleMs),
      retryAfter: retryAfterIn(reply.headers),
      headers: passedHeaders(reply.headers),
    }
    return toStatusFault(refusal, deps.redact)
  }

  function post(call: UpstreamCall, accept: string, signal: AbortSignal): TokenRequest {
    return {
      method: 'POST',
      path: call.path,
      body: call.body,
      host: call.host,
      headers: (token, repeated) =>
        headersFor(token).ofCall(token.value, call, repeated ? 'agent' : call.initiator, accept),
      signal,
    }
  }

  return {
    provider: 'copilot',

    async stream(call, { signal }) {
      refuseTooLarge(call, deps.redact)
      const reply = await open(post(call, 'text/event-stream', signal))
      const headers = passedHeaders(reply.headers)
      requireEventStream(reply, headers)
      return { body: reply.body, idleMs: options.idleMs, headers }
    },

    async json(call, { signal }) {
      return readReplyJson(await open(post(call, 'application/json', signal)), options.idleMs)
    },

    async listModels({ signal }) {
      const reply = await open({
        method: 'GET',
        path: '/models',
        body: null,
        headers: (token) => headersFor(token).ofModelList(token.value),
        signal,
      })
      return readModelList(reply, options.idleMs)
    },

    close: () => pool.close(),
  }
}

/** Of a body for `/responses`, as in GitHub's CLI 1.0.102 (docs/copilot-wire.md, "Errors"). */
const mostBytes = 32 * 1024 * 1024

/** Refuses in upstream's place, before the body is sent. The pipeline may repeat the request without old images. */
function refuseTooLarge({ path, body }: UpstreamCall, redact: (text: string) => string): void {
  const sizeBytes = path === '/responses' ? Buffer.byteLength(body) : 0
  if (sizeBytes <= mostBytes) return
  const message = `The request has ${(sizeBytes / 1024 / 1024).toFixed(1)} MB. Copilot accepts at most 32 MB at /responses.`
  throw toStatusFault({ status: 413, body: JSON.stringify({ message }), retryAfter: undefined, headers: {} }, redact)
}

function isStaleChoice(message: string): boolean {
  return /invalid auto-mode selector/i.test(message)
}

/** Upstream also says 401 when a replayed item belongs to another connection; a new token would not help. */
function isAboutToken(message: string): boolean {
  return !/does not belong to this connection/i.test(message)
}
