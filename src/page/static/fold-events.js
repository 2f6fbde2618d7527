/** @import { ChangeEntry } from '../../api/changes.ts' */
/** @import { DaemonEvent, ToolEvent, UsageEvent } from '../../api/events.ts' */
/** @import { InstructionFile, MessageEntry, RunReport } from '../../api/run.ts' */
/** @import { ApprovalPart, InboundEvent, NoteItem, RunEvent, RunItem, RunPart, RunUse, Timeline, TimelineItem, ToolPart } from '../timeline.ts' */
import { instructionsSentence } from './context-words.js'

/** @type {Timeline} */
export const emptyTimeline = { items: [] }

/** The page removes older items; the daemon keeps them. */
const maxItems = 300
/** Maximum number of parts of one run. */
const maxParts = 2000
/** Maximum length of one text, and of the progress of one tool. Characters. */
const maxText = 400_000
const maxProgress = 20_000

/**
 * @param {Timeline} timeline
 * @param {DaemonEvent} event
 * @param {string} key a unique key for notes, which have no id
 * @returns {Timeline} shares unchanged objects with the old one, so that a view finds changes quickly
 */
export function foldEvent(timeline, event, key) {
  switch (event.type) {
    case 'inbound':
      return foldInbound(timeline, event)
    case 'fragment':
    case 'instructions':
    case 'tool':
    case 'approval':
    case 'diff':
      return withRun(timeline, event, (run) => ({ ...run, parts: foldPart(run.parts, event, key).slice(-maxParts) }))
    case 'usage':
      return withRun(timeline, event, (run) => ({ ...run, used: usedBy(event) }))
    case 'compaction':
      // A notice says the same in words.
      return timeline
    case 'editor':
      return timeline
    case 'plan':
      return withRun(timeline, event, (run) => ({ ...run, plan: event.items }))
    case 'done':
      return withRun(timeline, event, (run) => endRun(run, event))
    default:
      return withItem(timeline, toNote(event, key))
  }
}

/**
 * @param {Timeline} timeline
 * @param {InboundEvent} event
 * @returns {Timeline}
 */
function foldInbound(timeline, event) {
  const { runId, id } = event
  if (runId === undefined)
    return withRun(withoutPart(timeline, messageKey(id)), event, (run) => ({ ...run, ...toHead(event) }))
  return withRun(timeline, { ...event, id: runId }, (run) => ({
    ...run,
    parts: [...run.parts, toMessagePart(event)],
  }))
}

/** @param {string} id */
const messageKey = (id) => `message ${id}`

/**
 * @param {{ readonly id: string, readonly text: string, readonly time: string }} message
 * @returns {RunPart}
 */
function toMessagePart({ id, text, time }) {
  return { kind: 'message', key: messageKey(id), text, time }
}

/**
 * Removes a message that joined a run and has become a run of its own.
 * @param {Timeline} timeline
 * @param {string} key
 * @returns {Timeline}
 */
function withoutPart(timeline, key) {
  return {
    items: timeline.items.map((item) =>
      item.kind === 'run' && item.parts.some((part) => part.key === key)
        ? { ...item, parts: item.parts.filter((part) => part.key !== key) }
        : item,
    ),
  }
}

/**
 * Adds the messages that the daemon has stored to those from events.
 * @param {Timeline} timeline
 * @param {readonly MessageEntry[]} messages
 * @returns {Timeline}
 */
export function foldHistory(timeline, messages) {
  const known = new Set(timeline.items.map(({ key }) => key))
  const older = messages.filter(({ id }) => !known.has(id)).map(toRecalledRun)
  const dated = timeline.items.map((item) => {
    const message = item.kind === 'run' && item.time === '' ? messages.find(({ id }) => id === item.key) : undefined
    return message === undefined || item.kind !== 'run' ? item : { ...item, text: message.text, time: message.time }
  })
  const items = [...older, ...dated].toSorted((one, other) =>
    one.time < other.time ? -1 : one.time > other.time ? 1 : 0,
  )
  return { items: items.slice(-maxItems) }
}

