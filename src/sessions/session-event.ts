import type { RunUsage } from '../agent/agent-task.ts'
import type { DaemonEvent } from '../api/events.ts'
import type { RunUsage as ReportedUsage } from '../api/run.ts'

/** The owner of an event that every caller may see, because it is about a workspace. No id of a key looks like it. */
export const everyone = '*'

/** An event of a session. The event hub adds the session's id and the time. */
export type SessionEvent = Published<Exclude<DaemonEvent, { readonly type: 'gap' }>>

/** `id` is the id of the run and of its message. `truncated`: `capEvent` has shortened a text or dropped the arguments. */
export type RunEvent = Extract<SessionEvent, { readonly id: string }>

/** Distributes over the events of a union. */
type Published<Event> = Event extends unknown ? Omit<Event, 'sessionId' | 'time'> : never

export function reportUsage({ nanoAiu, ...tokens }: RunUsage): ReportedUsage {
  return nanoAiu === undefined ? tokens : { ...tokens, credits: nanoAiu / 1e9 }
}
