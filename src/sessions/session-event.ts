import type { AgentEvent, FileCount } from '../agent/agent-event.ts'
import type { RunOutcome, RunUsage } from '../agent/agent-task.ts'

/** The owner of an event that every caller may see, because it is about a workspace. No id of a key looks like it. */
export const everyone = '*'

export type RunMode = 'chat' | 'agent'

/** An event of a session, as `GET /events` sends it. */
export type SessionEvent = RunEvent | PlainEvent

/** `id` is the id of the run and of its message. `truncated`: `capEvent` has shortened a text or dropped the arguments. */
export type RunEvent = { readonly id: string; readonly truncated?: boolean } & (InboundEvent | AgentEvent | DoneEvent)

type PlainEvent = PushEvent | LifecycleEvent | ErrorEvent

/** A message arrived: the first event of its run. */
interface InboundEvent {
  readonly type: 'inbound'
  readonly text: string
  readonly mode: RunMode
  /** The model that the message names. */
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

/** The usage of a run, with AI credits instead of billionths of them. */
export type ReportedUsage = Omit<RunUsage, 'nanoAiu'> & { readonly credits?: number }

/** A push of a provider at the level `surface` or `inject`, which people see. */
interface PushEvent {
  readonly type: 'push'
  readonly provider: string
  readonly stream: string
  readonly level: 'surface' | 'inject'
  readonly text: string
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** `started`: a run has begun. `idle`: the last run in progress has ended. */
interface LifecycleEvent {
  readonly type: 'lifecycle'
  readonly state: 'added' | 'removed' | 'started' | 'idle' | 'shutdown'
  /** Name of the session. */
  readonly name?: string
}

/** A failure outside of a run, e.g. a full disk. */
interface ErrorEvent {
  readonly type: 'error'
  readonly code: string
  readonly message: string
}

export function reportUsage({ nanoAiu, ...tokens }: RunUsage): ReportedUsage {
  return nanoAiu === undefined ? tokens : { ...tokens, credits: nanoAiu / 1e9 }
}
