import type { ChangeEntry } from '../api/changes.ts'
import type { ApprovalEvent, DaemonEvent } from '../api/events.ts'
import type { ContextUse, FileCount, PlanItem, RunMode, RunUsage } from '../api/run.ts'

/*
 * What the page shows of a session. The modules in static/ run in a browser without a build and refer to these types in
 * comments.
 */

/** An event of a run. */
export type RunEvent = Extract<DaemonEvent, { readonly id: string }>

export type InboundEvent = Extract<DaemonEvent, { readonly type: 'inbound' }>

type FragmentEvent = Extract<DaemonEvent, { readonly type: 'fragment' }>

/** A text of the model, or a notice of the run. */
export interface TextPart {
  readonly kind: 'text'
  readonly key: string
  readonly fragment: FragmentEvent['kind']
  readonly text: string
}

/** A message that joined the run. */
export interface MessagePart {
  readonly kind: 'message'
  /** Contains the id of the message. */
  readonly key: string
  readonly text: string
  readonly time: string
}

export interface ToolPart {
  readonly kind: 'tool'
  readonly key: string
  readonly tool: string
  readonly args?: unknown
  /** The output so far, or the end of a long output. */
  readonly progress: string
  /** Undefined while the tool runs. */
  readonly outcome?: string
  readonly message?: string
  readonly result?: string
  readonly truncated?: boolean
  readonly durationMs?: number
  readonly diff?: string
}

export interface ApprovalPart extends Omit<ApprovalEvent, 'type' | 'id' | 'callId' | 'sessionId' | 'time'> {
  readonly kind: 'approval'
  readonly key: string
}

export type RunPart = TextPart | MessagePart | ToolPart | ApprovalPart

/** What a run has used so far. */
export interface RunUse {
  readonly requests: number
  readonly usage: RunUsage
  readonly context?: ContextUse
}

export interface RunEnd extends Partial<RunUse> {
  readonly outcome: string
  readonly reason: string
  readonly summary: string
  readonly model?: string
  readonly steps?: number
  /** The record of a run has their diffs too. */
  readonly files: readonly (FileCount & { readonly diff?: string })[]
}

/** A message and its run. */
export interface RunItem {
  readonly kind: 'run'
  readonly key: string
  /** ISO 8601; '' if unknown. */
  readonly time: string
  /** '' if unknown. */
  readonly conversationId: string
  readonly mode: RunMode
  readonly text: string
  /** The provider that wrote the message. Undefined for a message of the user. */
  readonly provider?: string
  readonly attachments: readonly string[]
  readonly parts: readonly RunPart[]
  /** Undefined before the first answer of a model. */
  readonly used?: RunUse
  /** The plan that the run has stated last. */
  readonly plan?: readonly PlanItem[]
  /** Undefined while the run is in progress. */
  readonly end?: RunEnd
  /** The changes of files by the run, oldest first. Undefined if it made none, or if they are not read yet. */
  readonly changes?: readonly ChangeEntry[]
  /** Whether the page has no events of its steps, but can read them from the daemon. */
  readonly isRecalled: boolean
}

/** An event outside of runs: a push of a provider, a failure, lost events. */
export interface NoteItem {
  readonly kind: 'note'
  readonly key: string
  readonly time: string
  readonly tone: 'push' | 'error' | 'gap' | 'info'
  readonly title: string
  readonly text: string
}

export type TimelineItem = RunItem | NoteItem

export interface Timeline {
  /** Oldest first. */
  readonly items: readonly TimelineItem[]
}
