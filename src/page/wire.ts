/*
 * Types of the data that the daemon sends and the page reads. The modules in static/ run in a browser without a build and refer
 * to these types in comments.
 */

/** A session in `GET /sessions`. */
export interface SessionEntry {
  readonly id: string
  readonly name: string
  readonly path: string
  readonly tools: readonly string[]
  readonly runs: readonly { readonly id: string; readonly mode: Mode; readonly step?: number }[]
  readonly sandbox: { readonly holds: 'bubblewrap' | 'none'; readonly description: string }
}

type Mode = 'chat' | 'agent'

/** A message in `GET /sessions/{id}/messages`. */
export interface MessageEntry {
  readonly id: string
  readonly text: string
  readonly mode: Mode
  readonly model?: string | null
  readonly time: string
  readonly origin?: string
  readonly provider?: string
  readonly attachments?: readonly { readonly name: string; readonly mediaType: string }[]
  readonly outcome?: string | null
  readonly reason?: string
  readonly answer?: string | null
  readonly summary?: string | null
  readonly steps?: number
  readonly requests?: number
  readonly files?: readonly ChangedFile[]
  readonly usage?: RunUsage
}

/** A stream in `GET /sessions/{id}/streams`. */
export interface StreamSummary {
  readonly name: string
  readonly entries: number
  readonly lastTime: string
}

/** An entry in `GET /sessions/{id}/streams/{name}`. */
export interface StreamEntry {
  readonly id: string
  readonly provider: string
  readonly level: string
  readonly text: string
  readonly time: string
}

/** A server in `GET /sessions/{id}/servers`. */
export interface ServerEntry {
  readonly name: string
  readonly state: string
  readonly error?: string
  readonly tools: readonly string[]
  readonly resources: readonly { readonly name: string; readonly description?: string | undefined }[]
  readonly prompts: readonly { readonly name: string; readonly description?: string | undefined }[]
}

interface ChangedFile {
  readonly path: string
  readonly change: 'created' | 'modified' | 'deleted'
  readonly added: number
  readonly removed: number
  readonly diff?: string
}

interface RunUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens?: number
  readonly credits?: number
}

/** Fields of all events. */
interface EventBase {
  readonly sessionId: string
  /** ISO 8601. */
  readonly time: string
}

/** Fields of all events of a run. */
interface RunEventBase extends EventBase {
  /** Id of the message and its run. */
  readonly id: string
}

export interface InboundEvent extends RunEventBase {
  readonly type: 'inbound'
  readonly text: string
  readonly mode: Mode
  readonly model?: string
  readonly origin: 'user' | 'provider'
  readonly provider?: string
  readonly attachments?: readonly { readonly name: string; readonly mediaType: string }[]
}

type FragmentKind = 'answer' | 'thinking' | 'commentary' | 'step' | 'notice'

interface FragmentEvent extends RunEventBase {
  readonly type: 'fragment'
  readonly text: string
  readonly kind: FragmentKind
  readonly step?: number
  readonly model?: string
}

export interface ToolEvent extends RunEventBase {
  readonly type: 'tool'
  readonly callId: string
  readonly tool: string
  readonly step?: number
  readonly state: 'started' | 'progress' | 'ended'
  readonly args?: unknown
  /** Text of an event with the state `progress`. */
  readonly text?: string
  /** `ok` or the kind of failure. */
  readonly outcome?: string
  readonly message?: string
  readonly result?: string
  readonly truncated?: boolean
  readonly durationMs?: number
}

/** What happens to a file of an approval. */
interface IntendedFile {
  readonly path: string
  readonly change: 'created' | 'modified' | 'deleted' | 'renamed' | 'copied'
  readonly from?: string
  readonly executable?: boolean
  readonly added: number
  readonly removed: number
}

type ApprovalState = 'pending' | 'once' | 'run' | 'refuse' | 'expired'

interface ApprovalEvent extends RunEventBase {
  readonly type: 'approval'
  readonly approvalId: string
  readonly callId?: string
  readonly tool?: string
  readonly state: ApprovalState
  readonly diff?: string
  readonly argv?: readonly string[]
  readonly cwd?: string
  readonly widening?: string
  readonly notes?: readonly string[]
  readonly paths?: readonly string[]
  readonly files?: readonly IntendedFile[]
  readonly reads?: readonly string[]
  readonly args?: unknown
  readonly decisions?: readonly ('once' | 'run' | 'refuse')[]
  /** Whether the diff or the arguments are shortened. */
  readonly truncated?: boolean
}

interface DiffEvent extends RunEventBase {
  readonly type: 'diff'
  readonly callId: string
  readonly diff: string
  readonly files?: readonly ChangedFile[]
}

interface DoneEvent extends RunEventBase {
  readonly type: 'done'
  readonly outcome: string
  readonly reason?: string
  readonly summary?: string
  readonly answer?: string
  readonly model?: string
  readonly steps?: number
  readonly requests?: number
  readonly files?: readonly ChangedFile[]
  readonly usage?: RunUsage
}

interface PushEvent extends EventBase {
  readonly type: 'push'
  readonly provider: string
  readonly stream: string
  readonly level: string
  readonly text: string
}

