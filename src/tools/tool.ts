import type { IntendedFile, PlanItem } from '../api/run.ts'
import type { Folder } from '../workspace/folder.ts'
import type { OpenFiles } from '../workspace/open-files.ts'
import type { Widening } from '../workspace/sandbox/sandbox.ts'
import type { UnconfirmedPolicy } from '../workspace/policy/policy.ts'
import type { Session } from './session.ts'

/** JSON Schema (2020-12) of a tool's arguments; its type is `object`. */
export type ParametersSchema = Readonly<Record<string, unknown>>

/**
 * `read` changes nothing. `write` changes files in the workspace, and may start a formatter of the workspace for them. `run`
 * starts programs or has other effects.
 */
export type ToolEffect = 'read' | 'write' | 'run'

/** A session without its folder, which `ToolContext.folder` replaces. */
export type SessionInfo = Omit<Session, 'folder'>

/** The intended effect of a call, which the policy checks and a person approves. */
export interface Intent {
  /** Paths of the files to write or remove, relative to the root. */
  readonly writes?: readonly string[]
  /** What happens to each path of `writes`. Absent if the tool changes only the text of existing files. */
  readonly files?: readonly IntendedFile[]
  /** Argument vector of the program to start. */
  readonly argv?: readonly string[]
  /** The vector that the policy must allow. Absent: `argv`. For a formatter, it is `argv` without the file. */
  readonly policyArgv?: readonly string[]
  /** Folder of the program, relative to the root; '' for the root. */
  readonly cwd?: string
  /** What the program may do beyond the sandbox. Only a person can allow it, for one call. */
  readonly widening?: Widening
  /** Sentences that a person should know: what the first run of the program did, or which unsaved texts the change saves. */
  readonly notes?: readonly string[]
  /** The change as a unified diff. */
  readonly diff?: string
  /** Paths of secrets to read, relative to the root. A tool intends nothing else with them. */
  readonly reads?: readonly string[]
  /** Arguments of a tool of a provider. */
  readonly args?: unknown
  /** A policy that the person has to confirm before its rules count. The call intends nothing else yet. */
  readonly policy?: UnconfirmedPolicy
}

export interface ToolContext {
  readonly session: SessionInfo
  /** The id of the caller's key. Undefined: no key. */
  readonly ownerId: string | undefined
  /** The id of the run whose agent calls. Undefined: another caller. */
  readonly runId: string | undefined
  /** The session's folder, under the rules of reading. A tool reads and writes through it only. */
  readonly folder: Folder
  /** The same folder with the unsaved texts of the editor of the run, for tools that show or change a file. */
  readonly files: Folder
  readonly openFiles: OpenFiles | undefined
  /** Aborts with the caller's signal, with the session, and at the time limit with a ToolError `timed_out` as reason. */
  readonly signal: AbortSignal
  /** Aborts when what the tool has started must end: with the caller's work, or with the session. */
  readonly lifetime: AbortSignal
  /** Replaces the plan of the run. Absent: no run has made the call. */
  readonly setPlan: ((items: readonly PlanItem[]) => void) | undefined
  /** Reports a part of the result early, e.g. a program's output. */
  readonly progress: (part: ToolProgress) => void
  /**
   * Resolves if `workspace.read-only` and the policy, or else a person, allow the effect. Each tool whose effect is not `read`
   * must await it before its first effect.
   * @throws ToolError `denied`, `approval_refused`, `cancelled`
   */
  readonly authorize: (intent: Intent) => Promise<void>
  /**
   * Checks like `authorize`, but asks no person, so that a tool can refuse before it does its work.
   * @throws ToolError `denied`, `failed`
   */
  readonly permit: (intent: Intent) => Promise<void>
  /**
   * Resolves when the result may take this much memory. A tool whose result may be larger than `ordinaryResultBytes` awaits
   * it before it builds the result. Bytes.
   * @throws ToolError `failed`, `cancelled`
   */
  readonly reserve: (bytes: number) => Promise<void>
  readonly limits: ToolLimits
}

export interface ToolLimits {
  /** `workspace.max-file-mb`. Bytes. */
  readonly maxFileBytes: number
  /** `workspace.tool-timeout-seconds`, the time limit of a program that the tool starts. Ms. */
  readonly timeoutMs: number
}

export interface ToolProgress {
  readonly text: string
  readonly stream?: 'stdout' | 'stderr'
}

