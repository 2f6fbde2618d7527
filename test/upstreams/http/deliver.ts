import type { ServerResponse } from 'node:http'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { HeaderMap, Outcome, StreamReply } from './outcome.ts'

export interface DeliveryHooks {
  /** Holds a streamed reply between its pieces. Absent: nothing holds it. */
  readonly gate?: {
    /** Called when the headers were handed to the socket. */
    readonly opened: () => void
    /** Resolves when the next piece may be written. The end of the reply counts as one more piece. */
    readonly pass: () => Promise<void>
  }
  /** Called before the server itself destroys the socket, so that this does not count as a client disconnect. */
  readonly cut: () => void
}

/**
 * Sends an outcome. Its own headers override `common`. Resolves when nothing more will be written; a client disconnect
 * ends it early.
 */
export async function deliver(
  response: ServerResponse,
  outcome: Outcome,
  common: HeaderMap,
  hooks?: DeliveryHooks,
): Promise<void> {
  switch (outcome.kind) {
    case 'silent':
      return
    case 'drop':
      hooks?.cut()
      response.destroy()
      return
    case 'whole':
      response.writeHead(outcome.status, {
        ...common,
        ...outcome.headers,
        'content-length': Buffer.byteLength(outcome.body),
      })
      response.end(outcome.body)
      return
    case 'stream':
      response.writeHead(outcome.status, { ...common, ...outcome.headers })
      await stream(response, outcome, hooks)
  }
}

async function stream(response: ServerResponse, outcome: StreamReply, hooks?: DeliveryHooks): Promise<void> {
  const gate = hooks?.gate
  if (gate !== undefined || outcome.delayMs > 0 || outcome.pieces.length === 0) {
    // Send the headers now if nothing follows at once, and before the socket may be destroyed.
    response.flushHeaders()
    await turn()
  }
  gate?.opened()
  for (const piece of outcome.pieces) {
    if (outcome.delayMs > 0) await sleep(outcome.delayMs, undefined, { ref: false })
    await gate?.pass()
    if (response.destroyed) return
    // The socket joins writes of one turn into one chunk, so wait for a turn of the event loop after each write.
    if (response.write(piece)) await turn()
    else await drained(response)
  }
  await gate?.pass()
  if (response.destroyed) return
  if (outcome.ending === 'end') response.end()
  if (outcome.ending === 'cut') {
    hooks?.cut()
    response.destroy()
  }
}

/** Waits until the socket accepts more data or is closed. */
function drained(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const settle = (): void => {
    response.off('drain', settle)
    response.off('close', settle)
    resolve()
  }
  if (response.destroyed) settle()
  else response.on('drain', settle).on('close', settle)
  return promise
}
