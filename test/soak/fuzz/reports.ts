export interface FuzzJob {
  readonly kind: 'requests' | 'streams'
  readonly seed: number
  readonly runs: number
}

export interface FuzzReport {
  readonly done: number
  /** Cases that were more than a refusal: a body went upstream, a reply came to its good end. */
  readonly answered: number
  /** Each one shrunk, with the seed and path by which fast-check finds it again. */
  readonly defects: readonly string[]
  readonly slowestMs: number
  readonly slowest: string
}
