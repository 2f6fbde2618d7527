import type { Caller, CallerKey } from '../config/caller.ts'
import type { EditorAbility } from '../api/inputs.ts'
import type { ApprovalDecision, MessageEntry, OpenRun, RunMode, RunReport, RunState } from '../api/run.ts'
import type { StreamEntry, StreamSummary } from '../api/sessions.ts'
import type { Attachment } from '../api/inputs.ts'
import type { AuditLine } from '../tools/create-tools.ts'
import type { EditorAnswer } from '../workspace/open-files.ts'
import type { Conversations } from './conversations.ts'
import type { EventHub } from './event-hub.ts'
import type { Page } from './session-store.ts'

export interface NewMessage {
  readonly sessionId: string
  /** Undefined: the conversation of the key that was used last, or a new one. */
  readonly conversationId?: string | undefined
  /** The text of the message without the agent prefix. */
  readonly text: string
  /** Whether the message gets a run of its own while another one of its conversation is in progress. */
  readonly queue?: boolean | undefined
  readonly mode: RunMode
  readonly model?: string | undefined
  readonly maxSteps?: number | undefined
  readonly maxCredits?: number | undefined
  readonly attachments: readonly Attachment[]
  readonly origin: 'user' | 'provider'
  readonly provider?: string | undefined
  readonly key: CallerKey | undefined
  /** What the editor of the caller does: it tells the texts of open files, or it takes texts too. */
  readonly editor?: EditorAbility | undefined
}

export interface Accepted {
  /** Of the message, and of its run unless it joined another one. */
  readonly id: string
  readonly conversationId: string
  /** The run that the message joined. */
  readonly runId?: string
}

/**
 * An unsolicited text of a provider. All levels store it in the stream. `surface` also sends it to people, and `inject` also
 * to people and the model.
 */
export interface Push {
  readonly sessionId: string
  readonly provider: string
  readonly stream: string
  readonly level: 'keep' | 'surface' | 'inject'
  readonly text: string
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/**
 * The messages, runs, approvals, streams and events of all sessions. A Fault `session_refused` states the problem. A key sees
 * and decides only what it made: for all else, the answer is that of an id that does not exist. Without configured keys, a
 * caller sees everything, and `owner_required` is the answer to its decisions.
 */
export interface Sessions {
  /**
   * Problems: `too_many_runs`, `agent_disabled`, `session_not_found`, `conversation_not_found`, `conversation_of_other`.
   */
  readonly start: (message: NewMessage) => Accepted
  readonly conversations: Omit<Conversations, 'of'>
  readonly cancel: (runId: string, caller: Caller) => RunState
  readonly decide: (approvalId: string, decision: ApprovalDecision, caller: Caller) => ApprovalDecision
  /** Takes the answer to an event `editor` of a run. Problem: `request_not_found`. */
  readonly answerEditor: (runId: string, requestId: string, answer: EditorAnswer, caller: Caller) => void
  readonly run: (runId: string, caller: Caller) => Promise<RunReport>
  /** @param conversation undefined: the messages of all conversations */
  readonly messages: (
    sessionId: string,
    page: Page & { readonly conversation?: string | undefined },
    caller: Caller,
  ) => Promise<readonly MessageEntry[]>
  readonly openRuns: (sessionId: string, caller: Caller) => readonly OpenRun[]
  /**
   * Deletes the messages, runs, events and stream entries of a session so far: those of the key, or all for the owner of the
   * daemon. Problem: `run_in_progress`.
   */
  readonly forget: (sessionId: string, caller: Caller) => Promise<void>
  readonly streams: (sessionId: string, caller: Caller) => readonly StreamSummary[]
  readonly entries: (sessionId: string, stream: string, page: Page, caller: Caller) => readonly StreamEntry[]
  readonly listen: (
    sink: Parameters<EventHub['listen']>[0],
    options: { readonly session?: string | undefined; readonly after?: number | undefined; readonly caller: Caller },
  ) => ReturnType<EventHub['listen']>
  readonly push: (push: Push) => void
  /** Adds the audit line of a tool call to the stream `tool-calls` of the session. @param ownerId the id of the caller's key */
  readonly recordCall: (sessionId: string, line: AuditLine, ownerId: string | undefined) => void
  /** Calls `listener` when a run of a session starts and when its last one has ended. Returns a function that unsubscribes. */
  readonly lifecycle: (listener: (sessionId: string, state: 'started' | 'idle') => void) => () => void
  /** Cancels all runs. Resolves when they have ended and their last events are sent, at the latest after `graceMs`. */
  readonly stop: (graceMs: number) => Promise<void>
  readonly close: () => void
}
