import type { Session } from './session.ts'

/** JSON Schema (2020-12) of a tool's arguments; its type is `object`. */
export type ParametersSchema = Readonly<Record<string, unknown>>

/**
 * `read` changes nothing. `write` changes files below the root; it may start a formatter of the workspace for them. `run` is for
 * starting programs.
 */
export type ToolEffect = 'read' | 'write' | 'run'

/** What a call is about to do, for the policy and for the person who approves it. */
export interface Intent {
  /** Files to be written or removed, relative to the root. */
  readonly writes?: readonly string[]
  /** The argument vector of a program to be started. */
  readonly argv?: readonly string[]
  /** Relative to the root; '' for the root. */
  readonly cwd?: string
  /** The change as a unified diff. */
  readonly diff?: string
  /** What a tool of a provider gets. */
  readonly args?: unknown
}

export interface ToolContext {
  readonly session: Session
  /** Aborted by the caller, with the session, and at the time limit; then its reason is a ToolError `timed_out`. */
  readonly signal: AbortSignal
  /** A part of the result that is there early, e.g. a program's output. */
  readonly progress: (part: ToolProgress) => void
  /**
   * Resolves if all gates are open: `workspace.read-only`, the policy and an approval. Every tool whose effect is not `read`
   * awaits it before its first effect.
   * @throws ToolError `denied`, `approval_refused`, `cancelled`
   */
  readonly authorize: (intent: Intent) => Promise<void>
  /**
   * As `authorize`, but asks no person: for a refusal before the work is done.
   * @throws ToolError `denied`, `failed`
   */
  readonly permit: (intent: Intent) => Promise<void>
  readonly limits: ToolLimits
}

export interface ToolLimits {
  /** `workspace.max-file-mb`. Bytes. */
  readonly maxFileBytes: number
  /** `workspace.tool-timeout-seconds`: what a program of the tool may take. Ms. */
  readonly timeoutMs: number
}

export interface ToolProgress {
  readonly text: string
  readonly stream?: 'stdout' | 'stderr'
}

/** A tool of a session. Arguments have been checked against `parameters` when `run` is called. */
export interface Tool {
  /** The bus method, e.g. `mcp.fs.read`. */
  readonly name: string
  readonly description: string
  readonly parameters: ParametersSchema
  readonly effect: ToolEffect
  /** Default: `workspace.tool-timeout-seconds`. */
  readonly timeoutMs?: number
  /**
   * The program outside this daemon that does the work. The policy says nothing about what that program does: `authorize`
   * asks for the approval only.
   */
  readonly provider?: string
  /**
   * Returns a JSON object. One that holds less than there is says so in `truncated`.
   * @throws ToolError
   */
  readonly run: (args: never, context: ToolContext) => Promise<ToolResult>
}

export type ToolResult = Readonly<Record<string, unknown>>

export interface ToolCall {
  readonly session: Session
  /** A tool's name. */
  readonly name: string
  /** Unchecked. */
  readonly args: unknown
  readonly signal: AbortSignal
  /** Who asks, for the audit line: the name of an API key, or `local`, with the way in, e.g. `rpc:local`. */
  readonly caller: string
  readonly progress?: ((part: ToolProgress) => void) | undefined
  /** Asks a person; true allows. Absent: no approval is needed. */
  readonly approve?: ((intent: Intent, tool: Tool, signal: AbortSignal) => Promise<boolean>) | undefined
}

/** The tools of every session, and the one way to run one. */
export interface Tools {
  readonly list: (session: Session) => readonly Tool[]
  /**
   * Starts what provides tools on demand, and resolves once their tools are listed or that has taken too long. Never rejects.
   * Absent: nothing starts on demand.
   */
  readonly prepare?: (session: Session) => Promise<void>
  /**
   * Checks the arguments, runs the tool within its time, caps the result and writes one audit line.
   * @throws ToolError and nothing else
   */
  readonly call: (call: ToolCall) => Promise<ToolResult>
  /** Calls `listener` with a session's id after its list has changed. Returns a function that ends this. */
  readonly onListChanged: (listener: (sessionId: string) => void) => () => void
}

/** Where tools come from: the workspace's own, a provider, another server. */
export interface ToolSource {
  readonly tools: (session: Session) => readonly Tool[]
  /** Starts what provides the tools, if that happens on demand. Resolves within seconds; never rejects. */
  readonly prepare?: (session: Session) => Promise<void>
  /** Calls `listener` with a session's id after its tools of this source have changed. */
  readonly onChange?: (listener: (sessionId: string) => void) => () => void
}
