import type { Tools } from '../tools/tool.ts'
import type { Session } from '../tools/session.ts'

/** The configured workspaces with their tools: what every way in (/rpc, /mcp, `GET /sessions`) gets. */
export interface Workspaces {
  /** In the order of the configuration. */
  readonly sessions: () => readonly Session[]
  /** By id or name. Without one: the only session; undefined if there are several. */
  readonly find: (idOrName: string | undefined) => Session | undefined
  readonly tools: Tools
  /** Calls `listener` after sessions were added or removed. Returns a function that ends this. */
  readonly onChange: (listener: () => void) => () => void
}
