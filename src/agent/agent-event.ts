import type { ToolFailure } from '../workspace/tool-error.ts'

/** What a run tells its listeners while it goes on. The session adds the run's id, the session's id and the time. */
export type AgentEvent = FragmentEvent | ToolEvent | ApprovalEvent | DiffEvent

/**
 * A piece of text. `commentary`: what the model says before it acts. `step`: the header of a step, e.g. "Step 2 of 30".
 * `notice`: what the run itself has to tell, e.g. that another model took over.
 */
export interface FragmentEvent {
  readonly type: 'fragment'
  readonly kind: 'answer' | 'thinking' | 'commentary' | 'step' | 'notice'
  readonly text: string
  readonly step?: number
  readonly model?: string
}

interface ToolEventBase {
  readonly type: 'tool'
  readonly callId: string
  /** The bus method, e.g. `mcp.fs.read`. */
  readonly tool: string
  /** From 1. */
  readonly step: number
}

type ToolEvent =
  | (ToolEventBase & { readonly state: 'started'; readonly args: unknown })
  | (ToolEventBase & { readonly state: 'progress'; readonly text: string; readonly stream?: 'stdout' | 'stderr' })
  | (ToolEventBase & {
      readonly state: 'ended'
      readonly outcome: ToolOutcome
      /** One line. */
      readonly message: string
      /** For people. */
      readonly result?: string
      /** Whether `result` holds less than there is. */
      readonly truncated?: boolean
      readonly durationMs: number
    })

export type ToolOutcome = 'ok' | ToolFailure['kind']

/** `run`: for the rest of the run, every write, this argument vector, or this tool of a provider. */
export type ApprovalDecision = 'once' | 'run' | 'refuse'

/** `expired`: the run ended before a person decided. */
type ApprovalState = 'pending' | ApprovalDecision | 'expired'

interface ApprovalEvent {
  readonly type: 'approval'
  readonly approvalId: string
  readonly callId: string
  readonly tool: string
  readonly state: ApprovalState
  /** These and the next only while it is pending, as `ApprovalRequest` has them. */
  readonly paths?: readonly string[]
  readonly diff?: string
  readonly argv?: readonly string[]
  readonly cwd?: string
  readonly args?: unknown
}

/** A change that was made. */
interface DiffEvent {
  readonly type: 'diff'
  readonly callId: string
  /** Of the journal's entry: `mcp.edit.undo` takes it. */
  readonly patchId: string
  readonly diff: string
  readonly files: readonly FileCount[]
}

export interface FileCount {
  readonly path: string
  readonly change: 'created' | 'modified' | 'deleted'
  /** Lines. */
  readonly added: number
  readonly removed: number
}
