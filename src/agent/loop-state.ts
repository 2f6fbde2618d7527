import type { TurnItem, TurnStop, Usage } from '../translate/turn.ts'
import type { AgentEvent, ApprovalDecision, ToolOutcome } from './agent-event.ts'
import type { AgentTask, ApprovalRequest, RunOutcome, RunUsage } from './agent-task.ts'

/** A model of the chain: `agent.model`, then `agent.fallback-models`. */
export interface ModelChoice {
  readonly name: string
  readonly contextTokens: number | undefined
  /** Whether it is asked with native tool calls; otherwise by the JSON protocol. */
  readonly isNative: boolean
}

export interface LoopSettings {
  readonly mode: AgentTask['mode']
  readonly models: readonly [ModelChoice, ...ModelChoice[]]
  readonly maxSteps: number
  readonly maxMinutes: number
  readonly requireApproval: boolean
  readonly initiator: 'user' | 'agent'
  /** Of the system prompt and the tools. Tokens. */
  readonly overheadTokens: number
}

/** A tool call as the model wrote it. */
export interface Call {
  readonly id: string
  /** The model's name for the tool. */
  readonly name: string
  readonly args: unknown
  /** Why it cannot be run, e.g. broken JSON. */
  readonly problem: string | undefined
}

/** Where a run stands. Immutable. */
export interface LoopState {
  readonly settings: LoopSettings
  /** In each phase but `new` and `ended`, one command is under way. */
  readonly phase: 'new' | 'asking' | 'summarising' | 'calling' | 'ended'
  /** The conversation: earlier runs, then this one. */
  readonly items: readonly TurnItem[]
  /** How many of the items are of earlier runs. */
  readonly earlierCount: number
  /** Index of the user's message of this run. */
  readonly goalAt: number
  /** From 1; 0 before the first request. */
  readonly step: number
  /** Index of the model in use. */
  readonly modelAt: number
  /** Calls of the last answer that have no result yet. The first one is under way in the phase `calling`. */
  readonly queue: readonly Call[]
  /** JSON protocol: results of the last answer's actions so far. */
  readonly results: readonly string[]
  /** JSON protocol: whether the last answer was to be given again. */
  readonly isCorrecting: boolean
  /** How often each call was asked for since the last change. */
  readonly counts: ReadonlyMap<string, number>
  /** Refused approvals in a row. */
  readonly refusals: number
  readonly grants: Grants
  readonly pending: ApprovalRequest | undefined
  /** Set when the run is to end as soon as what is under way has ended. */
  readonly stopping: Ending | undefined
  /** The step in which the conversation was shortened last. */
  readonly shortenedAt: number
  /** The step whose request was sent again last, because the answer broke off. */
  readonly repeatedAt: number
  /** Chat: whether the listeners know that older messages are left out. */
  readonly isWindowed: boolean
  readonly hasAnswered: boolean
  readonly requests: number
  readonly usage: RunUsage
  /** The model that answered last. */
  readonly model: string | undefined
  /** Estimated tokens of the request under way, and how far the last estimate was off. */
  readonly asked: number
  readonly scale: number
}

/** What a person allowed for the rest of the run. */
export interface Grants {
  readonly writes: boolean
  /** Commands, as JSON of folder and argument vector. */
  readonly commands: ReadonlySet<string>
  readonly tools: ReadonlySet<string>
}

export interface Ending {
  readonly outcome: RunOutcome
  readonly reason: string
}

export interface Answer {
  readonly items: readonly TurnItem[]
  readonly text: string
  readonly stop: TurnStop
  readonly usage: Usage | undefined
  readonly model: string
}

export interface AskFailure {
  /** As a person is told. */
  readonly message: string
  /** The HTTP status that a caller would get. */
  readonly status: number
  readonly isModelMissing: boolean
  readonly isTooLong: boolean
  /** Whether the model had said nothing yet. */
  readonly isBeforeAnswer: boolean
}

export interface ToolEnd {
  readonly callId: string
  /** The bus method. */
  readonly tool: string
  readonly outcome: ToolOutcome
  /** One line. */
  readonly message: string
  /** For the model, framed. */
  readonly content: string
  /** For people. */
  readonly result: string
  readonly truncated: boolean
  readonly durationMs: number
  /** Whether it changed a file or ran a command: a call repeated after that is another call. */
  readonly isEffect: boolean
}

export type LoopEvent =
  | { readonly type: 'begin' }
  | { readonly type: 'answered'; readonly answer: Answer }
  | { readonly type: 'ask_failed'; readonly failure: AskFailure }
  /** `text`: undefined if there is no summary. */
  | { readonly type: 'summarised'; readonly text: string | undefined; readonly usage: Usage | undefined }
  | { readonly type: 'approval_wanted'; readonly request: ApprovalRequest }
  | { readonly type: 'approval_decided'; readonly decision: ApprovalDecision | 'expired' }
  | { readonly type: 'tool_ended'; readonly end: ToolEnd }
  | { readonly type: 'stop'; readonly ending: Ending }

export type LoopCommand =
  | { readonly type: 'tell'; readonly event: AgentEvent }
  | {
      readonly type: 'ask'
      readonly model: ModelChoice
      readonly items: readonly TurnItem[]
      readonly initiator: 'user' | 'agent'
      readonly step: number
    }
  | { readonly type: 'summarise'; readonly model: ModelChoice; readonly items: readonly TurnItem[] }
  | { readonly type: 'call'; readonly call: Call; readonly step: number }
  | { readonly type: 'ask_person'; readonly request: ApprovalRequest }
  | { readonly type: 'settle_approval'; readonly isAllowed: boolean }
  /** Aborts what is under way. */
  | { readonly type: 'abort' }
  | { readonly type: 'end'; readonly ending: Ending; readonly answer: string }

export interface LoopStep {
  readonly state: LoopState
  readonly commands: readonly LoopCommand[]
}
