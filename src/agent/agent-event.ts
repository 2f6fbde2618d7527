import type { DaemonEvent } from '../api/events.ts'

/** An event that a run emits. The session adds the ids of the run, its conversation and its session, and the time. */
export type AgentEvent = Emitted<
  Extract<
    DaemonEvent,
    { readonly type: 'fragment' | 'instructions' | 'compaction' | 'tool' | 'approval' | 'diff' | 'plan' }
  >
>

/** Distributes over the events of a union. */
type Emitted<Event> = Event extends unknown ? Omit<Event, 'id' | 'sessionId' | 'conversationId' | 'time'> : never

export type FragmentEvent = Extract<AgentEvent, { readonly type: 'fragment' }>
