import { joinCommand } from '../command-line.ts'
import type { Network } from '../network/host-pattern.ts'

/** The decision of a policy about a write or a command. `reason` names the rule: its file, line and text. */
export interface Decision {
  readonly isAllowed: boolean
  /** Whether no rule allows or denies it, so that a person may allow it. Default: false */
  readonly isOpen?: boolean
  readonly reason: string
  /** The policies whose rules would allow it, if a person had confirmed them. */
  readonly unconfirmed?: readonly UnconfirmedPolicy[]
}

/** A policy file that grants nothing, because no person has confirmed its content. What it denies holds. */
export interface UnconfirmedPolicy {
  /** Relative to the root. */
  readonly path: string
  readonly sha256: string
  /** The content of which `sha256` is the hash. */
  readonly text: string
}

/** A decision about a command. */
interface CommandDecision extends Decision {
  /** The hosts that the command may reach, if a sandbox holds. Absent: none. */
  readonly network?: Network
}

/** A decision about reading a file. `isSecret`: it is refused only because it looks like a secret, so a person may allow it. */
export interface ReadDecision extends Decision {
  readonly isSecret: boolean
}

/** The rules of reading for one call, which reads each policy file once and does not see later changes. */
interface ReadRules {
  /** @param path relative to the root, without links */
  readonly decide: (path: string) => Promise<ReadDecision>
  /** Returns whether a `reads.deny` denies a path in the folder ('' for the root), which may be a secret or not. */
  readonly deniedIn: (folder: string) => Promise<(path: string) => boolean>
  /** Whether `reads.deny` of the root's policy denies the path. */
  readonly isDeniedByRoot: (path: string) => boolean
}

/** The current rules of a workspace: built-in denials, `.agent-policy.yaml` of the root, and those of inner folders. */
export interface Policy {
  /** Returns the rules of reading. Without a policy file, everything but secrets may be read. */
  readonly readRules: () => Promise<ReadRules>
  /** @param path relative to the root, with `/` */
  readonly mayWrite: (path: string) => Promise<Decision>
  /**
   * @param argv the argument vector, which an entry must match completely
   * @param cwd the real path of the working folder, relative to the root; default: the root. An entry holds in the folder of its
   * policy and in those that it names
   */
  readonly mayRun: (argv: readonly string[], cwd?: string) => Promise<CommandDecision>
  /** Returns the valid policy files, those of inner folders too, that no person has confirmed as they are. */
  readonly unconfirmed: () => Promise<readonly UnconfirmedPolicy[]>
  /** Describes the policy for `mcp.policy.get`. `problem` states why it is invalid; the workspace is read-only then. */
  readonly describe: () => Promise<PolicyDescription>
  readonly close: () => void
}

export type CommandDescription =
  | readonly string[]
  | { readonly argv: readonly string[]; readonly in: readonly string[] }

export interface PolicyDescription {
  /** The policy files in force, relative to the root. Omits those in folders that ignore files exclude. */
  readonly files: readonly string[]
  /** Those of `files` that no person has confirmed as they are, so that they grant nothing. */
  readonly unconfirmed: readonly string[]
  /**
   * The rules of the root's policy. `secrets` and `protected` are patterns of files that it must name exactly: `**` or another
   * pattern does not allow them.
   */
  readonly reads: {
    readonly allow: readonly string[]
    readonly deny: readonly string[]
    readonly secrets: readonly string[]
  }
  readonly writes: {
    readonly allow: readonly string[]
    readonly deny: readonly string[]
    readonly protected: readonly string[]
  }
  /** An entry is an argument vector, or an object if it may run in other folders than that of the policy. */
  readonly shell: {
    readonly allow: readonly CommandDescription[]
    /** The hosts that commands may reach, if a sandbox holds. */
    readonly network: readonly string[]
  }
  /** What a person has allowed the agent for good, as `ruleText` writes it. It opens nothing for other callers. */
  readonly always: readonly string[]
  readonly problem: string | undefined
}

export function commandText(command: CommandDescription): string {
  if (!('argv' in command)) return joinCommand(command)
  return `${joinCommand(command.argv)} (in ${command.in.join(', ')})`
}