/**
 * Replaces the parts of a run with those of the daemon's report, which also has those whose events the page has missed.
 * @param {Timeline} timeline
 * @param {RunReport} report
 * @returns {Timeline}
 */
export function foldReport(timeline, report) {
  return {
    items: timeline.items.map((item) => (item.kind === 'run' && item.key === report.id ? recall(item, report) : item)),
  }
}

/**
 * Adds to each run the changes that it has made, with what was undone of them.
 * @param {Timeline} timeline
 * @param {readonly ChangeEntry[]} changes
 * @returns {Timeline}
 */
export function foldChanges(timeline, changes) {
  const byRun = Map.groupBy(changes, ({ runId }) => runId)
  return {
    items: timeline.items.map((item) => {
      const ofRun = item.kind === 'run' ? byRun.get(item.key) : undefined
      return ofRun === undefined || item.kind !== 'run' ? item : { ...item, changes: ofRun }
    }),
  }
}

/**
 * @param {Timeline} timeline
 * @returns {readonly { readonly run: RunItem, readonly approval: ApprovalPart }[]} the pending approvals, oldest first
 */
export function pendingApprovals(timeline) {
  return timeline.items.flatMap((run) =>
    run.kind !== 'run' || run.end !== undefined
      ? []
      : run.parts.flatMap((part) =>
          part.kind === 'approval' && part.state === 'pending' ? [{ run, approval: part }] : [],
        ),
  )
}

/**
 * @param {Timeline} timeline
 * @param {RunEvent} event
 * @param {(run: RunItem) => RunItem} change
 * @returns {Timeline}
 */
function withRun(timeline, { id, time, conversationId = '' }, change) {
  const at = timeline.items.findLastIndex(({ key }) => key === id)
  const found = timeline.items[at]
  if (found?.kind === 'run') return { items: timeline.items.with(at, change(found)) }
  // The message is unknown if the page was opened later, or if events were lost.
  return withItem(timeline, change({ ...emptyRun, key: id, time, conversationId }))
}

/**
 * @param {Timeline} timeline
 * @param {TimelineItem} item
 * @returns {Timeline}
 */
function withItem(timeline, item) {
  return { items: [...timeline.items, item].slice(-maxItems) }
}

/** @type {Omit<RunItem, 'key' | 'time' | 'conversationId'>} */
const emptyRun = { kind: 'run', mode: 'chat', text: '', attachments: [], parts: [], isRecalled: false }

/**
 * @param {InboundEvent} event
 * @returns {Partial<RunItem>}
 */
function toHead({ text, mode, time, origin, provider, attachments }) {
  return {
    text,
    mode,
    time,
    attachments: (attachments ?? []).map(({ name }) => name),
    ...(origin === 'provider' && { provider: provider ?? 'a tool program' }),
  }
}

/**
 * @param {readonly RunPart[]} parts
 * @param {Exclude<RunEvent, { type: 'inbound' | 'usage' | 'compaction' | 'plan' | 'editor' | 'done' }>} event
 * @param {string} key
 * @returns {readonly RunPart[]}
 */
function foldPart(parts, event, key) {
  switch (event.type) {
    case 'fragment': {
      const last = parts.at(-1)
      const isSame =
        last?.kind === 'text' && last.fragment === event.kind && event.kind !== 'step' && event.kind !== 'notice'
      if (!isSame) return [...parts, { kind: 'text', key, fragment: event.kind, text: event.text }]
      return parts.with(parts.length - 1, { ...last, text: (last.text + event.text).slice(0, maxText) })
    }
    case 'instructions':
      return [...parts, ...instructionsPart(event)]
    case 'tool':
      return withTool(parts, event, (tool) => foldTool(tool, event))
    case 'diff':
      return withTool(parts, { ...event, tool: 'patch' }, (tool) => ({ ...tool, diff: event.diff }))
    case 'approval': {
      const { type: _type, id: _id, conversationId: _conversation, sessionId: _session, time: _time, ...facts } = event
      const { approvalId, state } = facts
      const at = parts.findLastIndex((part) => part.kind === 'approval' && part.approvalId === approvalId)
      const found = parts[at]
      if (found?.kind === 'approval') return parts.with(at, { ...found, state })
      return [...parts, toApprovalPart({ ...facts, tool: facts.tool ?? '' })]
    }
  }
}

