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
/** What it starts with. Where V8 has given pages of it back it states less, and still grows from here. */
const narrowBytes = 2 * 1024 * 1024
/**
 * How soon growth is noticed. V8 grows again once as much as the whole nursery holds has outlived it, which takes longer
 * unless a large body is parsed meanwhile. Ms.
 */
const watchMs = 100

/**
 * By how much the heap may grow between two full collections while requests run, from the next one on. Streams live long
 * enough to leave the nursery. By V8's own rule 6 MB of them bring about a collection of all 24 MB, for some 70 ms of
 * processor time, and V8 drops the compiled code of closures that nothing holds at that moment. A growth of 50 to 150 would
 * make large bodies dearer: a collection every second body of 8 MB, where V8's own rule has one every third or fourth
 * (Node 24.21). Percent.
 */
const heapGrowth = 200

/** Between the turns of a conversation nothing is worth collecting. Ms. */
const quietMs = 10_000

/** V8 looks every 8 seconds whether to shrink, and collects up to three times (`--trace-memory-reducer`). Ms. */
const shrinkMs = 40_000

/**
 * Lets V8 take memory where that saves time, and has it give memory back when nothing has been asked for a while. V8 would
 * shrink by itself, but in Node it takes a program that allocates nothing for one that allocates much (Node 24.21: "Memory
 * reducer: high alloc", for ever), and a daemon would keep what it needed at its busiest. `--optimize-for-size` makes it
 * shrink whatever it thinks, the nursery too. In force all the time it would cost a fifth more processor time.
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
    const growth = Math.floor(wideBytes / Math.max(narrowBytes, engine.nurseryBytes()))
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
    // V8's own rule again.
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
