import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** The memory controls of the V8 that runs this program. */
export interface Engine {
  /** Flags take effect when V8 next reads them. */
  readonly setFlags: (flags: string) => void
  /** The size of both halves of V8's new space; Infinity if V8 reports no space of that name. Bytes. */
  readonly newSpaceBytes: () => number
}

export const v8Engine: Engine = {
  setFlags: setFlagsFromString,
  newSpaceBytes: () =>
    getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? Infinity,
}

/** Adjusts V8's memory to whether requests run. */
export interface EngineMemory {
  readonly busy: () => void
  readonly idle: () => void
}

/** Call it when work begins. Returns the function to call when that work ends. */
export type BeginWork = () => () => void

/** Notifies the memory when the first work begins and the last ends. */
export function countWork({ busy, idle }: EngineMemory): BeginWork {
  let inProgress = 0
  return () => {
    if (inProgress === 0) busy()
    inProgress += 1
    let hasEnded = false
    return () => {
      if (hasEnded) return
      hasEnded = true
      inProgress -= 1
      if (inProgress === 0) idle()
    }
  }
}

export interface EngineMemoryDeps {
  /** Absent: V8 keeps its defaults. */
  readonly engine: Engine | undefined
  readonly setTimer: (run: () => void, delayMs: number) => () => void
}

/**
 * The new space may grow to this while requests run. V8 copies the live objects out each time the space is full, so a
 * small space costs many copies. Without a limit V8 grows it to 128 MB, for hardly any gain.
 */
const busyBytes = 32 * 1024 * 1024
/** V8's initial size. If V8 has freed some pages it reports less, but still grows from this size. */
const initialBytes = 2 * 1024 * 1024
/**
 * The interval of checks while the space grows. V8 grows it again once as many bytes as it holds have survived, which
 * takes longer than this unless a large body is parsed. Ms.
 */
const growingMs = 100
/**
 * The interval of checks once it has grown. A full collection during a pause between requests returns the space to 2 MB.
 * If it stayed so small, a request would take 265 µs of processor time instead of 150 (Node 24.21). Ms.
 */
const grownMs = 1000

/**
 * The growth of the heap between two full collections while requests run, from the next collection on. Percent.
 * Streams live long enough to leave the new space. By V8's own rule 6 MB of them cause a collection of all 24 MB, which
 * takes some 70 ms of processor time and drops the compiled code of closures that nothing references at that moment.
 * 50 to 150 would make large bodies dearer: a collection for every second body of 8 MB, where V8's own rule has one for
 * every third or fourth (Node 24.21).
 */
const heapGrowth = 200

/** Shorter pauses between the turns of a conversation free too little to be worth a collection. Ms. */
const quietMs = 10_000

/** V8 considers shrinking every 8 seconds, and collects up to three times (`--trace-memory-reducer`). Ms. */
const shrinkMs = 40_000

/**
 * Lets V8 use more memory while requests run, and makes it return memory after a quiet time. V8's own memory reducer
 * often does not start in Node, because it sees a high allocation rate even in an idle process (Node 24.21: "Memory
 * reducer: high alloc"), so a daemon would keep its peak memory. The budgets need all of this: with V8's defaults a new daemon takes 98
 * MB idle instead of 91, 8 MB of history cost a fifth more (5.1 instead of 4.2 times the pipe), and 361 MB stay resident
 * after such requests instead of 228. With the default growth from the first request on, the cost is 4.6 times the pipe
 * (medians of alternating runs on a busy machine, Node 24.21). `--optimize-for-size` makes V8 shrink the heap and the new space
 * regardless. If it were always set, it would cost a fifth more processor time.
 */
export function createEngineMemory({ engine, setTimer }: EngineMemoryDeps): EngineMemory {
  return engine === undefined ? { busy() {}, idle() {} } : manageMemory(engine, setTimer)
}

function manageMemory(engine: Engine, setTimer: EngineMemoryDeps['setTimer']): EngineMemory {
  let isBusy = false
  /** A request has ended since the last check. */
  let hasRun = false
  /** The time without requests, as the checks have seen it. Ms. */
  let quietForMs = 0
  /** Whether V8 may use more memory. */
  let isAllowed = false
  /** By how much V8 may multiply the new space; 1 is the daemon's setting at its start. */
  let growth = 1
  /** Cancels the next check. */
  let cancelCheck: (() => void) | undefined
  /** Cancels the end of the shrinking; undefined while the heap does not shrink. */
  let cancelEnd: (() => void) | undefined

  function setGrowth(factor: number): void {
    if (factor !== growth) engine.setFlags(`--semi-space-growth-factor=${factor}`)
    growth = factor
  }

  function allowMore(): void {
    isAllowed = true
    engine.setFlags(`--heap-growing-percent=${heapGrowth}`)
    quietForMs = 0
    cancelCheck?.()
    planCheck()
  }

  function planCheck(): void {
    if (isAllowed) setGrowth(Math.max(1, Math.floor(busyBytes / Math.max(initialBytes, engine.newSpaceBytes()))))
    const growCheckMs = growth > 1 ? growingMs : grownMs
    const delayMs = isAllowed ? growCheckMs : quietMs
    cancelCheck = setTimer(() => {
      quietForMs = isBusy || hasRun ? 0 : quietForMs + delayMs
      hasRun = false
      if (quietForMs < quietMs) planCheck()
      else shrink()
    }, delayMs)
  }

  function shrink(): void {
    cancelCheck = undefined
    setGrowth(1)
    // 0 restores V8's own rule.
    if (isAllowed) engine.setFlags('--heap-growing-percent=0')
    isAllowed = false
    engine.setFlags('--optimize-for-size')
    cancelEnd = setTimer(stopShrinking, shrinkMs)
  }

  function stopShrinking(): void {
    if (cancelEnd === undefined) return
    cancelEnd()
    cancelEnd = undefined
    engine.setFlags('--no-optimize-for-size')
  }

  return {
    busy() {
      isBusy = true
      stopShrinking()
      if (!isAllowed) allowMore()
    },
    idle() {
      isBusy = false
      stopShrinking()
      if (cancelCheck === undefined) planCheck()
      else hasRun = true
    },
  }
}
