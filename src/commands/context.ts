import type { Output } from '../terminal/output.ts'

/** Everything a command may touch of the process it runs in. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where a relative `--config` starts. Throws where the folder has been deleted. */
  readonly workingDir: () => string
  /** Throws where the system knows of none, as for a user id that is not in its list. */
  readonly homeDir: () => string
  readonly platform: NodeJS.Platform
  readonly stdout: Output
  readonly stderr: Output
  readonly stdin: AsyncIterable<Uint8Array | string>
  /** A person sits there: stdin and stdout are terminals. */
  readonly interactive: boolean
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP; `reason` is the signal's name. */
  readonly signal: AbortSignal
  /** Takes what a second signal gives a moment to end: work whose result exists nowhere else. */
  readonly beforeExit?: (work: Promise<void>) => void
  /** Goes through the proxy of the environment. */
  readonly fetch: typeof globalThis.fetch
  /** Makes the global `fetch` the one above; costs the loading of undici, so only who needs it asks. */
  readonly prepareFetch: () => Promise<void>
  /** Rejects when `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Milliseconds since epoch. */
  readonly now: () => number
  readonly version: string
}
