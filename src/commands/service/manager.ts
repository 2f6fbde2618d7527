import type { ServiceDefinition } from './define.ts'

/** A program and its arguments, without a shell. */
export type CommandLine = readonly [string, ...string[]]

export interface ServiceState {
  readonly running: boolean
  /** In the system's own terms. */
  readonly detail: string
}

/** How one system runs services of a user. */
export interface ServiceManager {
  readonly name: string
  /** The path of the service's file. */
  readonly file: string
  readonly text: (definition: ServiceDefinition) => string
  /** Fails where this user has no such manager, as in most containers. */
  readonly probe: CommandLine
  /** Loads the file and (re)starts the service. */
  readonly activate: readonly ActivationStep[]
  /** What a person runs in place of `activate`. */
  readonly activateByHand: readonly string[]
  readonly deactivate: readonly CommandLine[]
  readonly afterRemoval: readonly CommandLine[]
  readonly restart: CommandLine
  readonly show: CommandLine
  /** Parses the output of `show`. */
  readonly parseState: (printed: string) => ServiceState
  /** Shows why the service does not start. */
  readonly look: string
  readonly note: string | undefined
}

interface ActivationStep {
  readonly command: CommandLine
  /** It fails where there is nothing to undo. */
  readonly mayFail?: true
  /** Succeeds until the effect of the command is complete, which may be after it returns. */
  readonly whileThere?: CommandLine
}

export interface Folders {
  readonly home: string
  readonly xdgConfigHome: string | undefined
  readonly uid: number
}
