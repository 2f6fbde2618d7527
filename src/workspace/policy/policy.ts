/** The decision of a policy about a write or a command. `reason` names the rule: its file, line and text. */
export interface Decision {
  readonly isAllowed: boolean
  readonly reason: string
}

/** The current rules of a workspace: built-in denials, `.agent-policy.yaml` of the root, and those of inner folders. */
export interface Policy {
  /** @param path relative to the root, with `/` */
  readonly mayWrite: (path: string) => Promise<Decision>
  /**
   * @param argv the argument vector, which an entry must match completely
   * @param cwd the working folder, relative to the root; default: the root. Its own policy must allow the command too
   */
  readonly mayRun: (argv: readonly string[], cwd?: string) => Promise<Decision>
  /** Describes the policy for `mcp.policy.get`. `problem` states why it is invalid; the workspace is read-only then. */
  readonly describe: () => Promise<PolicyDescription>
  readonly close: () => void
}

export interface PolicyDescription {
  /** The policy files in force, relative to the root. Omits those in folders that ignore files exclude. */
  readonly files: readonly string[]
  /** The rules of the root's policy. `deny` includes the built-in denials. */
  readonly writes: { readonly allow: readonly string[]; readonly deny: readonly string[] }
  readonly shell: { readonly allow: readonly (readonly string[])[] }
  readonly problem: string | undefined
}
