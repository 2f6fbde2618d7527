import type { Keychain } from '../../auth/records/keychain.ts'
import type { ClientId } from '../../client-settings/target.ts'
import type { SnippetId, WaitingClientId } from '../../client-settings/snippets.ts'
import type { KnownSecrets } from '../../redaction/known-secrets.ts'
import type { Output } from '../../terminal/output.ts'
import { toVisibleJson } from '../../page/static/visible-text.js'

export type EndingSignal = 'SIGHUP' | 'SIGINT' | 'SIGTERM'

/** All that a command may use of its process. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Base of a relative `--config`. Throws if the folder has been deleted. */
  readonly workingDir: () => string
  /** Throws if the system knows no home, as for a user id that is not in its list. */
  readonly homeDir: () => string
  readonly platform: NodeJS.Platform
  readonly stdout: Output
  readonly stderr: Output
  readonly stdin: AsyncIterable<Uint8Array | string>
  /** stdin and stdout are terminals. */
  readonly interactive: boolean
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP; `reason` is the signal's name. */
  readonly signal: AbortSignal
  /** Registers work that even a second signal waits for, because its result exists nowhere else. */
  readonly beforeExit?: (work: Promise<void>) => void
  /**
   * Waits for one key on a terminal, without echo. What was typed before `onReady` is dropped. Ctrl-C is `\u0003` then.
   * Rejects on abort. Absent: stdin is no terminal.
   */
  readonly readKey?: ((signal: AbortSignal, onReady: () => void) => Promise<string>) | undefined
  /** Reads a line on a terminal after a prompt; '' after Ctrl-C. Rejects on abort. Absent: stdin is no terminal. */
  readonly readLine?: ((signal: AbortSignal, prompt: string) => Promise<string>) | undefined
  /** Redirects signals to `take` until the returned function is called. */
  readonly takeSignals?: (take: (name: EndingSignal) => void) => () => void
  /** Defaults to the system's. */
  readonly keychain?: Keychain
  /** Uses the proxy of the environment. */
  readonly fetch: typeof globalThis.fetch
  /** Replaces the global `fetch` by the one above. Loads undici, so only commands that need it call this. */
  readonly prepareFetch: () => Promise<void>
  /** Rejects when `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** The command line that starts this program: Node.js, its options, and the script. */
  readonly self: readonly [string, ...string[]]
  readonly pid: number
  /** Ms since epoch. */
  readonly now: () => number
  readonly version: string
  /** The version of Node.js, as in `process.version`. */
  readonly nodeVersion: string
  /** Values to redact. */
  readonly secrets: KnownSecrets
}

/** The root help documents these. */
export const exitCode = {
  done: 0,
  failed: 1,
  usage: 2,
  notLoggedIn: 3,
  interrupted: 130,
} as const
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/**
 * Ends a command with a message. `message` is whole sentences, may have several lines, and holds no secret; `cause` is
 * for the log at debug level only.
 */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exitCode: ExitCode

  constructor(code: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = code
  }
}

/** For an answer of the daemon that this version cannot read. */
export function otherVersion(cause: unknown): CommandFailure {
  const message = 'The running copilot-proxy is another version. Run: copilot-proxy restart'
  return new CommandFailure(exitCode.failed, message, { cause })
}

export function isNotLoggedIn(error: unknown): error is CommandFailure {
  return error instanceof CommandFailure && error.exitCode === exitCode.notLoggedIn
}

/** Prints JSON for `--json`. Characters that a terminal would obey, or that hide, are escapes in it. */
export function writeJson({ stdout }: CommandContext, document: object): void {
  stdout.write(`${toVisibleJson(JSON.stringify(document, null, 2))}\n`)
}

/** Prints a value as one line of JSON, for output that goes on. */
export function writeJsonLine({ stdout }: Pick<CommandContext, 'stdout'>, value: unknown): void {
  stdout.write(`${toVisibleJson(JSON.stringify(value))}\n`)
}

// Options and arguments of each command; `program.ts` declares them.

interface GlobalFlags {
  /** As written; undefined: the default path. */
  readonly config?: string | undefined
}

export interface ReportFlags extends GlobalFlags {
  readonly json?: true
}

export interface DoctorFlags extends ReportFlags {
  readonly verbose?: true
  readonly cache?: true
}

export interface ModelsFlags extends ReportFlags {
  /** The name of a single model to show. */
  readonly name?: string | undefined
}

export interface EnableFlags extends ReportFlags {
  readonly id: string
  readonly yes?: true
}

