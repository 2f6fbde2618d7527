import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isFull } from './chunked-body.ts'
import { currentResponse } from './current-response.ts'

/** Before the second word to a caller that has closed its side, and the longest time between two. Ms. */
const firstPauseMs = 50
const longestPauseMs = 1000

/** A comment of server-sent events, which readers pass over. */
const comment = ':\n\n'

/**
 * Answers callers that close their sending side after the request. From here they look like callers that have gone: both
 * sent a FIN. What tells them apart is a word to them, which is none of the answer: the system of one that has gone
 * refuses it, the next write fails, and the connection closes as that of any caller that leaves.
 */
export function answerHalfClosed(server: Server): void {
  // Node's own switch, missing from its documentation: without it, Node closes its side when a caller closes its own.
  Reflect.set(server, 'httpAllowHalfOpen', true)
  server.on('connection', (socket: Socket) => {
    socket.once('end', () => probe(socket, firstPauseMs))
  })
}

function probe(socket: Socket, pauseMs: number): void {
  // Nothing is due any more, or what is has been written.
  const response = currentResponse(socket)
  if (socket.destroyed || response === undefined || response.writableEnded) return
  if (!speakTo(response)) {
    socket.end()
    return
  }
  setTimeout(() => probe(socket, Math.min(2 * pauseMs, longestPauseMs)), pauseMs).unref()
}

/** False where there is nothing that may be said: that caller counts as gone. */
function speakTo(response: ServerResponse): boolean {
  // What is on its way is word enough.
  if (isFull(response)) return true
  // Source: RFC 9110, section 15.2: no interim response to HTTP/1.0.
  if (response.req.httpVersion !== '1.1') return false
  // A client that did not ask for it discards it (RFC 9110, section 15.2.1), as often as it comes; of the other interim
  // responses some clients (Python's http.client) make the final one.
  if (!response.headersSent) response.writeContinue()
  // Only event streams go out in chunks: every other answer is written whole, with its length.
  else if (response.chunkedEncoding) response.write(comment)
  return true
}
