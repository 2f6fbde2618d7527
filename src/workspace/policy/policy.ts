/** What a policy says of one write or one command. `reason` names the rule: its file, line and text. */
export interface Decision {
  readonly isAllowed: boolean
  readonly reason: string
}

/** The rules that hold in a workspace now: built-in denials, `.agent-policy.yaml` and those of inner folders. */
export interface Policy {
  /** @param path relative to the root, with `/` */
  readonly mayWrite: (path: string) => Promise<Decision>
  /**
   * @param argv the argument vector, matched whole; there is no shell
   * @param cwd the folder it runs in, relative to the root; default: the root. Its own policy must allow the command too
   */
  readonly mayRun: (argv: readonly string[], cwd?: string) => Promise<Decision>
  /** For `mcp.policy.get`. `problem`: why the policy is invalid, with the line; the workspace is read-only then. */
  readonly describe: () => Promise<PolicyDescription>
  readonly close: () => void
}

export interface PolicyDescription {
  /** The policy files in force, relative to the root: those of folders that ignore files name are left out. */
  readonly files: readonly string[]
  /** Of the root's policy; `deny` with the built-in denials. */
  readonly writes: { readonly allow: readonly string[]; readonly deny: readonly string[] }
  readonly shell: { readonly allow: readonly (readonly string[])[] }
  readonly problem: string | undefined
}