interface LifecycleEvent extends EventBase {
  readonly type: 'lifecycle'
  readonly state: string
  readonly name?: string
}

interface ErrorEvent extends EventBase {
  readonly type: 'error'
  readonly code: string
  readonly message: string
}

/** The daemon no longer has the events with the ids from `from` to `to`. */
interface GapEvent {
  readonly type: 'gap'
  readonly from: number
  readonly to: number
  readonly sessionId?: string
  readonly time?: string
}

export type RunEvent = InboundEvent | FragmentEvent | ToolEvent | ApprovalEvent | DiffEvent | DoneEvent
export type PageEvent = RunEvent | PushEvent | LifecycleEvent | ErrorEvent | GapEvent

/** The body of `GET /runs/{id}`. */
export interface RunReport {
  readonly id: string
  readonly state: 'queued' | 'running' | 'waiting' | 'ended'
  readonly outcome?: string | null
  readonly reason?: string | null
  readonly summary?: string | null
  readonly answer?: string | null
  readonly model?: string | null
  /** Number of the last step, even if it has no calls. */
  readonly step?: number
  readonly steps?: readonly {
    readonly step: number
    readonly texts: readonly { readonly kind: 'commentary' | 'notice'; readonly text: string }[]
    readonly calls: readonly {
      readonly callId: string
      readonly tool: string
      readonly args?: unknown
      readonly outcome?: string | null
      readonly message?: string | null
      readonly result?: string | null
      readonly truncated?: boolean | null
      readonly durationMs?: number | null
    }[]
  }[]
  readonly approvals?: readonly (Omit<ApprovalEvent, 'type' | 'id' | 'sessionId' | 'time'> & { readonly id?: string })[]
  readonly files?: readonly ChangedFile[]
  readonly requests?: number
  readonly usage?: RunUsage | null
}

/** A text of the model, or a notice of the run. */
export interface TextPart {
  readonly kind: 'text'
  readonly key: string
  readonly fragment: FragmentKind
  readonly text: string
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

export interface ApprovalPart {
  readonly kind: 'approval'
  readonly key: string
  readonly approvalId: string
  readonly tool: string
  readonly state: ApprovalState
  readonly diff?: string
  readonly argv?: readonly string[]
  readonly cwd?: string
  readonly widening?: string
  readonly notes?: readonly string[]
  readonly paths?: readonly string[]
  readonly files?: readonly IntendedFile[]
  readonly reads?: readonly string[]
  readonly args?: unknown
  readonly decisions?: readonly ('once' | 'run' | 'refuse')[]
  /** Whether the diff or the arguments are shortened. */
  readonly truncated?: boolean
}

export type RunPart = TextPart | ToolPart | ApprovalPart

export interface RunEnd {
  readonly outcome: string
  readonly reason: string
  readonly summary: string
  readonly model?: string
  readonly steps?: number
  readonly requests?: number
  readonly files: readonly ChangedFile[]
  readonly usage?: RunUsage
}

/** A message and its run. */
export interface RunItem {
  readonly kind: 'run'
  readonly key: string
  /** ISO 8601; '' if unknown. */
  readonly time: string
  readonly mode: Mode
  readonly text: string
  /** The provider that wrote the message. Undefined for a message of the user. */
  readonly provider?: string
  readonly attachments: readonly string[]
  readonly parts: readonly RunPart[]
  /** Undefined while the run is in progress. */
  readonly end?: RunEnd
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

/** A request in `GET /requests`. */
export interface RequestRow {
  readonly id: string
  readonly time: string
  readonly client: string | null
  readonly user_agent: string | null
  readonly key: string | null
  readonly api: string | null
  readonly method: string | null
  readonly path: string | null
  readonly asked_model: string | null
  readonly model: string | null
  readonly route: string | null
  readonly fallback: string | null
  readonly status: number
  readonly http_status: number
  readonly failed: boolean
  readonly stream: boolean | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cached_input_tokens: number | null
  readonly credits: number | null
  readonly estimated: boolean
  readonly first_byte_ms: number | null
  readonly duration_ms: number | null
  readonly warnings: readonly string[]
  readonly adapted: readonly string[]
  readonly error: string | null
  readonly upstream_request_id: string | null
}

/** The body of `GET /requests/{id}`. */
export interface RequestDetail extends RequestRow {
  readonly bodies: 'kept' | 'not_kept'
  readonly request_headers: Readonly<Record<string, string>> | null
  readonly request_body: string | null
  readonly request_body_truncated: boolean
  readonly answer_body: string | null
  readonly answer_body_truncated: boolean
}

/** An element of `by_day` in `GET /usage`. */
export interface DayUsage {
  readonly day: string
  readonly requests: number
  readonly errors: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly credits: number | null
}

/** An element of `by_session` in `GET /usage`. */
export interface SessionUsage {
  readonly session: string | null
  readonly client: string | null
  readonly key: string | null
  readonly last_day: string
  readonly requests: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly credits: number | null
  readonly estimated: boolean
}

/** An element of `budgets` in `GET /usage`. */
export interface BudgetUse {
  readonly period: 'day' | 'month'
  readonly limit: number
  readonly used: number
  readonly state: 'ok' | 'warning' | 'spent' | 'lifted'
}
