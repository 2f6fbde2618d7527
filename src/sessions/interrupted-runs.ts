import { z } from 'zod'
import type { JoinedMessage } from '../api/run.ts'
import type { FileChange } from '../agent/agent-task.ts'
import { capDiffs } from './cap-event.ts'
import { interruptedItems } from './interrupted-items.ts'
import type { ChangesSince } from './journal-changes.ts'
import { filesOfDiffs, runData, toDone, toPartRow, usedBy, type Part, type RunData, type RunEnd } from './run-record.ts'
import type { RunEvent } from './session-event.ts'
import type { PartRow, Rows, RunRow } from './session-store.ts'
import { parseJson } from '../json/json.ts'

export interface InterruptedRunsDeps {
  readonly partsOf: (run: string) => readonly Part[]
  /** Returns changes of a session's journal, or undefined if it is not open. */
  readonly changes: (sessionId: string, since: ChangesSince) => Promise<readonly FileChange[] | undefined>
  readonly save: (rows: Rows) => void
  /** Publishes an event and stores rows together with it. */
  readonly publish: (sessionId: string, owner: string | null, event: RunEvent, rows: Rows) => void
  readonly randomId: () => string
  /** Ms since epoch. */
  readonly now: () => number
}

/** Ends runs that an earlier process has left unfinished, and reports their changes. */
export async function endInterruptedRuns(rows: readonly RunRow[], deps: InterruptedRunsDeps): Promise<void> {
  for (const row of rows) {
    const stored = parseRunData(row)
    if (stored === undefined) continue
    const unread = (stored.joined ?? []).filter(({ step }) => step === undefined)
    const data = { ...stored, ...(stored.joined && { joined: stored.joined.filter((each) => !unread.includes(each)) }) }
    // Stored before the end of the run, so that another crash loses none.
    const waiting = unread.map((message) => openUnread(message, row, data, deps))
    const parts = deps.partsOf(row.id)
    for (const part of parts) {
      if (part.kind !== 'approval' || part.data['state'] !== 'pending') continue
      deps.save({ part: toPartRow(row.id, { ...part, data: { ...part.data, state: 'expired' } }) })
    }
    const files = await changedFiles(row, parts, deps)
    const end: RunEnd = {
      outcome: 'interrupted',
      reason:
        row.state === 'queued'
          ? 'copilot-proxy stopped before the run started.'
          : 'copilot-proxy stopped in the middle of the run.',
      summary: summarise(files, commandsOf(parts)),
      answer: '',
      ...usedBy(data),
      files: capDiffs(files),
    }
    const step = Math.max(
      data.step,
      ...parts.map((part) => (typeof part.data['step'] === 'number' ? part.data['step'] : 0)),
    )
    const run: RunRow = { ...row, state: 'ended', endedMs: deps.now(), data: JSON.stringify({ ...data, step, end }) }
    const items = JSON.stringify(interruptedItems(data, end, parts, deps.randomId()))
    deps.publish(row.session, row.owner, toDone(row, step, end), {
      run,
      items: { run: row.id, session: row.session, owner: row.owner, data: items },
    })
    for (const endUnread of waiting) endUnread()
  }
}

/**
 * Stores a message that joined the run, and that no model has read, as a message with a run of its own: people see it and can send
 * it again. Returns a function that ends that run.
 */
function openUnread(
  { id, text, attachments, time }: JoinedMessage,
  { session, owner, conversation }: RunRow,
  { mode, origin }: RunData,
  { publish, randomId, now }: InterruptedRunsDeps,
): () => void {
  const facts = { mode, text, origin, ...(attachments && { attachments: [...attachments] }) }
  const data: RunData = { ...facts, step: 0 }
  const row = { id, session, owner, conversation, startedMs: Date.parse(time), endedMs: null }
  const queued: RunRow = { ...row, state: 'queued', data: JSON.stringify(data) }
  publish(session, owner, { type: 'inbound', id, conversationId: conversation, ...facts }, { run: queued })
  return () => {
    const reason = 'copilot-proxy stopped before a model read the message.'
    const end: RunEnd = { outcome: 'interrupted', reason, summary: reason, answer: '', files: [], ...usedBy(data) }
    const items = JSON.stringify(interruptedItems(data, end, [], randomId()))
    publish(session, owner, toDone(row, 0, end), {
      run: { ...row, state: 'ended', endedMs: now(), data: JSON.stringify({ ...data, end }) },
      items: { run: id, session, owner, data: items },
    })
  }
}

/** Returns the recorded changes and those only in the journal: the process may have ended between a change and its record. */
async function changedFiles(
  { session, startedMs, state, owner }: RunRow,
  parts: readonly Part[],
  { changes }: InterruptedRunsDeps,
): Promise<readonly FileChange[]> {
  const recorded = filesOfDiffs(parts)
  const writes = parts.filter(({ kind, data }) => kind === 'call' && data['outcome'] === undefined)
  // Without a call in progress, unrecorded changes in the journal belong to somebody else.
  if (state === 'queued' || writes.length === 0) return recorded
  const exceptIds = new Set(parts.flatMap(({ kind, key }) => (kind === 'diff' ? key : [])))
  const unrecorded = (await changes(session, { fromMs: startedMs, exceptIds, ownerId: owner })) ?? []
  const known = new Set(recorded.map(({ path }) => path))
  return [...recorded, ...unrecorded.filter(({ path }) => !known.has(path))]
}

function summarise(files: readonly FileChange[], commands: readonly string[]): string {
  const lines = files.map(({ path, change, added, removed }) => `- ${path}: ${change}, +${added} −${removed}`)
  return [
    ...(files.length === 0 ? ['No file was changed.'] : ['Changed before the end:', ...lines]),
    ...(commands.length === 0 ? [] : ['Commands that were run, which may have changed more files:', ...commands]),
  ].join('\n')
}

const commandCall = z.object({
  tool: z.enum(['mcp.shell.run', 'mcp.task.run']),
  args: z.union([
    z.object({ argv: z.array(z.string()) }).transform(({ argv }) => argv.join(' ')),
    z.object({ cmd: z.string() }).transform(({ cmd }) => cmd),
    z.object({ name: z.string() }).transform(({ name }) => `task ${name}`),
  ]),
  outcome: z.string().optional(),
  message: z.string().optional(),
})

/** Lists the commands of a run. One that was in progress may have continued after this program stopped. */
function commandsOf(parts: readonly Part[]): readonly string[] {
  const waiting = new Set(
    parts.flatMap(({ kind, data }) => {
      const isOpen = kind === 'approval' && (data['state'] === 'pending' || data['state'] === 'refuse')
      return isOpen ? [data['callId']] : []
    }),
  )
  return parts.flatMap(({ kind, data }) => {
    const { success, data: found } = commandCall.safeParse(kind === 'call' ? data : undefined)
    if (!success || waiting.has(data['callId'])) return []
    if (found.outcome === undefined) return [`- ${found.args} → unknown: it may still have been running`]
    return found.outcome === 'ok' ? [`- ${found.args} → ${found.message ?? 'ended'}`] : []
  })
}

export function parseRunData({ data }: Pick<RunRow, 'data'>) {
  return runData.safeParse(parseJson(data)).data
}

const partData = z.record(z.string(), z.unknown())

export function parsePart({ kind, key, data }: PartRow): Part | undefined {
  const parsed = partData.safeParse(parseJson(data)).data
  return parsed && { kind, key, data: parsed }
}
