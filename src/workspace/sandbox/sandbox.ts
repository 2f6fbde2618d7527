import type { Mount } from './bubblewrap-arguments.ts'
import type { Network } from '../network/host-pattern.ts'

/** The setting `workspace.sandbox`. */
export type SandboxMode = 'auto' | 'required' | 'off'

/** What a person lets one command do beyond the sandbox: reach public hosts, or everything. */
export type Widening = 'network' | 'unsandboxed'

/** What encloses commands on this machine. */
export type Enclosure =
  | { readonly kind: 'bubblewrap'; readonly program: string; readonly version: string }
  /** `reason` is a sentence, `fix` an instruction without a period. */
  | { readonly kind: 'none'; readonly reason: string; readonly fix: string }

/** How a program is started. */
export interface StartedIn {
  readonly enclosure: 'bubblewrap' | 'none'
  readonly argv: readonly [string, ...string[]]
  /** Variables for the environment of the command. */
  readonly variables: Readonly<Record<string, string>>
  /** What the program sees of the system, if it is enclosed. Give it to `readReport`, or the program never starts. */
  readonly mounts: readonly Mount[]
  /** Cleans up after the end of the program. */
  readonly end: () => Promise<Aftermath>
}

interface Aftermath {
  /** Sentences about files that the program has made and hosts that it did not reach. */
  readonly notes: readonly string[]
  /** Whether it would have reached another host if it might reach every public host. */
  readonly needsPublic: boolean
}

export interface ProgramStart {
  readonly argv: readonly [string, ...string[]]
  /** Absolute. */
  readonly cwd: string
  /** `write`: the program may change the workspace. `read`: it only returns output, like a formatter. */
  readonly access: 'write' | 'read'
  /** More programs that it starts, as absolute paths. */
  readonly programs?: readonly string[]
  /** The hosts that it may reach, if a sandbox holds. Default: none. */
  readonly network?: Network | undefined
  /**
   * `never refused`: a program of copilot-proxy, which starts without a sandbox if there is none. `always enclosed`: it does not
   * start without one, whatever `workspace.sandbox` is. `unsandboxed`: a person lets it start without one. Default: as
   * `workspace.sandbox` says.
   */
  readonly rule?: 'never refused' | 'always enclosed' | 'unsandboxed' | undefined
}

/** Encloses the programs that start for a workspace. */
export interface Sandbox {
  /** Returns what holds now. The trial runs once and then its result is known. */
  readonly state: () => Promise<SandboxState>
  /** @throws ToolError `denied` if the sandbox is required and does not work */
  readonly start: (start: ProgramStart) => Promise<StartedIn>
  /** Whether a running command may have made the policy of the root, so that it allows nothing. */
  readonly distrustsPolicy: () => boolean
}

export interface SandboxState {
  readonly mode: SandboxMode
  readonly enclosure: Enclosure
}
