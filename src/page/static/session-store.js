/** @import { ChangeList } from '../../api/changes.ts' */
/** @import { DaemonEvent } from '../../api/events.ts' */
/** @import { MessageEntry, RunReport } from '../../api/run.ts' */
/** @import { SessionEntry } from '../../api/sessions.ts' */
/** @import { Timeline } from '../timeline.ts' */
/** @import { StreamEvent } from './event-parser.js' */
import { ask } from './api.js'
import { emptyTimeline, foldChanges, foldEvent, foldHistory, foldReport } from './fold-events.js'

/** Number of messages that the page reads when a session is opened. */
const historyLength = 50

/**
 * Keeps the list of sessions, and a timeline of each session from its events.
 * @param {object} options
 * @param {() => void} options.onChange called many times a second while a model writes
 * @param {(event: DaemonEvent) => void} options.onEvent
 */
export function createSessionStore({ onChange, onEvent }) {
  /** @type {readonly SessionEntry[]} */
  let sessions = []
  /** @type {Map<string, Timeline>} */
  const timelines = new Map()
  /**
   * The conversations whose history was read, by their ids; '' stands for all of a session.
   * @type {Map<string, { readonly id: string, readonly conversation: string }>}
   */
  const read = new Map()

  /** @param {string} id */
  const timelineOf = (id) => timelines.get(id) ?? emptyTimeline

  /**
   * @param {string} id
   * @param {(timeline: Timeline) => Timeline} toNext
   */
  function change(id, toNext) {
    timelines.set(id, toNext(timelineOf(id)))
    onChange()
  }

  async function readSessions() {
    sessions = (await ask('sessions')).sessions
    onChange()
  }

  /** Reads the reports of runs that began before the page received events. */
  async function readRunning() {
    for (const { id, runs } of sessions) {
      if (runs.length === 0) continue
      await readHistory(id)
      for (const run of runs) await readRun(run.id, id)
    }
  }

  /** @param {string} id @param {string} [conversation] */
  async function readHistory(id, conversation = '') {
    const key = `${id} ${conversation}`
    read.set(key, { id, conversation })
    const only = conversation === '' ? '' : `&conversation=${encodeURIComponent(conversation)}`
    try {
      /** @type {{ messages: readonly MessageEntry[] }} */
      const { messages } = await ask(`sessions/${encodeURIComponent(id)}/messages?limit=${historyLength}${only}`)
      change(id, (timeline) => foldHistory(timeline, messages))
      void readChanges(id).catch(() => undefined)
    } catch (error) {
      read.delete(key)
      throw error
    }
  }

  /**
   * Reads what the runs of a session have changed, and what of it is undone.
   * @param {string} id
   */
  async function readChanges(id) {
    /** @type {ChangeList} */
    const { changes } = await ask(`sessions/${encodeURIComponent(id)}/changes?diff=false`)
    change(id, (timeline) => foldChanges(timeline, changes))
  }

  /** @param {string} runId @param {string} sessionId */
  async function readRun(runId, sessionId) {
    /** @type {RunReport} */
    const report = await ask(`runs/${encodeURIComponent(runId)}`)
    change(sessionId, (timeline) => foldReport(timeline, report))
  }

  /** Reads the shown history of each session again after events were lost. */
  async function recover() {
    for (const { id, conversation } of read.values()) {
      await readHistory(id, conversation)
      const running = timelineOf(id).items.filter((item) => item.kind === 'run' && item.end === undefined)
      for (const { key } of running) await readRun(key, id)
    }
  }

  return {
    sessions: () => sessions,
    timelineOf,
    readSessions,
    readRunning,
    readRun,
    readChanges,
    /** @param {string} id @param {string} conversation */
    async openHistory(id, conversation) {
      if (!read.has(`${id} ${conversation}`)) await readHistory(id, conversation)
    },
    /** @param {string} id @param {string} conversation */
    forgetConversation(id, conversation) {
      change(id, ({ items }) => ({
        items: items.filter((item) => item.kind !== 'run' || item.conversationId !== conversation),
      }))
    },
    /** @param {string} id @param {readonly string[]} runs */
    forgetRuns(id, runs) {
      change(id, ({ items }) => ({ items: items.filter((item) => item.kind !== 'run' || !runs.includes(item.key)) }))
    },
    /** @param {string} id */
    forgetHistory(id) {
      change(id, ({ items }) => ({ items: items.filter((item) => item.kind === 'run' && item.end === undefined) }))
    },
    /** @param {StreamEvent} received */
    receive({ id, event: type, data }) {
      const event = toEvent(type, data)
      if (event === undefined) return
      if (event.type === 'gap') {
        for (const session of new Set(Array.from(read.values(), (each) => each.id)))
          change(session, (timeline) => foldEvent(timeline, event, `event ${event.to} ${session}`))
        void recover().catch(() => undefined)
        return
      }
      if (event.type === 'lifecycle') {
        if (event.state === 'added' || event.state === 'removed') void readSessions().catch(() => undefined)
        if (event.state === 'started' || event.state === 'idle') return
      }
      change(event.sessionId, (timeline) => foldEvent(timeline, event, `event ${id}`))
      if (event.type === 'done' && event.files.length > 0) void readChanges(event.sessionId).catch(() => undefined)
      onEvent(event)
    },
  }
}

const types = new Set([
  'inbound',
  'fragment',
  'instructions',
  'usage',
  'compaction',
  'tool',
  'approval',
  'diff',
  'plan',
  'done',
  'push',
  'lifecycle',
  'error',
  'gap',
])

/**
 * @param {string} type
 * @param {string} data
 * @returns {DaemonEvent | undefined} undefined for an unknown type of a newer daemon
 */
function toEvent(type, data) {
  if (!types.has(type)) return undefined
  const fields = JSON.parse(data)
  // The daemon that sent the event also serves this page, so both have the same version and need no validation.
  return { ...fields, type }
}
