import type { CallerKey } from '../config/caller.ts'
import type { Session } from '../tools/session.ts'
import type { TurnItem } from '../translate/turn.ts'
import type { OpenFiles } from '../workspace/open-files.ts'
import type { ConsentRule } from '../workspace/policy/consent-rules.ts'
import type { UnconfirmedPolicy } from '../workspace/policy/policy.ts'
import type { Widening } from '../workspace/sandbox/sandbox.ts'
import type { AgentEvent } from './agent-event.ts'
import type { Attachment } from '../api/inputs.ts'
import type { ApprovalDecision, ContextUse, FileCount, IntendedFile, RunMode, RunOutcome } from '../api/run.ts'

/** One message to a session. A model answers it and may use the session's tools. */
export interface AgentTask {
  /** Id of the run, which is also the id of the message. */
  readonly id: string
  readonly session: Session
  /**
   * `chat` has tools that read, and no approvals. Its answer is the model's text. `plan` has tools that read until a person accepts
   * its plan, and then all tools.
   */
  readonly mode: RunMode
  /** The user's message, without the agent prefix. */
  readonly text: string
  readonly attachments: readonly Attachment[]
  /** The `AgentOutcome.items` of the session's earlier runs, oldest first. */
  readonly history: readonly TurnItem[]
  /** SHA-256 of the instruction files that earlier runs of the session have used, by path. */
  readonly knownInstructions: ReadonlyMap<string, string>
  readonly settings: AgentSettings
  /** Who caused the first request. The run causes all later ones itself. */
  readonly initiator: 'user' | 'agent'
  /** Names the caller in the audit line, e.g. `agent:local`. */
  readonly caller: string
  readonly key: CallerKey | undefined
  /** The files that the sender of the message has open in an editor. */
  readonly openFiles?: OpenFiles | undefined
  readonly signal: AbortSignal
  /** Must be synchronous and cheap. */
  readonly emit: (event: AgentEvent) => void
  /** The run calls it with each request and each answer. Must be synchronous and cheap. */
  readonly onProgress?: (progress: RunProgress) => void
  /** Calls `listener` with each message that joins the run, also with those that have joined before. */
  readonly onJoined?: (listener: (message: JoinedMessage) => void) => void
  /** The next request has the messages with these ids. What is not read when the run ends was not seen by a model. */
  readonly onRead?: (ids: readonly string[], step: number) => void
  /** Asks a person. The run emits the `approval` events itself. @throws the reason of the signal when it aborts */
  readonly approve: (request: ApprovalRequest, signal: AbortSignal) => Promise<ApprovalDecision>
}

/** A message that the user sent while the run was in progress. */
export interface JoinedMessage {
  readonly id: string
  readonly text: string
  readonly attachments: readonly Attachment[]
}

/** The `agent` section of the configuration, with what the message states. */
export interface AgentSettings {
  /** Name of a model; '' lets Copilot choose. */
  readonly model: string
  readonly fallbackModels: readonly string[]
  /** `auto` is `native` for models that have tool calls, and `json` for others. */
  readonly protocol: 'auto' | 'native' | 'json'
  /** Repeated requests, corrections and summaries do not count as steps. */
  readonly maxSteps: number
  /** Time limit of the run. The time that a person takes for approvals does not count. */
  readonly maxMinutes: number
  /** AI credits after which the run makes no further request; 0 for no limit. */
  readonly maxCredits: number
  /** Folders that the agent's tools may use, relative to the root; `*` for all. */
  readonly allowedRoots: readonly string[]
  readonly requireApproval: boolean
}

export interface ApprovalRequest {
  readonly approvalId: string
  /** The bus method. */
  readonly tool: string
  readonly callId: string
  readonly step: number
  /** Files to write or remove. */
  readonly paths?: readonly string[]
  /** What happens to each of `paths`. */
  readonly files?: readonly IntendedFile[]
  /** Secrets to read, by their own paths without links. */
  readonly reads?: readonly string[]
  readonly diff?: string
  readonly argv?: readonly string[]
  readonly cwd?: string
  /** What the command may do beyond the sandbox, in which it has failed. */
  readonly widening?: Widening
  /** Sentences about what it did when it failed. */
  readonly notes?: readonly string[]
  /** A policy that the person has to confirm before its rules count. */
  readonly policy?: UnconfirmedPolicy
  /** Arguments of a tool that writes no file and runs no command. */
  readonly args?: unknown
  /** Markdown: the plan of a run in the mode `plan`. */
  readonly plan?: string
  /** The closed gates that this call passes if a person allows it, as sentences. Absent: none. */
  readonly closed?: readonly string[]
  /** The program whose tool it is. Absent: the tool belongs to the workspace. */
  readonly provider?: string
  /** Identifies a tool of a server or provider, so that a grant does not cover another tool that gets the same name. */
  readonly identity?: string
  /** Whether the run has read a secret, which such a tool could send away. */
  readonly isAfterSecret?: boolean
  /** The rules that the decision `always` stores. Absent: it is not offered. */
  readonly always?: readonly ConsentRule[]
}

export interface AgentOutcome {
  readonly outcome: RunOutcome
  /** States in one sentence why the run ended. */
  readonly reason: string
  /** Lists changed files and commands, then quotes the model. For a chat without changes: `answer`. */
  readonly summary: string
  /** The model's final text. */
  readonly answer: string
  /** The net changes of the run, from the journal and not from the model's words. */
  readonly files: readonly FileChange[]
  readonly steps: number
  /** Number of requests to models. */
  readonly requests: number
  readonly usage: RunUsage
  readonly context: ContextUse | undefined
  /** The model that answered last. */
  readonly model: string | undefined
  /** The items to append to the session's history, including the user's message. */
  readonly items: readonly TurnItem[]
}

export interface FileChange extends FileCount {
  /** A unified diff. */
  readonly diff: string
}

/** The requests and usage of a run so far. */
interface RunProgress {
  /** Number of requests to models. */
  readonly requests: number
  readonly usage: RunUsage
  readonly context: ContextUse | undefined
  /** The model that answered last. */
  readonly model: string | undefined
}

export interface RunUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  /** Billionths of an AI credit, if upstream states them. */
  readonly nanoAiu?: number
}
