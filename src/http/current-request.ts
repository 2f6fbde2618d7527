import { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** The request that a connection brought last, until both it and its answer are complete. */
export function currentRequest(socket: Socket): IncomingMessage | undefined {
  // Node's own, missing from its documentation: what its parser is at. A record of ours would keep every request alive
  // until its connection brings another.
  const parser: unknown = Reflect.get(socket, 'parser')
  const request: unknown = parser instanceof Object ? Reflect.get(parser, 'incoming') : undefined
  return request instanceof IncomingMessage ? request : undefined
}
