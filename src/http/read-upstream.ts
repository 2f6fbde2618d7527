import { Fault } from '../errors.ts'
import type { UpstreamStream } from '../executors/executor.ts'
import { toBodyFault } from '../executors/network-fault.ts'

/**
 * What the reader does after a chunk: `go` for more, `done` when the answer is complete, or wait for a promise, so that
 * a slow caller slows upstream.
 */
export type ChunkVerdict = 'go' | 'done' | Promise<void>

/**
 * Reads an upstream stream to its end. Resolves when upstream closed cleanly or `onChunk` said done. Time spent waiting for
 * a slow caller does not count as upstream's silence.
 * @param onChunk gets as one what has come at once, in however many pieces upstream sent it
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
    let hasEnded = false
    let idleTimer = setTimeout(checkIdle, idleMs)
    /** Of this read. */
    let gathered: Uint8Array[] = []

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

    function complete(): void {
      clearTimeout(idleTimer)
      resolve()
    }

    function goOn(): void {
      waitingForCaller = false
      lastByteAt = performance.now()
      if (hasEnded) complete()
      else body.resume()
    }

    function handOver(): void {
      const [first] = gathered
      if (first === undefined) return
      const chunk = gathered.length === 1 ? first : Buffer.concat(gathered)
      gathered = []
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
        body.finish()
        complete()
        return
      }
      waitingForCaller = true
      body.pause()
      verdict.then(goOn, giveUp)
    }

    body.read({
      data(chunk) {
        gathered.push(chunk)
        // Once undici has told all of this read.
        if (gathered.length === 1) void settled.then(handOver)
      },
      end() {
        hasEnded = true
        handOver()
        if (!waitingForCaller) complete()
      },
      fail(error) {
        handOver()
        clearTimeout(idleTimer)
        reject(toBodyFault(error))
      },
    })
  })
}

/** What is hung on it runs once the callbacks that run now have. */
const settled = Promise.resolve()
