import type { Engine } from '../engine.ts'

/** Hears whether anybody is being served. */
export interface EngineMemory {
  readonly busy: () => void
  readonly idle: () => void
}

export interface EngineMemoryDeps {
  /** Does as it likes where absent. */
  readonly engine: Engine | undefined
  readonly setTimer: (run: () => void, delayMs: number) => () => void
}

/**
 * While requests run the nursery may grow from V8's 2 MB to this. Each time it is full, what is in use is copied out of
 * it; the smaller it is, the more often that happens. Left to itself V8 goes on to 128 MB, for hardly any gain.
 */
const wideBytes = 32 * 1024 * 1024
/**
 * How soon growth is noticed. V8 grows again once as much as the whole nursery holds has outlived it, which takes longer
 * unless a large body is parsed meanwhile. Ms.
 */
const watchMs = 100

/**
 * By how much the rest of the heap may grow before all of it is collected, while requests run. Streams live long enough to
 * be promoted, and V8 by itself would collect them all after 6 MB of a 24 MB heap, a tenth of a second of processor time
 * each; it would also drop the compiled code of streams that are over. Less than twice as much costs large bodies more
 * collections than V8's own rule does (Node 24.21: 40 for 23, of 80 bodies of 8 MB). Percent.
 */
const heapGrowth = 200

/** Between the turns of a conversation nothing is worth collecting. Ms. */
const quietMs = 10_000

/** V8 looks every 8 seconds whether to shrink, and collects up to three times (`--trace-memory-reducer`). Ms. */
const shrinkMs = 40_000

/**
 * Lets V8 take memory where that saves time, and has it give memory back when nothing has been asked for a while. V8 would
 * shrink by itself, but in Node it takes a program that allocates nothing for one that allocates much (Node 24.21: "Memory
 * reducer: high alloc", for ever), and a daemon would keep what it needed at its busiest. The flag makes it shrink whatever
 * it thinks, the nursery too. In force all the time it would cost a fifth more processor time.
 */
export function createEngineMemory({ engine, setTimer }: EngineMemoryDeps): EngineMemory {
  return engine === undefined ? { busy() {}, idle() {} } : tend(engine, setTimer)
}

function tend(engine: Engine, setTimer: EngineMemoryDeps['setTimer']): EngineMemory {
  /** It has been let grow since memory was last given back. */
  let mayBeWide = false
  let stopWatching: (() => void) | undefined
  let isShrinking = false
  let cancel: (() => void) | undefined

  function widen(): void {
    mayBeWide = true
    engine.setFlags(`--heap-growing-percent=${heapGrowth}`)
    const growth = Math.floor(wideBytes / engine.nurseryBytes())
    if (growth < 2) {
      // What was to shrink has not begun to.
      stay()
      return
    }
    engine.setFlags(`--semi-space-growth-factor=${growth}`)
    watch()
  }

  function watch(): void {
    stopWatching = setTimer(() => {
      if (engine.nurseryBytes() < wideBytes) watch()
      else stay()
    }, watchMs)
  }

  /** It grows no further. */
  function stay(): void {
    stopWatching?.()
    stopWatching = undefined
    engine.setFlags('--semi-space-growth-factor=1')
  }

  function shrink(): void {
    isShrinking = true
    // Where it has grown it stays already.
    if (stopWatching !== undefined) stay()
    // As V8 likes.
    if (mayBeWide) engine.setFlags('--heap-growing-percent=0')
    mayBeWide = false
    engine.setFlags('--optimize-for-size')
    cancel = setTimer(stop, shrinkMs)
  }

  function stop(): void {
    cancel?.()
    cancel = undefined
    if (!isShrinking) return
    isShrinking = false
    engine.setFlags('--no-optimize-for-size')
  }

  return {
    busy() {
      stop()
      if (!mayBeWide) widen()
    },
    idle() {
      stop()
      cancel = setTimer(shrink, quietMs)
    },
  }
}
