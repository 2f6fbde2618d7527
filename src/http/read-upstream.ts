import { Fault } from '../errors.ts'
import type { UpstreamStream } from '../executors/executor.ts'
import { toBodyFault } from '../executors/network-fault.ts'

/**
 * What the reader does after a chunk: `go` for more, `done` when the answer is complete, or wait for a promise, so that
 * a slow caller slows upstream.
 */
export type ChunkVerdict = 'go' | 'done' | Promise<void>

/**
 * Reads an upstream stream to its end, chunk by chunk as they arrive. Resolves when upstream closed cleanly or `onChunk`
 * said done. Time spent waiting for a slow caller does not count as upstream's silence.
 * @throws Fault `upstream_silent` (idle), `upstream_truncated`; the signal's reason on abort; whatever `onChunk` throws
 */
export function readUpstream(
  { body, idleMs }: UpstreamStream,
  onChunk: (chunk: Uint8Array) => ChunkVerdict,
): Promise<void> {
  // Callbacks rather than async iteration: iterating costs two promises and a wake-up a chunk, and a chunk is one token.
  return new Promise((resolve, reject) => {
    let lastByteAt = performance.now()
    let waitingForCaller = false
    let idleTimer = setTimeout(checkIdle, idleMs)

    function checkIdle(): void {
      const silentMs = waitingForCaller ? 0 : performance.now() - lastByteAt
      if (silentMs >= idleMs) giveUp(new Fault({ kind: 'upstream_silent', phase: 'idle', afterMs: idleMs }))
      else idleTimer = setTimeout(checkIdle, idleMs - silentMs)
    }

    function giveUp(error: unknown): void {
      clearTimeout(idleTimer)
      body.destroy()
      reject(error)
    }

    function goOn(): void {
      waitingForCaller = false
      lastByteAt = performance.now()
      body.resume()
    }

    body.read({
      data(chunk) {
        lastByteAt = performance.now()
        let verdict: ChunkVerdict
        try {
          verdict = onChunk(chunk)
        } catch (error) {
          giveUp(error)
          return
        }
        if (verdict === 'go') return
        if (verdict === 'done') {
          clearTimeout(idleTimer)
          body.finish()
          resolve()
          return
        }
        waitingForCaller = true
        body.pause()
        verdict.then(goOn, giveUp)
      },
      end() {
        clearTimeout(idleTimer)
        resolve()
      },
      fail(error) {
        clearTimeout(idleTimer)
        reject(toBodyFault(error))
      },
    })
  })
}
