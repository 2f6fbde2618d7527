import { Fault } from '../errors.ts'
import type { UpstreamStream } from '../executors/executor.ts'
import { toBodyFault } from '../executors/network-fault.ts'

/**
 * What the reader does after a chunk: `go` for more, `done` when the answer is complete, or wait for a promise, so that
 * a slow caller slows upstream.
 */
export type ChunkVerdict = 'go' | 'done' | Promise<void>

/** How long upstream may take to close its side after its end mark before the connection is given up. Ms. */
const lingerMs = 1000

/**
 * Reads an upstream stream to its end, chunk by chunk as they arrive. Resolves when upstream closed cleanly or `onChunk`
 * said done. Time spent waiting for a slow caller does not count as upstream's silence.
 * @throws Fault `upstream_silent` (idle), `upstream_truncated`; the signal's reason on abort; whatever `onChunk` throws
 */
export function readUpstream(
  stream: UpstreamStream,
  onChunk: (chunk: Uint8Array) => ChunkVerdict,
  signal: AbortSignal,
): Promise<void> {
  // Events rather than async iteration: iterating costs two promises and a wake-up a chunk, and a chunk is one token.
  const { body, idleMs } = stream
  return new Promise((resolve, reject) => {
    let lastByteAt = performance.now()
    let waitingForCaller = false
    let idleTimer = setTimeout(checkIdle, idleMs)

    function checkIdle(): void {
      const silentMs = waitingForCaller ? 0 : performance.now() - lastByteAt
      if (silentMs >= idleMs) fail(new Fault({ kind: 'upstream_silent', phase: 'idle', afterMs: idleMs }))
      else idleTimer = setTimeout(checkIdle, idleMs - silentMs)
    }

    function settle(): void {
      clearTimeout(idleTimer)
      signal.removeEventListener('abort', onAbort)
      body.off('data', onData)
    }

    function fail(error: unknown): void {
      settle()
      body.destroy()
      reject(error)
    }

    /** Reads the few bytes after the end mark, so that the connection can serve the next request. */
    function finish(): void {
      settle()
      body.resume()
      const timer = setTimeout(() => body.destroy(), lingerMs)
      body.once('close', () => clearTimeout(timer))
      resolve()
    }

    function goOn(): void {
      waitingForCaller = false
      lastByteAt = performance.now()
      body.resume()
    }

    function onAbort(): void {
      fail(signal.reason)
    }

    function onData(chunk: Uint8Array): void {
      lastByteAt = performance.now()
      let verdict: ChunkVerdict
      try {
        verdict = onChunk(chunk)
      } catch (error) {
        fail(error)
        return
      }
      if (verdict === 'go') return
      if (verdict === 'done') {
        finish()
        return
      }
      waitingForCaller = true
      body.pause()
      verdict.then(goOn, fail)
    }

    body.on('data', onData)
    body.once('end', () => {
      settle()
      resolve()
    })
    // Stays for the life of the stream: destroying it may still report the abort we asked for.
    body.on('error', (error) => {
      fail(signal.aborted ? signal.reason : toBodyFault(error))
    })
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}
