import { Fault } from '../errors.ts'
import type { UpstreamStream } from '../executors/executor.ts'
import { toBodyFault } from '../executors/network-fault.ts'

/**
 * The reader's next step after a chunk: `go` reads on, `quiet` reads on after a chunk without an event, `done` ends because
 * the answer is complete, and a promise pauses upstream until it settles, so that a slow caller slows upstream.
 */
export type ChunkVerdict = 'go' | 'quiet' | 'done' | Promise<void>

/**
 * While upstream sends only keep-alives (comments, pings), an event must come within this many idle timeouts. Models think for
 * minutes, and Codex and Anthropic send keep-alives meanwhile (docs/codex-wire.md, "Event stream"; Anthropic Messages API reference).
 */
const quietFactor = 4

/**
 * Reads an upstream stream to its end. Resolves when upstream closes cleanly or `onChunk` returns `done`. Time spent
 * waiting for a slow caller does not count as upstream's silence.
 * @param onChunk called once with all data of a socket read, however many pieces upstream sent
 * @param signal ends this read early; the request's own signal ends the stream through the executor
 * @throws Fault `upstream_silent` (idle), `upstream_truncated`; the signal's reason on abort; whatever `onChunk` throws
 */
export function readUpstream(
  { body, idleMs }: UpstreamStream,
  onChunk: (chunk: Uint8Array) => ChunkVerdict,
  signal?: AbortSignal,
): Promise<void> {
  // Async iteration would cost two promises and a wake-up per chunk, and a chunk is one token.
  return new Promise((resolve, reject) => {
    let lastByteAt = performance.now()
    let lastEventAt = lastByteAt
    let waitingForCaller = false
    let hasEnded = false
    let idleTimer: NodeJS.Timeout | undefined
    let isOver = false
    signal?.addEventListener('abort', () => fail(signal.reason), { once: true })
    if (signal?.aborted === true) return fail(signal.reason)
    /** The pieces of the current socket read. */
    let pieces: Uint8Array[] = []

    function checkIdle(): void {
      const now = waitingForCaller ? lastByteAt : performance.now()
      const leftMs = lastByteAt + idleMs - now
      const quietLeftMs = lastEventAt + quietFactor * idleMs - now
      if (leftMs <= 0) fail(new Fault({ kind: 'upstream_silent', phase: 'idle', afterMs: idleMs }))
      else if (quietLeftMs <= 0) {
        fail(new Fault({ kind: 'upstream_silent', phase: 'idle', afterMs: quietFactor * idleMs }))
      } else idleTimer = setTimeout(checkIdle, Math.min(leftMs, quietLeftMs))
    }

    function stop(): void {
      isOver = true
      clearTimeout(idleTimer)
    }

    function fail(error: unknown): void {
      stop()
      body.destroy()
      reject(error)
    }

    function complete(): void {
      stop()
      resolve()
    }

    function resume(): void {
      waitingForCaller = false
      lastByteAt = performance.now()
      lastEventAt = lastByteAt
      if (hasEnded) complete()
      else body.resume()
    }

    function deliver(): void {
      const [first] = pieces
      if (first === undefined) return
      const chunk = pieces.length === 1 ? first : Buffer.concat(pieces)
      pieces = []
      lastByteAt = performance.now()
      let verdict: ChunkVerdict
      try {
        verdict = onChunk(chunk)
      } catch (error) {
        fail(error)
        return
      }
      if (verdict === 'quiet') return
      lastEventAt = lastByteAt
      if (verdict === 'go') return
      if (verdict === 'done') {
        body.finish()
        complete()
        return
      }
      waitingForCaller = true
      body.pause()
      verdict.then(resume, fail)
    }

    body.read({
      data(chunk) {
        pieces.push(chunk)
        // Deliver after undici has reported all pieces of this read.
        if (pieces.length === 1) void settled.then(deliver)
      },
      end() {
        hasEnded = true
        deliver()
        if (!waitingForCaller) complete()
      },
      fail(error) {
        deliver()
        stop()
        reject(toBodyFault(error))
      },
    })
    // A short answer has come with its head and is over by now.
    if (!isOver) idleTimer = setTimeout(checkIdle, idleMs)
  })
}

/** Callbacks of this promise run as soon as the current synchronous code has ended. */
const settled = Promise.resolve()
