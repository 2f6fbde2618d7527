import type { Folder } from '../workspace/folder.ts'
import type { Consents } from '../workspace/policy/consents.ts'
import type { Policy } from '../workspace/policy/policy.ts'

/** A configured workspace, open for tools. */
export interface Session {
  /** A short, stable id, derived from the folder's real path. */
  readonly id: string
  /** The configured name or the folder's name, made unique among the sessions. */
  readonly name: string
  readonly folder: Folder
  readonly policy: Policy
  /** What a person has allowed the agent for good. Absent: nothing can be stored. */
  readonly consents?: Consents | undefined
  /** Aborts when the configuration no longer has the workspace, and at shutdown. */
  readonly signal: AbortSignal
}
