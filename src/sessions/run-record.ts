import { z } from 'zod'
import {
  contextUse,
  fileCount,
  instructionFile,
  planItem,
  joinedMessage,
  recordedApproval,
  recordedCall,
  runMode,
  runOutcome,
  runState,
} from '../api/run.ts'
import type { FileCount, MessageEntry, RunReport } from '../api/run.ts'
import type { FileChange } from '../agent/agent-task.ts'
import { capRecord } from './cap-event.ts'
import { reportUsage, type RunEvent } from './session-event.ts'
import type { PartRow, RunRow } from './session-store.ts'

const usage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cachedInputTokens: z.number(),
  nanoAiu: z.number().optional(),
})

/** The stored data of a run without its parts. */
export const runData = z.object({
  mode: runMode,
  text: z.string(),
  /** The model that the message names. */
  model: z.string().optional(),
  origin: z.enum(['user', 'provider']),
  provider: z.string().optional(),
  attachments: z.array(z.object({ name: z.string(), mediaType: z.string() })).optional(),
  joined: z.array(joinedMessage).optional(),
  step: z.number(),
  instructions: z.array(instructionFile).optional(),
  /** The requests and usage so far. */
  progress: z
    .object({ requests: z.number(), usage, context: contextUse.optional(), model: z.string().optional() })
    .optional(),
  end: z
    .object({
      outcome: runOutcome,
      reason: z.string(),
      summary: z.string(),
      answer: z.string(),
      model: z.string().optional(),
      requests: z.number(),
      files: z.array(fileCount.extend({ diff: z.string() })),
      usage,
      context: contextUse.optional(),
    })
    .optional(),
})
export type RunData = z.infer<typeof runData>
export type RunEnd = NonNullable<RunData['end']>

/** Returns the usage of a run that ends without an outcome of the agent. */
export function usedBy({ progress }: RunData): Pick<RunEnd, 'requests' | 'usage' | 'context' | 'model'> {
  return progress ?? { requests: 0, usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 } }
}

/** Maximum length of all texts of one kind in a step. Characters. */
const maxStepText = 16 * 1024

const call = recordedCall.extend({ step: z.number() })
const stepText = z.object({ step: z.number(), kind: z.enum(['commentary', 'notice']), text: z.string() })
const planPart = z.object({ items: z.array(planItem) })
const diff = z.object({ patchId: z.string(), diff: z.string(), files: z.array(fileCount) })

export type Part = Pick<PartRow, 'kind' | 'key'> & { readonly data: Readonly<Record<string, unknown>> }

export function toPartRow(run: string, { kind, key, data }: Part): PartRow {
  return { run, kind, key, data: JSON.stringify(data) }
}

/** Returns the part that an event adds or updates in the record of its run. @param known finds the part as stored so far */
export function partOf(
  event: RunEvent,
  known: (kind: Part['kind'], key: string) => Part | undefined,
): Part | undefined {
  switch (event.type) {
    case 'tool': {
      if (event.state === 'progress') return undefined
      const { type: _type, id: _id, conversationId: _conversation, state: _state, ...facts } = event
      const key = `${event.step}/${event.callId}`
      return { kind: 'call', key, data: capRecord({ ...known('call', key)?.data, ...facts }) }
    }
    case 'approval': {
      const { type: _type, id: _id, conversationId: _conversation, ...facts } = event
      const key = event.approvalId
      const data = { ...known('approval', key)?.data, ...facts }
      // Only the person who decides needs the whole diff.
      return { kind: 'approval', key, data: event.state === 'pending' ? data : capRecord(data) }
    }
    case 'diff': {
      const { type: _type, id: _id, conversationId: _conversation, ...facts } = event
      return { kind: 'diff', key: event.patchId, data: facts }
    }
    case 'plan':
      return { kind: 'plan', key: '', data: { items: event.items } }
    case 'fragment': {
      const { kind, step = 0 } = event
      if (kind !== 'commentary' && kind !== 'notice') return undefined
      const key = `${step}/${kind}`
      const before = stepText.safeParse(known('text', key)?.data).data?.text
      // A commentary may consist of several fragments; each notice is one fragment.
      const whole = before === undefined ? event.text : before + (kind === 'notice' ? '\n' : '') + event.text
      return { kind: 'text', key, data: { step, kind, text: whole.slice(0, maxStepText) } }
    }
    case 'inbound':
    case 'instructions':
    case 'usage':
    case 'compaction':
    case 'editor':
    case 'done':
      return undefined
  }
}

/** Joins the diffs of each file and adds their line counts. Unlike a net change, it also counts lines that changed twice. */
export function filesOfDiffs(parts: readonly Part[]): readonly FileChange[] {
  const byPath = new Map<string, FileChange>()
  for (const { kind, data } of parts) {
    const parsed = kind === 'diff' ? diff.safeParse(data) : undefined
    if (parsed?.success !== true) continue
    for (const file of parsed.data.files)
      byPath.set(file.path, joinDiffs(byPath.get(file.path), file, parsed.data.diff))
  }
  return [...byPath.values()]
}