/**
 * A file that the last run has used in this form is not worth a line.
 * @param {InstructionFile} file
 * @returns {readonly RunPart[]}
 */
function instructionsPart(file) {
  if (file.state === 'unchanged') return []
  return [{ kind: 'text', key: `instructions ${file.path}`, fragment: 'notice', text: instructionsSentence(file) }]
}

/**
 * @param {readonly RunPart[]} parts
 * @param {{ readonly callId: string, readonly tool: string }} call
 * @param {(tool: ToolPart) => ToolPart} change
 * @returns {readonly RunPart[]}
 */
function withTool(parts, { callId, tool }, change) {
  const key = `call ${callId}`
  const at = parts.findLastIndex((part) => part.key === key)
  const found = parts[at]
  if (found?.kind === 'tool') return parts.with(at, change(found))
  return [...parts, change({ kind: 'tool', key, tool, progress: '' })]
}

/**
 * @param {ToolPart} tool
 * @param {ToolEvent} event
 * @returns {ToolPart}
 */
function foldTool(tool, event) {
  if (event.state === 'started') return { ...tool, args: event.args }
  if (event.state === 'progress') return { ...tool, progress: (tool.progress + event.text).slice(-maxProgress) }
  const { outcome, message, result, truncated, durationMs } = event
  return {
    ...tool,
    outcome,
    message,
    ...(result !== undefined && { result }),
    ...(truncated !== undefined && { truncated }),
    durationMs,
  }
}

/**
 * @param {RunItem} run
 * @param {Extract<RunEvent, { type: 'done' }>} event
 * @returns {RunItem}
 */
function endRun(run, { outcome, reason, summary, answer, files, model, steps, requests, usage, context }) {
  const hasAnswer = run.parts.some((part) => part.kind === 'text' && part.fragment === 'answer')
  /** @type {readonly RunPart[]} */
  const answered =
    answer === '' || hasAnswer ? [] : [{ kind: 'text', key: `answer ${run.key}`, fragment: 'answer', text: answer }]
  return {
    ...run,
    parts: [...run.parts, ...answered],
    end: {
      outcome,
      reason,
      summary,
      files,
      ...(model !== undefined && { model }),
      steps,
      ...usedBy({ requests, usage, context }),
    },
  }
}

/**
 * @param {Pick<UsageEvent, 'requests' | 'usage' | 'context'>} event
 * @returns {RunUse}
 */
function usedBy({ requests, usage, context }) {
  return { requests, usage, ...(context !== undefined && { context }) }
}

/**
 * @param {MessageEntry} message
 * @returns {RunItem}
 */
function toRecalledRun({
  id,
  conversationId,
  text,
  mode,
  time,
  origin,
  provider,
  attachments,
  joined,
  answer,
  ...end
}) {
  const { outcome, reason = '', summary, files = [], model, steps, requests, usage, context } = end
  return {
    ...emptyRun,
    key: id,
    conversationId,
    time,
    text,
    mode,
    isRecalled: true,
    attachments: (attachments ?? []).map(({ name }) => name),
    ...(origin === 'provider' && { provider: provider ?? 'a tool program' }),
    parts: [
      ...(joined ?? []).map(toMessagePart),
      ...(answer
        ? [/** @type {RunPart} */ ({ kind: 'text', key: `answer ${id}`, fragment: 'answer', text: answer })]
        : []),
    ],
    ...(outcome && {
      end: {
        outcome,
        reason,
        summary: summary ?? '',
        files,
        ...(model && { model }),
        ...(steps !== undefined && { steps }),
        ...(requests !== undefined && { requests }),
        ...(usage && { usage }),
        ...(context && { context }),
      },
    }),
  }
}

/**
 * @param {RunItem} run
 * @param {RunReport} report
 * @returns {RunItem}
 */
