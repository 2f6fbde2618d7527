import type { IntendedFile } from '../workspace/patch/intended-files.ts'
import type { Widening } from '../workspace/sandbox/sandbox.ts'
import type { ToolFailure } from '../workspace/tool-error.ts'

/** An event that a run emits. The session adds the run's id, the session's id and the time. */
export type AgentEvent = FragmentEvent | ToolEvent | ApprovalEvent | DiffEvent

/**
 * A piece of text. `commentary`: what the model says before it acts. `step`: the header of a step, e.g. "Step 2 of 30".
 * `notice`: a message of the run itself, e.g. that another model took over.
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
  /** Counted from 1. */
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
      /** The result as a person sees it. */
      readonly result?: string
      /** Whether `result` or the text that the model got is shortened. */
      readonly truncated?: boolean
      readonly durationMs: number
    })

export type ToolOutcome = 'ok' | ToolFailure['kind']

/**
 * `run` also approves later calls of this run: changes of the text of the same files, the same argument vector in the same folder,
 * the same secret, or the same tool of the same program.
 */
export type ApprovalDecision = 'once' | 'run' | 'refuse'

/** `expired`: the run ended before a person decided. */
type ApprovalState = 'pending' | ApprovalDecision | 'expired'

interface ApprovalEvent {
  readonly type: 'approval'
  readonly approvalId: string
  readonly callId: string
  readonly tool: string
  readonly state: ApprovalState
  /** Fields of the `ApprovalRequest`. Only an event with the state `pending` has them. */
  readonly paths?: readonly string[]
  readonly files?: readonly IntendedFile[]
  readonly reads?: readonly string[]
  readonly diff?: string
  readonly argv?: readonly string[]
  readonly cwd?: string
  readonly widening?: Widening
  readonly notes?: readonly string[]
  readonly args?: unknown
  readonly decisions?: readonly ApprovalDecision[]
}

/** A tool has changed files. */
interface DiffEvent {
  readonly type: 'diff'
  readonly callId: string
  /** Id of the journal entry, for `mcp.edit.undo`; '' for a change without a journal entry. */
  readonly patchId: string
  readonly diff: string
  readonly files: readonly FileCount[]
}

export interface FileCount {
  readonly path: string
  readonly change: 'created' | 'modified' | 'deleted'
  /** Added lines. */
  readonly added: number
  /** Removed lines. */
  readonly removed: number
}
