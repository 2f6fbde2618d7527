import type { Plan } from './plan.ts'

interface Counted {
  readonly url: string
  readonly seed: number
  readonly count: number
  readonly parallel: number
}

/** A job of the load generator. `seed` makes its plans and choices reproducible. */
export type Job =
  | {
      readonly kind: 'mixed'
      readonly url: string
      readonly seed: number
      readonly durationMs: number
      readonly gapMs: number
      /** Streams at the same time, by kind of client. */
      readonly steady: number
      readonly slow: number
      readonly leaving: number
    }
  | (Counted & { readonly kind: 'aborts' })
  | (Counted & { readonly kind: 'calls' })
  | { readonly kind: 'hold'; readonly url: string; readonly seed: number; readonly plans: readonly Partial<Plan>[] }
  | {
      readonly kind: 'latency'
      readonly seed: number
      readonly durationMs: number
      readonly gapMs: number
      readonly targets: readonly {
        readonly url: string
        readonly streams: number
        /** Callers speak any dialect to any upstream; a raw pipe can only do the same on both sides. */
        readonly anyDialect: boolean
      }[]
    }
  /** Closes the connections that nothing uses. */
  | { readonly kind: 'idle' }
