import type { IncomingMessage as Incoming } from 'node:http'
import type { Socket } from 'node:net'
import { IncomingMessage } from './node-http.ts'

/** The request that a connection brought last, until both it and its answer are complete. */
export function currentRequest(socket: Socket): Incoming | undefined {
  // Node's own, missing from its documentation: what its parser is at. A record of ours would keep every request alive
  // until its connection brings another.
  const parser: unknown = Reflect.get(socket, 'parser')
  const request: unknown = parser instanceof Object ? Reflect.get(parser, 'incoming') : undefined
  return request instanceof IncomingMessage ? request : undefined
}
