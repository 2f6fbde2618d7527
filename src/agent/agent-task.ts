import type { Session } from '../tools/session.ts'
import type { TurnItem } from '../translate/turn.ts'
import type { AgentEvent, ApprovalDecision, FileCount } from './agent-event.ts'

/** One message to a session, to be answered by a model that may use the session's tools. */
export interface AgentTask {
  /** Of the run, which is the message's. */
  readonly id: string
  readonly session: Session
  /** `chat`: tools that read, no approvals; the answer is the model's text. */
  readonly mode: 'chat' | 'agent'
  /** The user's message, without the agent prefix. */
  readonly text: string
  readonly attachments: readonly Attachment[]
  /** `AgentOutcome.items` of the session's earlier runs, oldest first. */
  readonly history: readonly TurnItem[]
  readonly settings: AgentSettings
  /** Who caused the first request. The run causes all later ones itself. */
  readonly initiator: 'user' | 'agent'
  /** For the audit line, e.g. `agent:local`. */
  readonly caller: string
  readonly keyName: string | undefined
  readonly signal: AbortSignal
  /** Synchronous and cheap. */
  readonly emit: (event: AgentEvent) => void
  /** Told with each request and each answer. Synchronous and cheap. */
  readonly onProgress?: (progress: RunProgress) => void
  /** Asks a person. The run emits the `approval` events itself. @throws the reason of the signal when it aborts */
  readonly approve: (request: ApprovalRequest, signal: AbortSignal) => Promise<ApprovalDecision>
}

export type Attachment =
  | { readonly name: string; readonly mediaType: string; readonly text: string }
  | { readonly name: string; readonly mediaType: string; readonly base64: string }

/** The `agent` section of the configuration, with what the message states. */
export interface AgentSettings {
  /** A model's name; '' lets Copilot choose. */
  readonly model: string
  readonly fallbackModels: readonly string[]
  /** `auto`: native for models that have tool calls. */
  readonly protocol: 'auto' | 'native' | 'json'
  /** Requests to the model. */
  readonly maxSteps: number
  /** Without the time that a person takes for approvals. */
  readonly maxMinutes: number
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
  readonly paths?: readonly string[]
  readonly diff?: string
  readonly argv?: readonly string[]
  readonly cwd?: string
  /** Of a tool that writes no file and runs no command. */
  readonly args?: unknown
}

/** `interrupted`: the daemon stopped in the middle of the run. */
export type RunOutcome =
  | 'completed'
  | 'max_steps'
  | 'max_minutes'
  | 'cancelled'
  | 'repeated_call'
  | 'refused'
  | 'failed'
  | 'interrupted'

export interface AgentOutcome {
  readonly outcome: RunOutcome
  /** One sentence for a person. */
  readonly reason: string
  /** What was changed and run, then the model's words, marked as such. */
  readonly summary: string
  /** The model's final text. */
  readonly answer: string
  /** The net change of the run, from the journal and not from the model's words. */
  readonly files: readonly FileChange[]
  readonly steps: number
  /** To the model. */
  readonly requests: number
  readonly usage: RunUsage
  /** The model that answered last. */
  readonly model: string | undefined
  /** To append to the session's history, the user's message included. */
  readonly items: readonly TurnItem[]
}

export interface FileChange extends FileCount {
  /** Unified. */
  readonly diff: string
}

/** What a run has used so far. */
interface RunProgress {
  /** To the model. */
  readonly requests: number
  readonly usage: RunUsage
  /** The model that answered last. */
  readonly model: string | undefined
}

export interface RunUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  /** AI credits in billionths, if upstream states them. */
  readonly nanoAiu?: number
}
