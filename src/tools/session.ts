import type { Folder } from '../workspace/folder.ts'
import type { Policy } from '../workspace/policy/policy.ts'

/** A configured workspace, open for tools. */
export interface Session {
  /** Short and stable: derived from the folder's real path. */
  readonly id: string
  /** The folder's name, made unique among the sessions. */
  readonly name: string
  readonly folder: Folder
  readonly policy: Policy
  /** Aborted when the workspace is removed from the configuration and at shutdown. */
  readonly signal: AbortSignal
}
