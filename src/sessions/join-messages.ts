import type { RunMode } from '../api/run.ts'
import { refused } from './refused.ts'
import type { Part } from './run-record.ts'
import { factsOf, type Joined, type Run } from './running.ts'
import type { RunEvent } from './session-event.ts'
import type { Accepted, NewMessage } from './sessions.ts'

export interface Joining {
  /** Adds the message to a run in progress. Returns undefined if it joins none. Problem: `too_many_runs` */
  readonly join: (message: NewMessage, conversation: string) => Accepted | undefined
  /** The next request of the run has the messages with these ids. */
  readonly noteRead: (run: Run, ids: readonly string[], step: number) => void
  /**
   * Opens runs for the messages that joined an ended run and that no model has read. They are stored before the end of that run, so
   * that no crash loses them.
   */
  readonly continueAfter: (ended: Run) => readonly Run[]
}

interface JoiningDeps {
  readonly runsOf: (sessionId: string) => readonly Run[]
  readonly save: (run: Run) => void
  /** Publishes a message of the run and stores the run together with it. */
  readonly publish: (run: Run, event: Extract<RunEvent, { readonly type: 'inbound' }>) => void
  /** Tells people something of the run. */
  readonly notify: (run: Run, text: string, step: number) => void
  /** Opens a run of its own for a message that joined an ended run. */
  readonly open: (joined: Joined, ended: Run) => Run
  readonly randomId: () => string
  /** Ms since epoch. */
  readonly now: () => number
}

/** Maximum number of messages that joined a run and were not read yet. */
const maxJoined = 20

/** The messages that join runs in progress: read at the next step of a run, or continued by a run of their own. */
export function createJoining({ runsOf, save, publish, notify, open, randomId, now }: JoiningDeps): Joining {
  /** Returns the run that a message joins. */
  function hostOf({ sessionId, origin, queue, mode }: NewMessage, conversation: string): Run | undefined {
    if (queue === true || origin === 'provider') return undefined
    return runsOf(sessionId).find(
      (run) => run.conversation === conversation && run.message.origin === 'user' && takes(run, mode),
    )
  }

  /** Adds a message to a run. It is stored before the caller gets an answer. */
  function add(run: Run, { id, message }: Joined): void {
    const facts = factsOf(message)
    const { text, attachments } = facts
    run.joined = [...run.joined, { id, message }]
    const time = new Date(now()).toISOString()
    run.data.joined = [...(run.data.joined ?? []), { id, text, ...(attachments && { attachments }), time }]
    publish(run, { id, runId: run.id, conversationId: run.conversation, type: 'inbound', ...facts })
    run.deliver?.({ id, text, attachments: message.attachments })
  }

  function noteRead(run: Run, ids: readonly string[], step: number): void {
    run.joined = run.joined.filter(({ id }) => !ids.includes(id))
    run.data.joined = run.data.joined?.map((each) => (ids.includes(each.id) ? { ...each, step } : each))
    save(run)
    notify(run, 'The model reads what you sent meanwhile.', step)
  }

  function continueAfter(ended: Run): readonly Run[] {
    const next: Run[] = []
    ended.data.joined = ended.data.joined?.filter(({ step }) => step !== undefined)
    for (const joined of ended.joined) {
      const host = next.at(-1)
      if (host !== undefined && takes(host, joined.message.mode)) add(host, joined)
      else next.push(open(joined, ended))
    }
    return next
  }

  return {
    join(message, conversation) {
      const host = hostOf(message, conversation)
      if (host === undefined) return undefined
      if (host.joined.length >= maxJoined) throw refused('too_many_runs')
      const id = randomId()
      add(host, { id, message })
      return { id, conversationId: conversation, runId: host.id }
    },
    noteRead,
    continueAfter,
  }
}

/**
 * Whether a message of this mode may join the run. One for the agent joins no chat, which has only tools that read. One that asks for
 * a plan joins no run that may change files.
 */
function takes({ data, parts }: Run, mode: RunMode): boolean {
  if (mode === 'chat') return true
  if (mode === 'agent') return data.mode !== 'chat'
  return data.mode === 'plan' && ![...parts.values()].some(isAcceptedPlan)
}

function isAcceptedPlan({ kind, data }: Part): boolean {
  return kind === 'approval' && data['plan'] !== undefined && data['state'] === 'once'
}
