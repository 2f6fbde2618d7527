/** How long a caller may take, and how long a connection may be idle. Ms. */
export interface Deadlines {
  /** For the headers of a request. */
  readonly headersMs: number
  /** For the whole of a request, its body included. */
  readonly requestMs: number
  /** Between two pieces of a body. An upload that stalls would hold its place among the running requests. */
  readonly uploadIdleMs: number
  /** Between two requests. Longer than in usual client pools, so that they close first and never meet a closed connection. */
  readonly keepAliveMs: number
  /** How often Node looks whether headers or a request are overdue. */
  readonly checkEveryMs: number
}

export const defaultDeadlines: Deadlines = {
  headersMs: 60_000,
  requestMs: 300_000,
  uploadIdleMs: 30_000,
  keepAliveMs: 75_000,
  checkEveryMs: 5000,
}
