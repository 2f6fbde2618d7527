import type { Tools } from '../tools/tool.ts'
import type { Session } from '../tools/session.ts'

/** The configured workspaces with their tools, as /rpc, /mcp and `GET /sessions` use them. */
export interface Workspaces {
  /** In the order of the configuration. */
  readonly sessions: () => readonly Session[]
  /** Finds a session by id or name. Without an argument, returns the only session, or undefined if there are several. */
  readonly find: (idOrName: string | undefined) => Session | undefined
  readonly tools: Tools
  /** Calls `listener` after sessions were added or removed. Returns a function that unsubscribes. */
  readonly onChange: (listener: () => void) => () => void
}