function recall(run, report) {
  const {
    id,
    state,
    outcome,
    reason,
    summary,
    answer,
    model,
    step: last,
    steps,
    approvals,
    plan,
    joined = [],
    instructions = [],
    files,
    requests,
    usage,
    context,
  } = report
  /** @type {readonly RunPart[]} */
  const parts = [
    ...instructions.flatMap((file) => instructionsPart(file)),
    ...steps.flatMap((step) => [
      ...joined.filter((message) => message.step === step.step).map(toMessagePart),
      ...toStepParts(step),
    ]),
    ...joined.filter((message) => !steps.some(({ step }) => step === message.step)).map(toMessagePart),
    ...approvals.map((approval) => toApprovalPart(approval)),
    ...(answer
      ? [/** @type {RunPart} */ ({ kind: 'text', key: `answer ${id}`, fragment: 'answer', text: answer })]
      : []),
  ]
  const ended =
    state !== 'ended'
      ? undefined
      : { outcome: outcome ?? 'interrupted', reason: reason ?? '', summary: summary ?? '', files }
  return {
    ...run,
    isRecalled: false,
    parts,
    used: usedBy({ requests, usage, context }),
    ...(plan !== undefined && { plan }),
    ...(ended !== undefined && {
      end: {
        ...ended,
        ...(model && { model }),
        steps: last,
        ...usedBy({ requests, usage, context }),
      },
    }),
  }
}

/**
 * @param {RunReport['steps'][number]} step
 * @returns {readonly RunPart[]}
 */
function toStepParts({ step, texts, calls }) {
  /** @type {readonly RunPart[]} */
  const head = step === 0 ? [] : [{ kind: 'text', key: `step ${step}`, fragment: 'step', text: `Step ${step}` }]
  return [
    ...head,
    ...texts.map(
      ({ kind, text }) => /** @type {const} */ ({ kind: 'text', key: `${kind} ${step}`, fragment: kind, text }),
    ),
    ...calls.map((call) => toToolPart(call)),
  ]
}

/**
 * @param {RunReport['steps'][number]['calls'][number]} call
 * @returns {ToolPart}
 */
function toToolPart({ callId, tool, args, outcome, message, result, truncated, durationMs }) {
  return {
    kind: 'tool',
    key: `call ${callId}`,
    tool,
    progress: '',
    ...(args !== undefined && { args }),
    ...(outcome && { outcome }),
    ...(message && { message }),
    ...(result && { result }),
    ...(truncated && { truncated }),
    ...(typeof durationMs === 'number' && { durationMs }),
  }
}

/**
 * @param {RunReport['approvals'][number]} approval
 * @returns {ApprovalPart}
 */
function toApprovalPart({ approvalId, callId: _callId, ...rest }) {
  return { ...rest, kind: 'approval', key: `approval ${approvalId}`, approvalId }
}

/**
 * @param {Exclude<DaemonEvent, RunEvent>} event
 * @param {string} key
 * @returns {NoteItem}
 */
function toNote(event, key) {
  const time = 'time' in event ? event.time : ''
  switch (event.type) {
    case 'push':
      return { kind: 'note', key, time, tone: 'push', title: `${event.provider}, ${event.stream}`, text: event.text }
    case 'error':
      return { kind: 'note', key, time, tone: 'error', title: 'Error', text: event.message }
    case 'lifecycle':
      return { kind: 'note', key, time, tone: 'info', title: 'Session', text: lifecycleText(event.state) }
    case 'gap': {
      const text = 'This page missed some events. The messages and runs below are complete.'
      return { kind: 'note', key, time, tone: 'gap', title: `Missed events: ${event.to - event.from + 1}`, text }
    }
  }
}

/** @param {string} state */
function lifecycleText(state) {
  /** @type {Readonly<Record<string, string>>} */
  const texts = {
    added: 'The workspace was added.',
    removed: 'The workspace was removed.',
    shutdown: 'copilot-proxy is shutting down.',
  }
  return texts[state] ?? state
}
