import type { BodyReader, UpstreamBody } from '../executors/executor.ts'

export interface BodyScript {
  /** Made only when they are sent. */
  readonly pieces: Iterable<string>
  /** Wait before each piece. Ms. */
  readonly delayMs: number
  /** `cut`: the connection breaks. `hold`: nothing more is sent. */
  readonly ending: 'end' | 'cut' | 'hold'
}

/** A reply's body that needs no connection. Aborting `signal` ends it at once. */
export function scriptedBody({ pieces, delayMs, ending }: BodyScript, signal: AbortSignal): UpstreamBody {
  const made = pieces[Symbol.iterator]()
  const returned: Uint8Array[] = []
  let reader: BodyReader | undefined
  let timer: NodeJS.Timeout | undefined
  let isPaused = false

  function close(): void {
    reader = undefined
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }

  function abort(): void {
    const left = reader
    close()
    left?.fail(signal.reason)
  }

  function schedule(): void {
    clearTimeout(timer)
    if (reader !== undefined && !isPaused) timer = setTimeout(send, delayMs)
  }

  function send(): void {
    const chunk = returned.shift() ?? nextPiece()
    if (chunk !== undefined) {
      reader?.data(chunk)
      schedule()
      return
    }
    if (ending === 'hold') return
    const left = reader
    close()
    if (ending === 'end') left?.end()
    else left?.fail(new Error('The simulated connection broke.'))
  }

  function nextPiece(): Uint8Array | undefined {
    const { done, value } = made.next()
    return done === true ? undefined : Buffer.from(value)
  }

  function read(next: BodyReader): void {
    if (signal.aborted) {
      next.fail(signal.reason)
      return
    }
    signal.addEventListener('abort', abort)
    reader = next
    isPaused = false
    schedule()
  }

  return {
    read,
    putBack(chunks) {
      returned.unshift(...chunks)
      clearTimeout(timer)
      reader = undefined
    },
    pause() {
      isPaused = true
      clearTimeout(timer)
    },
    resume() {
      isPaused = false
      schedule()
    },
    finish: close,
    destroy: close,
  }
}
