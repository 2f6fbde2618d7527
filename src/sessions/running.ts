import type { JoinedMessage } from '../agent/agent-task.ts'
import type { ApprovalDecision, OpenRun, RunState } from '../api/run.ts'
import type { Session } from '../tools/session.ts'
import type { EditorAnswer } from '../workspace/open-files.ts'
import type { GatheredText } from './gather-text.ts'
import type { Part, RunData } from './run-record.ts'
import type { NewMessage } from './sessions.ts'

/** A run in progress. */
export interface Run {
  readonly id: string
  readonly session: Session
  /** The id of the key that made it. Null: made without a key. */
  readonly owner: string | null
  readonly conversation: string
  readonly message: NewMessage
  readonly data: RunData
  readonly startedMs: number
  readonly controller: AbortController
  readonly parts: Map<string, Part>
  /** Functions that pass the decision of a pending approval to the agent, by approval id. */
  readonly approvals: Map<string, (decision: ApprovalDecision) => void>
  /** Functions that take what the caller's editor answers, by request id. */
  readonly editorRequests: Map<string, (answer: EditorAnswer) => void>
  readonly ended: PromiseWithResolvers<void>
  /** The answer as it arrives. */
  readonly text: GatheredText
  /** The messages that joined the run and that no model has read yet. */
  joined: readonly Joined[]
  /** Passes a message to the agent. Undefined until the agent has started. */
  deliver: ((message: JoinedMessage) => void) | undefined
  state: RunState
  /** The reason for the cancellation. */
  cancelReason: string | undefined
}

/** A message that joined a run. */
export interface Joined {
  readonly id: string
  readonly message: NewMessage
}

/** What a message says, without the contents of its attachments. */
export function factsOf({ text, mode, model, origin, provider, attachments: attached }: NewMessage) {
  const attachments = attached.map(({ name, mediaType }) => ({ name, mediaType }))
  return {
    mode,
    text,
    origin,
    ...(model !== undefined && { model }),
    ...(provider !== undefined && { provider }),
    ...(attachments.length > 0 && { attachments }),
  }
}

export function toOpen({ id, conversation: conversationId, data: { mode, step }, state, startedMs }: Run): OpenRun {
  return { id, conversationId, mode, step, state, startedAt: new Date(startedMs).toISOString() }
}