function joinDiffs(before: FileChange | undefined, file: FileCount, text: string): FileChange {
  const change = before?.change === 'created' && file.change === 'modified' ? 'created' : file.change
  return {
    path: file.path,
    change,
    added: (before?.added ?? 0) + file.added,
    removed: (before?.removed ?? 0) + file.removed,
    diff: (before?.diff ?? '') + text,
  }
}

function countsOf(files: readonly FileChange[]): readonly FileCount[] {
  return files.map(({ path, change, added, removed }) => ({ path, change, added, removed }))
}

/** The last event of a run. */
export function toDone(
  { id, conversation }: Pick<RunRow, 'id' | 'conversation'>,
  steps: number,
  end: RunEnd,
): Extract<RunEvent, { readonly type: 'done' }> {
  const { outcome, reason, summary, answer, model, requests, files } = end
  return {
    id,
    conversationId: conversation,
    type: 'done',
    outcome,
    reason,
    summary,
    answer,
    ...modelField(model),
    steps,
    requests,
    files: countsOf(files),
    usage: reportUsage(usageOf(end)),
    ...contextField(end),
  }
}

/** A step while its texts and calls are collected. */
interface Step {
  readonly step: number
  readonly texts: RunReport['steps'][number]['texts'][number][]
  readonly calls: RunReport['steps'][number]['calls'][number][]
}

/** Returns the body of `GET /runs/{id}`. */
export function reportRun(
  { id, session, conversation, state, startedMs, endedMs }: Omit<RunRow, 'data'>,
  data: RunData,
  parts: readonly Part[],
): RunReport {
  const steps = new Map<number, Step>()
  const stepOf = (number: number): Step => {
    const found: Step = steps.get(number) ?? { step: number, texts: [], calls: [] }
    steps.set(number, found)
    return found
  }
  const approvals: RunReport['approvals'][number][] = []
  const plan = planPart.safeParse(parts.find(({ kind }) => kind === 'plan')?.data).data?.items
  for (const part of parts) {
    if (part.kind === 'approval') {
      const parsed = recordedApproval.safeParse(part.data)
      if (parsed.success) approvals.push(parsed.data)
    }
    if (part.kind === 'text') {
      const parsed = stepText.safeParse(part.data)
      if (parsed.success) stepOf(parsed.data.step).texts.push({ kind: parsed.data.kind, text: parsed.data.text })
    }
    const parsed = part.kind === 'call' ? call.safeParse(part.data) : undefined
    if (parsed?.success !== true) continue
    const { step, ...facts } = parsed.data
    stepOf(step).calls.push(facts)
  }
  const { mode, text: message, model: asked, origin, provider, attachments, joined, step, instructions, end } = data
  const used = end ?? usedBy(data)
  return {
    id,
    sessionId: session,
    conversationId: conversation,
    mode,
    text: message,
    origin,
    ...(provider !== undefined && { provider }),
    ...(attachments !== undefined && { attachments }),
    ...(joined !== undefined && { joined }),
    state: runState.parse(state),
    step,
    ...modelField(used.model ?? asked),
    ...(end !== undefined && { outcome: end.outcome, reason: end.reason, summary: end.summary, answer: end.answer }),
    startedAt: new Date(startedMs).toISOString(),
    ...(endedMs !== null && { endedAt: new Date(endedMs).toISOString() }),
    steps: [...steps.values()].toSorted((one, other) => one.step - other.step),
    approvals,
    ...(instructions !== undefined && { instructions }),
    ...(plan !== undefined && { plan }),
    files: end?.files ?? filesOfDiffs(parts),
    // Without a journal entry, the key is ''.
    changes: parts.flatMap(({ kind, key: change }) => (kind === 'diff' && change !== '' ? change : [])),
    requests: used.requests,
    usage: reportUsage(usageOf(used)),
    ...contextField(used),
  }
}

/** Returns one message of `GET /sessions/{id}/messages`. */
export function reportMessage({ id, conversation, state, startedMs }: RunRow, data: RunData): MessageEntry {
  const { mode, text, model, origin, provider, attachments, joined, step, end } = data
  return {
    id,
    conversationId: conversation,
    text,
    mode,
    ...modelField(end?.model ?? model),
    time: new Date(startedMs).toISOString(),
    origin,
    ...(provider !== undefined && { provider }),
    ...(attachments !== undefined && { attachments }),
    ...(joined !== undefined && { joined }),
    state: runState.parse(state),
    ...(end !== undefined && {
      outcome: end.outcome,
      reason: end.reason,
      answer: end.answer,
      summary: end.summary,
      steps: step,
      requests: end.requests,
      files: countsOf(end.files),
      usage: reportUsage(usageOf(end)),
      ...contextField(end),
    }),
  }
}

function modelField(model: string | undefined) {
  return model === undefined ? {} : { model }
}

function contextField({ context }: Pick<RunEnd, 'context'>) {
  return context === undefined ? {} : { context }
}

export function usageOf({ usage: { nanoAiu, ...tokens } }: Pick<RunEnd, 'usage'>) {
  return nanoAiu === undefined ? tokens : { ...tokens, nanoAiu }
}
