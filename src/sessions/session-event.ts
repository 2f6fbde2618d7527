import type { AgentEvent, FileCount } from '../agent/agent-event.ts'
import type { RunOutcome, RunUsage } from '../agent/agent-task.ts'

export type RunMode = 'chat' | 'agent'

/** What happens in a session, as `GET /events` tells it. */
export type SessionEvent = RunEvent | PlainEvent

/** `id`: of the run, which is the message's. `truncated`: a text or the arguments were cut. */
export type RunEvent = { readonly id: string; readonly truncated?: boolean } & (InboundEvent | AgentEvent | DoneEvent)

type PlainEvent = PushEvent | LifecycleEvent | ErrorEvent

/** A message arrived: the first event of its run. */
interface InboundEvent {
  readonly type: 'inbound'
  readonly text: string
  readonly mode: RunMode
  /** As the message names it. */
  readonly model?: string
  readonly origin: 'user' | 'provider'
  readonly provider?: string
  readonly attachments?: readonly { readonly name: string; readonly mediaType: string }[]
}

/** The last event of every run. */
export interface DoneEvent {
  readonly type: 'done'
  readonly outcome: RunOutcome
  readonly reason: string
  readonly summary: string
  readonly answer: string
  readonly model?: string
  readonly steps: number
  readonly requests: number
  readonly files: readonly FileCount[]
  readonly usage: ReportedUsage
}

/** With AI credits in place of their billionths. */
export type ReportedUsage = Omit<RunUsage, 'nanoAiu'> & { readonly credits?: number }

/** A provider says something, at a level that reaches people. */
interface PushEvent {
  readonly type: 'push'
  readonly provider: string
  readonly stream: string
  readonly level: 'surface' | 'inject'
  readonly text: string
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** `started`: a run began. `idle`: the last one ended. */
interface LifecycleEvent {
  readonly type: 'lifecycle'
  readonly state: 'added' | 'removed' | 'started' | 'idle' | 'shutdown'
  /** Of the session. */
  readonly name?: string
}

/** A failure that ends no run. */
interface ErrorEvent {
  readonly type: 'error'
  readonly code: string
  readonly message: string
}

export function reportUsage({ nanoAiu, ...tokens }: RunUsage): ReportedUsage {
  return nanoAiu === undefined ? tokens : { ...tokens, credits: nanoAiu / 1e9 }
}
