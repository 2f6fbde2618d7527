import type { ConnectionPool } from './agent.ts'
import { isBrokenConnection, toHeadFault } from './network-fault.ts'
import type { UpstreamReply } from './send-request.ts'

/** A connection that breaks later than this after the request was handed over did not break for being stale. Ms. */
const staleWithinMs = 500

/**
 * Sends a request, and once more where upstream had closed an idle connection just as it was picked up (RFC 9112 §9.3.1).
 * @param send called with `repeated` true the second time: upstream may have seen the first request all the same
 * @throws Fault `upstream_unreachable`, `upstream_silent`, `upstream_unusable`; the signal's reason on abort
 */
export async function sendPastStale(
  pool: ConnectionPool,
  deadlines: { readonly connectMs: number; readonly headersMs: number },
  send: (repeated: boolean) => Promise<UpstreamReply>,
): Promise<UpstreamReply> {
  const begunBefore = pool.connectionsBegun()
  const sentAt = performance.now()
  try {
    return await send(false)
  } catch (error) {
    const reusedOne = begunBefore !== undefined && pool.connectionsBegun() === begunBefore
    const wasStale = reusedOne && isBrokenConnection(error) && performance.now() - sentAt < staleWithinMs
    if (!wasStale) throw toHeadFault(error, deadlines)
  }
  try {
    return await send(true)
  } catch (error) {
    throw toHeadFault(error, deadlines)
  }
}