/** A tool of a session. The registry checks the arguments against `parameters` before it calls `run`. */
export interface Tool {
  /** The bus method, e.g. `mcp.fs.read`. */
  readonly name: string
  readonly description: string
  readonly parameters: ParametersSchema
  readonly effect: ToolEffect
  /** Default: `workspace.tool-timeout-seconds`. */
  readonly timeoutMs?: number
  /**
   * Name of the external program that runs the tool. The policy cannot control that program, so `authorize` only asks for
   * approval.
   */
  readonly provider?: string
  /**
   * When a person is asked before a call of a tool of a provider. `after-secret`: after the run has read a secret, which the tool
   * could send away. Where nobody can be asked, the call is refused instead. Default: `always`
   */
  readonly asks?: 'always' | 'after-secret' | 'never'
  /** The change of the configuration with which the person trusts the provider, as a clause: `set … to …`. */
  readonly trustedBy?: string
  /** Tells this tool of a provider from every other one that may get its name. */
  readonly identity?: string
  /** Returns the tool that does a call, if the arguments decide which program does it. The registry has checked them. */
  readonly choose?: (args: never) => Tool
  /**
   * Returns a JSON object, with `truncated: true` if it is incomplete.
   * @throws ToolError
   */
  readonly run: (args: never, context: ToolContext) => Promise<ToolResult>
}

export type ToolResult = Readonly<Record<string, unknown>>

export interface ToolCall {
  readonly session: Session
  /** A tool's name. */
  readonly name: string
  /** Not checked yet. */
  readonly args: unknown
  readonly signal: AbortSignal
  /** Aborts when the work that the call is part of ends, such as a run of the agent. Absent: it ends with the session. */
  readonly lifetime?: AbortSignal | undefined
  /** Names the caller in the audit line: the interface, then the name of the API key or `local`, e.g. `rpc:local`. */
  readonly caller: string
  /** The id of the caller's key: who may see the audit line and undo the changes. Absent: no key. */
  readonly ownerId?: string | undefined
  readonly setPlan?: ToolContext['setPlan']
  /** The id of the run whose agent calls: its changes can be undone together. */
  readonly runId?: string | undefined
  /** The files that are open in the editor of the run. */
  readonly openFiles?: OpenFiles | undefined
  readonly progress?: ((part: ToolProgress) => void) | undefined
  /** Reserves memory for the result (`ToolContext.reserve`). Absent if the result is read at once. */
  readonly reserve?: ((bytes: number, signal: AbortSignal) => Promise<void>) | undefined
  /** The `identity` that the caller has found for the name. Another tool of this name is refused. */
  readonly identity?: string | undefined
  /** The secrets that the caller's run has read. Absent: nobody keeps record of them. */
  readonly secrets?: SecretRecord | undefined
  /**
   * Asks a person and resolves with true for an approval. If absent, there is no person: what the policy allows needs no approval,
   * everything else is refused, and tools of providers run only if nobody has to be asked.
   */
  readonly approve?: ((intent: Intent, tool: Tool, circumstances: Circumstances) => Promise<boolean>) | undefined
  /** Whether the call that has failed comes again, with the answer to what it has asked. */
  readonly isAsking?: (() => boolean) | undefined
  /** Whether `approve` asks nobody, and decides only about what the policy allows. Default: false */
  readonly isUnattended?: boolean | undefined
}

/** What a person should know about a call besides its intent. */
export interface Circumstances {
  /** The gates that the call passes only with the person's consent, as sentences. */
  readonly closed: readonly string[]
  readonly signal: AbortSignal
  /** Removes known credentials from what a person is shown, if nothing else does it. */
  readonly redact: (text: string) => string
}

/** Notes that a run has read secrets. */
export interface SecretRecord {
  readonly note: () => void
  readonly wereRead: () => boolean
}

/** The tools of all sessions. Everything that runs a tool uses `call`. */
export interface Tools {
  readonly list: (session: Session) => readonly Tool[]
  /**
   * Starts the sources that start on demand. Resolves when their tools are listed, or after a time limit. Never rejects. Absent
   * if no source starts on demand.
   */
  readonly prepare?: (session: Session) => Promise<void>
  /**
   * Checks the arguments, runs the tool within its time, caps the result and writes one audit line.
   * @throws ToolError, never another error
   */
  readonly call: (call: ToolCall) => Promise<ToolResult>
  /** Calls `listener` with a session's id after its list has changed. Returns a function that unsubscribes. */
  readonly onListChanged: (listener: (sessionId: string) => void) => () => void
}

/** A source of tools: the workspace itself, providers, or MCP servers. */
export interface ToolSource {
  readonly tools: (session: Session) => readonly Tool[]
  /** Starts the source, if it starts on demand. Resolves within seconds and never rejects. */
  readonly prepare?: (session: Session) => Promise<void>
  /** Calls `listener` with a session's id after its tools of this source have changed. */
  readonly onChange?: (listener: (sessionId: string) => void) => () => void
}
