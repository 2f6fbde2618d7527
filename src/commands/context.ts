import type { Engine } from '../engine.ts'
import type { KnownSecrets } from '../known-secrets.ts'
import type { Keychain } from '../auth/keychain.ts'
import type { Output } from '../terminal/output.ts'

/** Those that end a command. */
export type EndingSignal = 'SIGHUP' | 'SIGINT' | 'SIGTERM'

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
  /** From now on signals are told to `take` and do nothing else, until what is returned is called. */
  readonly takeSignals?: (take: (name: EndingSignal) => void) => () => void
  /** The system's where absent. */
  readonly keychain?: Keychain
  /** Of this process; a daemon tells it how to use memory. */
  readonly engine?: Engine
  /** Goes through the proxy of the environment. */
  readonly fetch: typeof globalThis.fetch
  /** Makes the global `fetch` the one above; costs the loading of undici, so only who needs it asks. */
  readonly prepareFetch: () => Promise<void>
  /** Rejects when `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** The command line that starts this program: Node.js, its options, and the script. */
  readonly self: readonly [string, ...string[]]
  /** Of this process. */
  readonly pid: number
  /** Milliseconds since epoch. */
  readonly now: () => number
  readonly version: string
  /** Of Node.js, as `process.version` has it. */
  readonly nodeVersion: string
  /** What must not be told. */
  readonly secrets: KnownSecrets
}
