/** Hears whether anybody is being served. */
export interface IdleMemory {
  readonly busy: () => void
  readonly idle: () => void
}

export interface IdleMemoryDeps {
  /** Node's `v8.setFlagsFromString`. */
  readonly setEngineFlags: (flags: string) => void
  readonly setTimer: (run: () => void, delayMs: number) => () => void
}

/** Between the turns of a conversation nothing is worth collecting. Ms. */
const quietMs = 10_000

/** V8 looks every 8 seconds whether to shrink, and collects up to three times (`--trace-memory-reducer`). Ms. */
const shrinkMs = 40_000

/**
 * Gives memory back to the system when nothing has been asked for a while. V8 would do so by itself, but in Node it takes a
 * program that allocates nothing for one that allocates much (Node 24.21: "Memory reducer: high alloc", for ever), and a
 * daemon would keep what it needed at its busiest. The flag makes it shrink whatever it thinks. In force all the time it
 * would cost a fifth more processor time.
 */
export function createIdleMemory({ setEngineFlags, setTimer }: IdleMemoryDeps): IdleMemory {
  let isShrinking = false
  let cancel: (() => void) | undefined

  function stop(): void {
    cancel?.()
    cancel = undefined
    if (!isShrinking) return
    isShrinking = false
    setEngineFlags('--no-optimize-for-size')
  }

  return {
    busy: stop,
    idle() {
      stop()
      cancel = setTimer(() => {
        isShrinking = true
        setEngineFlags('--optimize-for-size')
        cancel = setTimer(stop, shrinkMs)
      }, quietMs)
    },
  }
}
