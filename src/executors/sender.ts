import type { Dispatcher } from 'undici'
import type { AccountRequests } from './account-requests.ts'
import type { ConnectionPool } from './agent.ts'
import { toHeadFault } from './network-fault.ts'
import { sendRequest, toPayload } from './send-request.ts'
import type { UpstreamReply } from './send-request.ts'
import { StaleConnection } from './watched-client.ts'

/** A base URL, parsed once and not with every request. */
export interface Target {
  readonly baseUrl: string
  readonly origin: string
  /** The base URL's path, '' for none. */
  readonly prefix: string
}

export function toTarget(baseUrl: string): Target {
  const { origin, pathname } = new URL(baseUrl)
  return { baseUrl, origin, prefix: pathname.replace(/\/+$/, '') }
}

interface OutgoingRequest {
  readonly target: Target
  /** Below the target. */
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly body: string | Buffer | null
  /** @param repeated upstream may have seen the request already */
  readonly headers: (repeated: boolean) => Record<string, string>
  /** A logout of this account ends the request. */
  readonly account?: string | undefined
  readonly signal: AbortSignal
}

export type SendRequest = (request: OutgoingRequest) => Promise<UpstreamReply>

/**
 * The function that sends requests over one pool. It repeats a request once if the kept connection turned out to be
 * gone (RFC 9112 §9.3.1), on a new connection: after a sleep of the machine every kept connection is gone. It throws
 * Fault `upstream_unreachable`, `upstream_silent`, `upstream_unusable`, and the signal's reason on abort.
 */
export function createSender(
  pool: ConnectionPool,
  deadlines: { readonly connectMs: number; readonly headersMs: number },
  requests?: Pick<AccountRequests, 'begin'>,
): SendRequest {
  function sendOn(agent: Dispatcher, request: OutgoingRequest, repeated: boolean): Promise<UpstreamReply> {
    const { target, account } = request
    const payload = toPayload(request.body)
    return sendRequest(agent, {
      origin: target.origin,
      path: target.prefix + request.path,
      method: request.method,
      headers: Object.assign(request.headers(repeated), payload.headers),
      body: payload.body,
      headersTimeout: deadlines.headersMs,
      signal: request.signal,
      onBegin: account === undefined ? undefined : requests?.begin(account),
    })
  }

  return async (request) => {
    try {
      return await sendOn(pool.agent, request, false)
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw toHeadFault(error, deadlines)
    }
    const unused = pool.openUnused()
    try {
      return await sendOn(unused, request, true)
    } catch (error) {
      throw toHeadFault(error, deadlines)
    } finally {
      // Settles once the reply has been read.
      void unused.close()
    }
  }
}