export interface UsageFlags extends ReportFlags {
  readonly line?: true
  /** Rows of the totals. */
  readonly by: 'model' | 'key' | 'session' | 'day'
}

export interface RequestsFlags extends ReportFlags {
  readonly follow?: true
  readonly failed?: true
  readonly key?: string
  readonly model?: string
  readonly limit: string
  /** The id of a single request to show. */
  readonly id: string | undefined
}

export interface PolicyFlags extends ReportFlags {
  /** A folder; undefined: the working folder. */
  readonly workspace?: string | undefined
}

export interface PolicyInitFlags extends PolicyFlags {
  readonly yes?: true
  /** Writes the policy to standard output. */
  readonly print?: true
}

export interface PolicyCheckFlags extends PolicyFlags {
  /** Relative to the workspace. */
  readonly path: string | undefined
  /** After `--`. */
  readonly command: readonly string[] | undefined
}

export interface PolicyForgetFlags extends PolicyFlags {
  /** The text of a rule. */
  readonly rule: string | undefined
  readonly all?: true
}

export interface PolicyTrustFlags extends ReportFlags {
  /** Undefined: the working folder. */
  readonly folder: string | undefined
  readonly yes?: true
}

export interface AgentFlags extends ReportFlags {
  /** The words of the task. Empty: a person types one task after another. */
  readonly goal: readonly string[]
  /** A folder; undefined: the working folder. */
  readonly workspace?: string
  readonly model?: string
  readonly continue?: true
  /** Nothing is changed until the person accepts the plan. */
  readonly plan?: true
  readonly yes?: true
  readonly maxSteps?: string
  readonly maxCredits?: string
  readonly demo?: true
}

export interface UndoFlags extends ReportFlags {
  /** Of a change or a run, or its beginning. Undefined: the last one, or a list. */
  readonly id: string | undefined
  /** A folder; undefined: the working folder. */
  readonly workspace?: string
  readonly yes?: true
  readonly diff?: true
  /** A message, or the beginning of its id: the conversation goes back to before it. */
  readonly to?: string
  readonly keepFiles?: true
}

export interface PageFlags extends GlobalFlags {
  readonly print?: true
}

export interface McpFlags extends GlobalFlags {
  /** A folder; undefined: see `mcp.ts`. */
  readonly workspace?: string
}

export interface AcpFlags extends GlobalFlags {
  readonly demo?: true
  /** The provider to log in to, in place of serving an editor. */
  readonly login?: string
}

export interface GatewayTokenFlags extends ReportFlags {
  readonly rotate?: true
}

export interface AccountFlags extends ReportFlags {
  readonly name: string
}

export interface KeyFlags extends ReportFlags {
  readonly name: string | undefined
}

export interface LogsFlags extends ReportFlags {
  readonly follow?: true
  readonly lines?: string
  readonly since?: string
  readonly level?: string
}

export interface ServiceFlags extends ReportFlags {
  readonly dryRun?: true
}

export interface LoginFlags extends GlobalFlags {
  readonly provider: string
  /** False after `--no-browser`. */
  readonly browser: boolean
  readonly device?: true
  readonly tokenStdin?: true
  readonly yes?: true
  readonly host?: string
  readonly web?: true
}

export interface LogoutFlags extends GlobalFlags {
  readonly provider: string | undefined
  readonly all?: true
}

export interface ServeFlags extends GlobalFlags {
  readonly port?: string | undefined
  readonly host?: string | undefined
  readonly demo?: true | undefined
  readonly logLevel?: string | undefined
  readonly logFormat?: string | undefined
  /** Folders. */
  readonly workspace?: readonly string[] | undefined
  readonly detach?: true
  /** Only with `detach`. */
  readonly json?: true
  /** Set in a process that was started as the background daemon; it writes its log and record into the state folder. */
  readonly background?: BackgroundStarter
}

/** This program itself (`start`), or the service manager of the system. */
export type BackgroundStarter = 'detach' | 'service'

export interface LaunchFlags extends GlobalFlags {
  readonly client: ClientId
  readonly demo?: true
  readonly model?: string
  /** Passed to the client unchanged. */
  readonly args: readonly string[]
}

export interface SetupFlags extends GlobalFlags {
  readonly client: SnippetId | WaitingClientId
  readonly model?: string
  readonly dryRun?: true
  readonly undo?: true
  readonly yes?: true
  readonly print?: true
  /** The tools of workspaces instead of models. */
  readonly mcp?: true
}
