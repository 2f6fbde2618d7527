import type { Media } from '../tools/result-content.ts'
import type { TurnItem, TurnPart, TurnStop, Usage } from '../translate/turn.ts'
import type { ConsentRule } from '../workspace/policy/consent-rules.ts'
import type { AgentEvent } from './agent-event.ts'
import type { ApprovalDecision, ContextUse, RunOutcome, ToolOutcome } from '../api/run.ts'
import type { AgentTask, ApprovalRequest, RunUsage } from './agent-task.ts'

/** A model of the run: `agent.model` or one of `agent.fallback-models`. */
export interface ModelChoice {
  readonly name: string
  readonly contextTokens: number | undefined
  /** Whether requests offer native tool calls; otherwise they use the JSON protocol. */
  readonly isNative: boolean
  /** If false, requests have a sentence in place of each image. */
  readonly seesImages: boolean
}

export interface LoopSettings {
  readonly mode: AgentTask['mode']
  readonly models: readonly [ModelChoice, ...ModelChoice[]]
  readonly maxSteps: number
  readonly maxMinutes: number
  /** 0: no limit. */
  readonly maxCredits: number
  readonly requireApproval: boolean
  readonly initiator: 'user' | 'agent'
  /** Estimate for the system prompt and the tools. Tokens. */
  readonly overheadTokens: number
}

/** A tool call as the model wrote it. */
export interface Call {
  readonly id: string
  /** The model's name for the tool. */
  readonly name: string
  readonly args: unknown
  /** States why the call cannot run, e.g. that its arguments are invalid JSON. */
  readonly problem: string | undefined
}

/** The state of a run. Immutable. */
export interface LoopState {
  readonly settings: LoopSettings
  /** The mode of the message. `plan` becomes `agent` when a person accepts the plan. */
  readonly mode: AgentTask['mode']
  /** One command is running, except in the phases `new` and `ended`. */
  readonly phase: 'new' | 'asking' | 'summarising' | 'calling' | 'ended'
  /** The conversation: earlier runs, then this one. */
  readonly items: readonly TurnItem[]
  /** Number of items from earlier runs; 0 after this run has summarised them. */
  readonly earlierCount: number
  /** Index of the user's message of this run. */
  readonly goalAt: number
  /** Counted from 1; 0 before the first request. */
  readonly step: number
  /** Index of the model in use. */
  readonly modelAt: number
  /** Calls of the last answer that have no result yet. The first one is running in the phase `calling`. */
  readonly queue: readonly Call[]
  /** JSON protocol: the results of the last answer's actions so far. */
  readonly results: readonly TurnPart[]
  /** Whether the last request left out all images, because upstream had refused the one before with them. */
  readonly isWithoutImages: boolean
  /** Whether the last request asked for a correction of an unusable answer. */
  readonly isCorrecting: boolean
  /** How often each call gave the same result since something new happened, by call and result. 0: before that. */
  readonly counts: ReadonlyMap<string, number>
  /** Number of calls that changed files or ran a command. */
  readonly actions: number
  /** Number of calls for a change or a command that the policy, the settings or a person denied. */
  readonly denials: number
  /** Number of consecutive refusals by a person. */
  readonly refusals: number
  readonly grants: Grants
  readonly pending: ApprovalRequest | undefined
  /** If set, the run ends with it as soon as the running command has ended. */
  readonly stopping: Ending | undefined
  /** The last step that shortened the conversation; 0 for none. */
  readonly shortenedAt: number
  /** The last step that sent its request again because the answer was truncated; 0 for none. */
  readonly repeatedAt: number
  /** Chat: whether the last request left out older messages. */
  readonly isWindowed: boolean
  /** Messages that joined the run. The next step reads them. */
  readonly inbox: readonly JoinedItem[]
  /** Whether a model has answered since the last message of the user. */
  readonly hasAnswered: boolean
  readonly requests: number
  readonly usage: RunUsage
  /** Undefined before the first answer. */
  readonly context: ContextUse | undefined
  /** The model that answered last. */
  readonly model: string | undefined
  /** Estimated tokens of the last request. */
  readonly asked: number
  /** The factor, at least 1, that corrects estimates. */
  readonly scale: number
}

