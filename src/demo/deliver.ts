import type { ServerResponse } from 'node:http'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { GateKeeper } from './gate.ts'
import type { HeaderMap, Outcome, StreamReply } from './outcome.ts'

export interface Delivery {
  /** Sent with every reply, below the outcome's own headers. */
  readonly headers: HeaderMap
  readonly keeper: GateKeeper | undefined
  /** Called before the server itself destroys the socket, so that this is not counted as a client that left. */
  readonly onServerCut: () => void
}

/** Sends an outcome. Resolves when nothing more will be written; a client that leaves ends it early. */
export async function deliver(response: ServerResponse, outcome: Outcome, delivery: Delivery): Promise<void> {
  switch (outcome.kind) {
    case 'silent':
      return
    case 'drop':
      delivery.onServerCut()
      response.destroy()
      return
    case 'whole':
      response.writeHead(outcome.status, {
        ...delivery.headers,
        ...outcome.headers,
        'content-length': Buffer.byteLength(outcome.body),
      })
      response.end(outcome.body)
      return
    case 'stream':
      response.writeHead(outcome.status, { ...delivery.headers, ...outcome.headers })
      await stream(response, outcome, delivery)
  }
}

async function stream(response: ServerResponse, outcome: StreamReply, delivery: Delivery): Promise<void> {
  const { keeper } = delivery
  if (keeper !== undefined || outcome.delayMs > 0 || outcome.pieces.length === 0) {
    // Nothing follows at once: the headers leave alone, and before the socket may be destroyed.
    response.flushHeaders()
    await turn()
  }
  keeper?.markOpened()
  for (const piece of outcome.pieces) {
    if (outcome.delayMs > 0) await sleep(outcome.delayMs, undefined, { ref: false })
    await keeper?.pass()
    if (response.destroyed) return
    // Writes of one turn would be joined into one chunk, hence the turn of the event loop after each.
    if (response.write(piece)) await turn()
    else await drained(response)
  }
  await keeper?.pass()
  if (response.destroyed) return
  if (outcome.ending === 'end') response.end()
  if (outcome.ending === 'cut') {
    delivery.onServerCut()
    response.destroy()
  }
}

/** Waits until the socket takes more, or is gone. */
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
