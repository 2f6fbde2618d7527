import { cpuUsage } from 'node:process'
import type { Worker } from 'node:worker_threads'
import type { Logger } from '../logging/logger.ts'

export interface WatchdogDeps {
  readonly log: Logger
  /** Whether to watch from a thread too, which sees a loop that never continues. */
  readonly wantsThread: () => boolean
}

/** Reports work that holds the event loop, so that requests wait for seconds. */
export interface Watchdog {
  /** Names the newest work. It may contain no text of a caller. */
  readonly note: (work: string) => void
  readonly stop: () => void
}

const beatMs = 1000

/** Longer delays are reported. Ms. */
const heldMs = 4000

/** A process that waits for a processor works at least this much in a second; a stopped one not at all. Ms. */
const workedInSecondMs = 50

/** Places in the memory that the main thread shares with the watching one. */
const beatAt = 0
const reportedAt = 1
const lengthAt = 2
/** Of the name of the newest work. */
const textAt = 16
const sharedBytes = 256

/**
 * Runs in the thread. It counts seconds without a beat. If a second took much longer and the process did not work meanwhile,
 * the process was stopped or the machine slept, so it counts anew. It writes to standard error itself, because the logger
 * belongs to the main thread.
 */
const threadSource = `
const { workerData: shared } = require('node:worker_threads')
const { writeSync } = require('node:fs')
const numbers = new Int32Array(shared, 0, 4)
const sleeper = new Int32Array(new SharedArrayBuffer(4))
let seen = -1
let seconds = 0
for (;;) {
  const before = performance.now()
  const used = process.cpuUsage()
  Atomics.wait(sleeper, 0, 0, ${beatMs})
  const isOnTime = performance.now() - before < ${1.5 * beatMs}
  const { user } = process.cpuUsage(used)
  const beat = Atomics.load(numbers, ${beatAt})
  seconds = beat === seen && (isOnTime || user > ${1000 * workedInSecondMs}) ? seconds + 1 : 0
  seen = beat
  if (seconds !== ${(heldMs + beatMs) / beatMs}) continue
  Atomics.store(numbers, ${reportedAt}, 1)
  const work = Buffer.from(shared, ${textAt}, Atomics.load(numbers, ${lengthAt})).toString()
  try {
    writeSync(2, 'copilot-proxy: one piece of work has held all requests for ' + seconds + ' seconds; the newest is ' + work + '\\n')
  } catch {}
}
`

/**
 * A late timer shows afterwards that something held the loop. It costs nothing, but says nothing while the loop is held. A
 * thread does, and takes 14 MB, a sixth of an idle daemon (Node 24.21). Therefore a thread is wanted only by a daemon that has
 * served a request and has a workspace: texts of its folder are what could hold the loop for ever.
 */
export function createWatchdog({ log, wantsThread }: WatchdogDeps): Watchdog {
  const shared = new SharedArrayBuffer(sharedBytes)
  const numbers = new Int32Array(shared, 0, 4)
  const text = new Uint8Array(shared, textAt)
  const encoder = new TextEncoder()
  let work = 'its start'
  let thread: Worker | undefined
  let isStarting = false
  let isStopped = false
  let dueMs = performance.now() + beatMs
  let usedMs = processorMs()

  /** Unless the thread saw it, or the program has worked meanwhile, it was stopped or the machine slept. */
  function report(lateMs: number): void {
    const wasSeen = Atomics.exchange(numbers, reportedAt, 0) === 1
    const workedMs = processorMs() - usedMs
    if (lateMs < heldMs || (!wasSeen && workedMs < (workedInSecondMs * lateMs) / 1000)) return
    log.warn({ heldForMs: Math.round(lateMs), work }, 'one piece of work held all requests')
  }

  async function startThread(): Promise<void> {
    isStarting = true
    const { Worker: WorkerThread } = await import('node:worker_threads')
    isStarting = false
    if (isStopped) return
    thread = new WorkerThread(threadSource, { eval: true, workerData: shared, env: {}, execArgv: [] })
    thread.unref()
    // Without the thread, the timer still reports.
    thread.on('error', () => {})
    share(work)
  }

  function share(newest: string): void {
    Atomics.store(numbers, lengthAt, encoder.encodeInto(newest, text).written)
  }

  function endThread(): void {
    void thread?.terminate()
    thread = undefined
  }

  const timer = setInterval(() => {
    report(performance.now() - dueMs)
    Atomics.add(numbers, beatAt, 1)
    if (wantsThread() && thread === undefined && !isStarting) void startThread()
    if (!wantsThread()) endThread()
    dueMs = performance.now() + beatMs
    usedMs = processorMs()
  }, beatMs).unref()

  return {
    note(newest) {
      work = newest
      if (thread !== undefined) share(newest)
    },
    stop() {
      isStopped = true
      clearInterval(timer)
      endThread()
    },
  }
}

/** Of all threads of the process. Ms. */
function processorMs(): number {
  const { user, system } = cpuUsage()
  return (user + system) / 1000
}