/** What a person allowed for the rest of the run, each with the closed gates that the question had stated. */
export interface Grants {
  /** Paths of files whose text may be changed. */
  readonly files: ReadonlyMap<string, readonly string[]>
  /** Allowed commands, each as JSON of its folder and argument vector. */
  readonly commands: ReadonlyMap<string, readonly string[]>
  readonly tools: ReadonlyMap<string, readonly string[]>
  /** Offers that a person has declined: commands to leave the sandbox, like `commands`, and policies to confirm. */
  readonly declined: ReadonlySet<string>
}

export const noGrants: Grants = { files: new Map(), commands: new Map(), tools: new Map(), declined: new Set() }

export interface Ending {
  readonly outcome: RunOutcome
  readonly reason: string
}

/** A message that joined the run. */
interface JoinedItem {
  /** The id of the message. */
  readonly id: string
  readonly item: TurnItem
}

export interface Answer {
  readonly items: readonly TurnItem[]
  readonly text: string
  readonly stop: TurnStop
  readonly usage: Usage | undefined
  readonly model: string
  /** The context of that model. Tokens. */
  readonly contextTokens?: number | undefined
}

export interface AskFailure {
  /** The error message for a person. */
  readonly message: string
  /** The HTTP status that a caller would get. */
  readonly status: number
  readonly isModelMissing: boolean
  readonly isTooLong: boolean
  /** Whether upstream refused what the request holds, possibly an image. */
  readonly isRefused: boolean
  /** Whether the request failed before the answer had any content. */
  readonly isBeforeAnswer: boolean
}

export interface ToolEnd {
  readonly callId: string
  /** The bus method. */
  readonly tool: string
  readonly outcome: ToolOutcome
  /** One line. */
  readonly message: string
  /** The text for the model, inside the marks of `frame`. */
  readonly content: string
  /** The images for the model. */
  readonly images: readonly Media[]
  /** The text for people. */
  readonly result: string
  readonly truncated: boolean
  readonly durationMs: number
  /** Whether the call changed a file or ran a command. An effect is something new for other calls. */
  readonly isEffect: boolean
  /** Whether the call was to change a file or to run a command, and was denied. */
  readonly isDenied: boolean
}

export type LoopEvent =
  | { readonly type: 'begin' }
  | { readonly type: 'answered'; readonly answer: Answer }
  | { readonly type: 'ask_failed'; readonly failure: AskFailure }
  /** `text` is undefined if the model gave no summary. */
  | { readonly type: 'summarised'; readonly text: string | undefined; readonly usage: Usage | undefined }
  /** `consents` are the rules that a person has stored. Undefined if none can be stored. */
  | {
      readonly type: 'approval_wanted'
      readonly request: ApprovalRequest
      readonly consents?: readonly ConsentRule[] | undefined
    }
  | { readonly type: 'approval_decided'; readonly decision: ApprovalDecision | 'expired' }
  | { readonly type: 'tool_ended'; readonly end: ToolEnd }
  | { readonly type: 'joined'; readonly message: JoinedItem }
  | { readonly type: 'stop'; readonly ending: Ending }

export type LoopCommand =
  | { readonly type: 'emit'; readonly event: AgentEvent }
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
  /** The next request has the messages with these ids. */
  | { readonly type: 'read'; readonly ids: readonly string[]; readonly step: number }
  /** Stores rules for all later runs of the workspace. */
  | { readonly type: 'remember'; readonly rules: readonly ConsentRule[] }
  | { readonly type: 'settle_approval'; readonly isAllowed: boolean }
  /** Aborts the running command. */
  | { readonly type: 'abort' }
  | { readonly type: 'end'; readonly ending: Ending; readonly answer: string }

export interface LoopStep {
  readonly state: LoopState
  readonly commands: readonly LoopCommand[]
}
