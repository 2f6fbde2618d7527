import type { Config } from '../config/schema.ts'
import { Fault } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import type { Runs } from './runs.ts'
import type { SessionEvent } from './session-event.ts'
import type { Rows } from './session-store.ts'
import type { Push, Sessions } from './sessions.ts'

export interface PushesDeps {
  readonly config: () => Config
  readonly runs: Pick<Runs, 'onEnd'> & Pick<Sessions, 'start'>
  readonly save: (rows: Rows) => void
  /** Publishes an event and stores rows together with it. */
  readonly publish: (sessionId: string, owner: null, event: SessionEvent, rows: Rows) => void
  /** Ms since epoch. */
  readonly now: () => number
  readonly log: Pick<Logger, 'warn'>
}

/** Maximum number of texts that wait for the end of a run. The next message leaves out the oldest of more texts. */
const maxWaiting = 50

/** Maximum length of one text and of all waiting texts of a session. Characters. */
const maxText = 64 * 1024

/**
 * Handles pushes of providers. Injected texts start one run at a time in each session; the texts that arrive meanwhile become
 * one message, which starts the next run. No key has made a push, so only the owner of the daemon sees it.
 */
export function createPushes({ config, runs, save, publish, now, log }: PushesDeps): (push: Push) => void {
  /** The pushes that wait for the end of an injected run, by session id. */
  const waiting = new Map<string, { readonly pushes: Push[]; dropped: number }>()

  function inject(sessionId: string, pushes: readonly Push[], dropped: number): void {
    const { enabled, requireApproval } = config().agent
    // A provider is not the user, so its texts may cause changes only if a person has to approve them.
    const mode = enabled && requireApproval ? 'agent' : 'chat'
    const left = dropped === 0 ? '' : `(${dropped} earlier events were left out.)\n\n`
    const text = left + pushes.map(toMessage).join('\n\n')
    const queue = { pushes: [], dropped: 0 }
    waiting.set(sessionId, queue)
    try {
      const provider = pushes[0]?.provider
      const { id } = runs.start({
        sessionId,
        text,
        mode,
        attachments: [],
        origin: 'provider',
        provider,
        key: undefined,
      })
      runs.onEnd(id, () => next(sessionId))
    } catch (error) {
      waiting.delete(sessionId)
      if (!(error instanceof Fault)) throw error
      log.warn({ session: sessionId, reason: error.error }, 'a text of a tool program starts no run')
    }
  }

  function next(sessionId: string): void {
    const queue = waiting.get(sessionId)
    waiting.delete(sessionId)
    if (queue !== undefined && queue.pushes.length > 0) inject(sessionId, queue.pushes, queue.dropped)
  }

  return (push) => {
    const { sessionId, provider, stream, level, metadata } = push
    const text = push.text.slice(0, maxText)
    const data = { provider, level, text, ...(metadata !== undefined && { metadata }) }
    const rows = { entry: { session: sessionId, owner: null, stream, timeMs: now(), data: JSON.stringify(data) } }
    if (level === 'keep') return save(rows)
    publish(sessionId, null, { type: 'push', stream, ...data, level }, rows)
    if (level !== 'inject') return
    const queue = waiting.get(sessionId)
    if (queue === undefined) return inject(sessionId, [push], 0)
    queue.pushes.push(push)
    let length = 0
    for (const each of queue.pushes) length += each.text.length
    while (queue.pushes.length > maxWaiting || (length > maxText && queue.pushes.length > 1)) {
      length -= queue.pushes.shift()?.text.length ?? 0
      queue.dropped += 1
    }
  }
}

function toMessage({ provider, stream, text }: Push): string {
  return `Event from the tool program ${JSON.stringify(provider)} (stream ${JSON.stringify(stream)}), not from the user:\n\n${text.slice(0, maxText)}`
}
