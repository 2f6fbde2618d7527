import type { CopilotToken, CopilotTokenSource } from '../auth/copilot-token.ts'
import { Fault } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { AccountRequests } from './account-requests.ts'
import type { ConnectionPool } from './agent.ts'
import { createCopilotHeaders, directHeaders, passedHeaders } from './copilot-headers.ts'
import type { IdentityHeaders } from './copilot-headers.ts'
import { staleChoice } from './executor.ts'
import type { Executor, Initiator, UpstreamCall } from './executor.ts'
import { notAStream } from './not-a-stream.ts'
import { toPayload } from './payload.ts'
import { readErrorText, readReplyJson } from './read-reply.ts'
import { retryAfterIn } from './reply-headers.ts'
import { sendPastStale } from './send-past-stale.ts'
import { sendRequest } from './send-request.ts'
import type { UpstreamReply } from './send-request.ts'
import { toStatusFault } from './status-fault.ts'
import { toTarget } from './target.ts'
import type { Target } from './target.ts'

export interface CopilotExecutorDeps {
  readonly tokens: Pick<CopilotTokenSource, 'get' | 'replace' | 'renewBeforeNext'>
  /** The executor's own; closed with it. */
  readonly pool: ConnectionPool
  readonly log: Logger
  /** Takes part in what ends the requests of an account. */
  readonly requests?: Pick<AccountRequests, 'begin'> | undefined
  /** Takes known credentials out of what upstream says of a failure. */
  readonly redact: (text: string) => string
  /** Hears the status of every answer. */
  readonly onStatus?: ((status: number) => void) | undefined
}

export interface CopilotExecutorOptions {
  readonly refreshOnUnauthorized: boolean
  readonly headers: IdentityHeaders
  /** Headers that name this install, where the user wants them sent. */
  readonly clientIds?: IdentityHeaders | undefined
  readonly connectMs: number
  readonly headersMs: number
  readonly idleMs: number
}

/** One HTTP exchange before the token and the host are known. */
interface Exchange {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string | Buffer | null
  /** `initiator` takes the place of the call's own. */
  readonly headers: (token: string, initiator?: Initiator) => Record<string, string>
  readonly signal: AbortSignal
}

/**
 * The executor of GitHub Copilot. Error rules: 401 → one refresh and one replay with a different token;
 * 421 → the next endpoint of the chain, once; everything else goes to the caller as it is, never retried. After a 402 or
 * 403 the next request gets a new token.
 */
export function createCopilotExecutor(deps: CopilotExecutorDeps, options: CopilotExecutorOptions): Executor {
  const { tokens, pool, log, requests } = deps
  const requestHeaders = createCopilotHeaders(options.headers, options.clientIds)
  /** The endpoint that took requests after the first had answered 421; good for as long as its token. */
  let chosen: { readonly token: string; readonly baseUrl: string } | undefined
  let lastTarget: Target | undefined

  function request(exchange: Exchange, token: CopilotToken, baseUrl: string): Promise<UpstreamReply> {
    const target = lastTarget?.baseUrl === baseUrl ? lastTarget : toTarget(baseUrl)
    lastTarget = target
    return sendPastStale(pool, options, (agent, repeated) => {
      const { body, headers: ofBody } = toPayload(exchange.body)
      return sendRequest(agent, {
        origin: target.origin,
        path: target.prefix + exchange.path,
        method: exchange.method,
        // It is not the user who asks again.
        headers: Object.assign(
          exchange.headers(token.value, repeated ? 'agent' : undefined),
          token.direct && directHeaders,
          ofBody,
        ),
        body,
        headersTimeout: options.headersMs,
        signal: exchange.signal,
        onBegin: requests?.begin(token.recordId),
      })
    })
  }

  /** @returns a reply with status 200 and its body unread */
  async function open(exchange: Exchange): Promise<UpstreamReply> {
    let token = await tokens.get(exchange.signal)
    let mayRefresh = options.refreshOnUnauthorized
    let misdirected: Fault | undefined
    let baseUrl = firstEndpoint(token.value, token.candidates)
    for (;;) {
      let reply: UpstreamReply
      try {
        reply = await request(exchange, token, baseUrl)
      } catch (error) {
        // The endpoint after a 421 cannot be reached: the 421 is the answer.
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
      log.debug({ status, message, code, path: exchange.path, headers }, 'upstream refused the request')

      if (status === 421) {
        const next = token.candidates[token.candidates.indexOf(baseUrl) + 1]
        if (misdirected !== undefined || next === undefined) throw misdirected ?? fault
        misdirected = fault
        baseUrl = next
      } else if (status === 404 && misdirected !== undefined) {
        throw misdirected
      } else if (status === 401 && isStaleChoice(message)) {
        // A token for an automatic choice of the model, which a new Copilot token would not mend: 401 would send callers
        // looking for a wrong key.
        throw new Fault({ ...fault.error, status: 502, code: staleChoice })
      } else if (status === 401 && !isAboutToken(message)) {
        // What upstream means is that the request is wrong: it names an item of another connection.
        throw new Fault({ ...fault.error, status: 400 })
      } else if (status === 401) {
        const fresh = mayRefresh ? await tokens.replace(token.value, exchange.signal) : token
        if (fresh.value === token.value) {
          throw new Fault({ kind: 'upstream_unauthorized', upstreamMessage: message, ...(headers && { headers }) })
        }
        mayRefresh = false
        token = fresh
        baseUrl = firstEndpoint(token.value, token.candidates)
      } else {
        if (status === 402 || status === 403) tokens.renewBeforeNext(token.value)
        throw fault
      }
    }
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

  function post(call: UpstreamCall, accept: string, signal: AbortSignal): Exchange {
    return {
      method: 'POST',
      path: call.path,
      body: call.body,
      headers: (token, initiator = call.initiator) => requestHeaders.ofCall(token, { ...call, initiator }, accept),
      signal,
    }
  }

  return {
    provider: 'copilot',

    async stream(call, { signal }) {
      const reply = await open(post(call, 'text/event-stream', signal))
      const problem = notAStream(reply.headers)
      if (problem !== undefined) {
        reply.body.destroy()
        throw new Fault({ kind: 'upstream_unusable', detail: problem, headers: passedHeaders(reply.headers) })
      }
      return { body: reply.body, idleMs: options.idleMs, headers: passedHeaders(reply.headers) }
    },

    async json(call, { signal }) {
      return readReplyJson(await open(post(call, 'application/json', signal)), options.idleMs)
    },

    async listModels({ signal }) {
      const reply = await open({
        method: 'GET',
        path: '/models',
        body: null,
        headers: requestHeaders.ofModelList,
        signal,
      })
      return readReplyJson(reply, options.idleMs)
    },

    close: () => pool.agent.close(),
  }
}

function isStaleChoice(message: string): boolean {
  return /invalid auto-mode selector/i.test(message)
}

/** Upstream also says 401 when a replayed item belongs to another connection; a new token would not help. */
function isAboutToken(message: string): boolean {
  return !/does not belong to this connection/i.test(message)
}
