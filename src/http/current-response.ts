import type { ServerResponse as Response } from 'node:http'
import type { Socket } from 'node:net'
import { ServerResponse } from './node-http.ts'

/** The response that a connection is taken up with; later ones of pipelined requests wait behind it. */
export function currentResponse(socket: Socket): Response | undefined {
  // Node's own handler of client errors looks at the same field of the socket; there is no public one.
  const response: unknown = Reflect.get(socket, '_httpMessage')
  return response instanceof ServerResponse ? response : undefined
}
