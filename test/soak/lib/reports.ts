import type { PlannedFault } from './plan.ts'

/** What the simulated upstream has seen and done so far. */
export interface UpstreamStats {
  readonly requests: number
  readonly openStreams: number
  readonly openSockets: number
  /** Streams whose client left before their end. */
  readonly abandoned: number
  /** Times it waited because nobody took what it wrote. */
  readonly heldBack: number
  readonly refusedTokens: number
  readonly exchanges: number
  readonly injected: Readonly<Partial<Record<PlannedFault, number>>>
}

/** The daemon's own memory, after garbage was collected, and what it holds open. */
export interface Footprint {
  readonly rssBytes: number
  readonly heapBytes: number
  /** Buffers outside of the heap. */
  readonly externalBytes: number
  readonly fds: number
  /** Sockets, timers and the like that Node counts as active, by kind. */
  readonly resources: Readonly<Record<string, number>>
}

/** How the load went, as the load generator saw it. */
export interface LoadReport {
  readonly asked: number
  /** Complete answers, compared byte for byte. */
  readonly exact: number
  /** Answers that upstream's fault ended, and that said so. */
  readonly faulted: number
  /** Left on purpose. */
  readonly left: number
  /** Answers that were not what they had to be; the first few in words. */
  readonly wrong: number
  readonly wrongs: readonly string[]
  /** Streams open at the same time, at most. */
  readonly mostOpen: number
}

/** Delays of events from upstream's write to the client's read. Ms. */
export interface Delays {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly most: number
}
