import type { Dispatcher } from 'undici'
import type { ConnectionPool } from './agent.ts'
import { StaleConnection } from './connection-use.ts'
import { toHeadFault } from './network-fault.ts'
import type { UpstreamReply } from './send-request.ts'

/**
 * Sends a request, and once more where its kept connection turned out to be gone (RFC 9112 §9.3.1). The second time on a
 * connection of its own: after a sleep of the machine every kept one is gone.
 * @param send called with `repeated` true the second time: upstream may have seen the first request all the same
 * @throws Fault `upstream_unreachable`, `upstream_silent`, `upstream_unusable`; the signal's reason on abort
 */
export async function sendPastStale(
  pool: ConnectionPool,
  deadlines: { readonly connectMs: number; readonly headersMs: number },
  send: (agent: Dispatcher, repeated: boolean) => Promise<UpstreamReply>,
): Promise<UpstreamReply> {
  try {
    return await send(pool.agent, false)
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw toHeadFault(error, deadlines)
  }
  const unused = pool.openUnused()
  try {
    return await send(unused, true)
  } catch (error) {
    throw toHeadFault(error, deadlines)
  } finally {
    // Ends once the reply has been read.
    void unused.close()
  }
}
