import { maySee, type Caller } from '../config/caller.ts'
import type { AgentEvent } from '../agent/agent-event.ts'
import { recordedApproval } from '../api/run.ts'
import type { ApprovalDecision, OpenRun, RunOutcome, RunState } from '../api/run.ts'
import type { AgentOutcome, AgentTask } from '../agent/agent-task.ts'
import type { Config } from '../config/schema.ts'
import { Fault } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import type { Session } from '../tools/session.ts'
import { createOpenFiles, type EditorAnswer, type OpenFiles } from '../workspace/open-files.ts'
import { wordError } from '../translate/engine/error-wording.ts'
import { capDiffs, capEvent } from './cap-event.ts'
import { gatherText, type GatherDeps } from './gather-text.ts'
import { createJoining } from './join-messages.ts'
import { factsOf, toOpen, type Joined, type Run } from './running.ts'
import { interruptedItems } from './interrupted-items.ts'
import { refused } from './refused.ts'
import { createRunEditor, type EditorEvent } from './run-editor.ts'
import { filesOfDiffs, partOf, toDone, toPartRow, usageOf, usedBy } from './run-record.ts'
import type { Part, RunData, RunEnd } from './run-record.ts'
import { reportUsage, type RunEvent, type SessionEvent } from './session-event.ts'
import type { ConversationRow, Rows, RunRow } from './session-store.ts'
import type { Accepted, NewMessage } from './sessions.ts'

export interface RunsDeps extends Omit<GatherDeps, 'note'> {
  readonly config: () => Config
  readonly find: (sessionId: string) => Session | undefined
  /** Never rejects. */
  readonly runAgent: (task: AgentTask, conversationId: string) => Promise<AgentOutcome>
  /** Returns the model for messages without one, if the configuration names none either. */
  readonly defaultModel: (keyName: string | undefined, signal: AbortSignal) => Promise<string>
  /** Returns the items of the earlier runs of a conversation, oldest first. */
  readonly history: (conversation: string) => Promise<AgentTask['history']>
  /** Returns the SHA-256 of the instruction files that the newest runs of this owner have used, by path. */
  readonly knownInstructions: (sessionId: string, owner: string | null) => AgentTask['knownInstructions']
  readonly save: (rows: Rows) => void
  /** Publishes an event and stores rows together with it. */
  readonly publish: (sessionId: string, owner: string | null, event: SessionEvent, rows?: Rows) => void
  /**
   * Stores the long texts of the items a little at a time. Resolves with the remainder, for the row of the items; undefined if
   * they cannot be stored.
   */
  readonly storeTexts: (run: string, items: AgentOutcome['items']) => Promise<string | undefined>
  readonly randomId: () => string
  /** Ms since epoch. */
  readonly now: () => number
  readonly log: Logger
}

/** The runs in progress: each one from its message to its end. */
export interface Runs {
  /** Stores the conversation with the run. */
  readonly start: (message: NewMessage, conversation: ConversationRow) => Accepted
  /** Returns undefined if the run is not in progress. */
  readonly cancel: (id: string, reason: string) => RunState | undefined
  /** Returns undefined if no approval with this id is pending. */
  readonly decide: (approvalId: string, decision: ApprovalDecision) => ApprovalDecision | undefined
  /** Finds the run that waits for an approval. */
  readonly findWaiting: (approvalId: string) => Pick<RunRow, 'owner'> | undefined
  /** Returns whether a pending approval offers a decision. For `run`, `once` is enough. Undefined if no approval with this id is pending. */
  readonly isOffered: (approvalId: string, decision: ApprovalDecision) => boolean | undefined
  /** Returns false if the run does not wait for an answer with this id. */
  readonly answerEditor: (runId: string, requestId: string, answer: EditorAnswer) => boolean
  /** Finds a run in progress. */
  readonly find: (
    id: string,
  ) => { readonly row: RunRow; readonly data: RunData; readonly parts: readonly Part[] } | undefined
  readonly open: (sessionId: string, caller: Caller) => readonly OpenRun[]
  readonly onLifecycle: (listener: (sessionId: string, state: 'started' | 'idle') => void) => () => void
  /** Calls `then` when the run has ended. */
  readonly onEnd: (id: string, then: () => void) => void
  /** Cancels all runs and resolves when they have ended, at the latest after `graceMs`. Further messages are refused. */
  readonly stop: (graceMs: number) => Promise<void>
}

/** Maximum number of agent runs that wait for another one of the same session. */
const maxQueued = 20

/** Maximum number of concurrent chats of a session. */
const maxChats = 8

type OnProgress = NonNullable<AgentTask['onProgress']>

/** An event of the agent, or of the progress of its run. */
type Given = AgentEvent | EditorEvent | Omit<Extract<RunEvent, { readonly type: 'usage' }>, 'id'>

export function createRuns(deps: RunsDeps): Runs {
  const { config, publish, log, now } = deps
  const runs = new Map<string, Run>()
  const listeners = new Set<(sessionId: string, state: 'started' | 'idle') => void>()
  let isStopping = false
  const joining = createJoining({
    runsOf: (sessionId) => runsOf(sessionId),
    save: (run) => deps.save({ run: toRow(run) }),
    publish: (run, event) => publish(run.session.id, run.owner, event, { run: toRow(run) }),
    notify: (run, text, step) => note(run, { type: 'fragment', kind: 'notice', step, text }),
    open: (joined, { session, conversation: id, owner }) => open(joined, session, { id, owner }),
    randomId: deps.randomId,
    now,
  })

  const runsOf = (sessionId: string): readonly Run[] =>
    [...runs.values()].filter(({ session }) => session.id === sessionId)

  function publishLifecycle({ session: { id, name }, owner }: Run, state: 'started' | 'idle'): void {
    publish(id, owner, { type: 'lifecycle', state, name })
  }

  function tellLifecycle(run: Run, state: 'started' | 'idle'): void {
    for (const listener of listeners) listener(run.session.id, state)
  }

  function toRow({ id, session, owner, conversation, state, startedMs, data }: Run): RunRow {
    const endedMs = state === 'ended' ? now() : null
    return { id, session: session.id, owner, conversation, state, startedMs, endedMs, data: JSON.stringify(data) }
  }

  function setState(run: Run, state: RunState): void {
    if (run.state === state || run.state === 'ended') return
    run.state = state
    deps.save({ run: toRow(run) })
  }

  function start(message: NewMessage, conversation: ConversationRow): Accepted {
    const { agent } = config()
    const session = deps.find(message.sessionId)
    if (session === undefined) throw refused('session_not_found')
    if (isStopping) throw new Fault({ kind: 'shutting_down' })
    if (message.mode !== 'chat' && !agent.enabled) throw refused('agent_disabled')
    const joined = joining.join(message, conversation.id)
    if (joined !== undefined) return joined
    const isChat = message.mode === 'chat'
    const sameKind = runsOf(session.id).filter(({ data }) => (data.mode === 'chat') === isChat)
    if (sameKind.length >= (isChat ? maxChats : maxQueued + 1)) throw refused('too_many_runs')
    const run = open({ id: deps.randomId(), message }, session, conversation)
    if (isChat || sameKind.length === 0) void execute(run)
    else note(run, waiting)
    return { id: run.id, conversationId: run.conversation }
  }

  /** Stores a run and tells of its message. @param conversation its row is stored too if it is given as a whole */
  function open(
    { id, message }: Joined,
    session: Session,
    conversation: ConversationRow | Pick<ConversationRow, 'id' | 'owner'>,
  ): Run {
    const facts = factsOf(message)
    const run: Run = {
      id,
      session,
      owner: conversation.owner,
      conversation: conversation.id,
      message,
      data: { ...facts, step: 0 },
      startedMs: now(),
      controller: new AbortController(),
      parts: new Map(),
      approvals: new Map(),
      editorRequests: new Map(),
      ended: Promise.withResolvers(),
      joined: [],
      deliver: undefined,
      state: 'queued',
      cancelReason: undefined,
      text: gatherText({ ...deps, note: (event) => note(run, event) }),
    }
    runs.set(run.id, run)
    const inbound = { id: run.id, conversationId: run.conversation, type: 'inbound', ...facts } as const
    publish(session.id, run.owner, inbound, { run: toRow(run), ...('title' in conversation && { conversation }) })
    const onRemoved = (): void => cancelRun(run, 'The workspace was removed from the configuration.')
    session.signal.addEventListener('abort', onRemoved, { once: true })
    void run.ended.promise.then(() => session.signal.removeEventListener('abort', onRemoved))
    return run
  }

  async function execute(run: Run): Promise<void> {
    const { message, session, controller } = run
    const { signal } = controller
    const { enabled: _enabled, prefix: _prefix, ...settings } = config().agent
    setState(run, 'running')
    publishLifecycle(run, 'started')
    tellLifecycle(run, 'started')
    try {
      const model = message.model ?? (settings.model || (await deps.defaultModel(message.key?.name, signal)))
      const task: AgentTask = {
        id: run.id,
        session,
        mode: message.mode,
        text: message.text,
        attachments: message.attachments,
        history: await deps.history(run.conversation),
        knownInstructions: deps.knownInstructions(session.id, run.owner),
        settings: {
          ...settings,
          model,
          maxSteps: message.maxSteps ?? settings.maxSteps,
          maxCredits: message.maxCredits ?? settings.maxCredits,
          // The setting may have changed while the run waited.
          requireApproval: settings.requireApproval || message.origin === 'provider',
        },
        initiator: message.origin === 'user' ? 'user' : 'agent',
        caller: `agent:${message.key?.name ?? 'local'}`,
        key: message.key,
        openFiles: openFilesOf(run),
        signal,
        emit: (event) => receive(run, event),
        onProgress: (progress) => noteProgress(run, progress),
        onJoined(listener) {
          run.deliver = listener
          for (const { id, message: given } of run.joined)
            listener({ id, text: given.text, attachments: given.attachments })
        },
        onRead: (ids, step) => joining.noteRead(run, ids, step),
        approve: (request, stop) => approve(run, request.approvalId, stop),
      }
      const outcome = await deps.runAgent(task, run.conversation)
      const reason =
        outcome.outcome === 'cancelled' && run.cancelReason !== undefined ? run.cancelReason : outcome.reason
      const items = outcome.items.length === 0 ? undefined : await deps.storeTexts(run.id, outcome.items)
      finish(run, { ...outcome, reason, files: [...outcome.files] }, items)
    } catch (error) {
      if (signal.aborted) return finish(run, emptyEnd(run, 'cancelled', run.cancelReason ?? 'The run was cancelled.'))
      if (error instanceof Fault) return finish(run, emptyEnd(run, 'failed', wordError(error.error, run.id).message))
      log.error({ err: error, run: run.id }, 'a run failed unexpectedly')
      finish(run, emptyEnd(run, 'failed', 'The run failed. See the log of copilot-proxy.'))
    }
  }

  /** Only the caller whose message begins a run is asked, and only this run sees what their editor has. */
  function openFilesOf(run: Run): OpenFiles | undefined {
    const { message, editorRequests: requests } = run
    if (message.editor === undefined) return undefined
    const { randomId, setTimer } = deps
    const emit = (event: Given): void => note(run, event)
    const tell = (text: string): void => emit({ type: 'fragment', kind: 'notice', text, step: run.data.step })
    return createOpenFiles(createRunEditor({ ability: message.editor, requests, emit, tell, randomId, setTimer }))
  }

  /** Receives an event of an agent. Gathers the pieces of an answer. */
  function receive(run: Run, given: Given): void {
    if (given.type === 'fragment' && given.kind !== 'step' && given.kind !== 'notice') return run.text.add(given)
    run.text.release()
    note(run, given)
  }

  /** Records and publishes an event of an agent. */
  function note(run: Run, given: Given): void {
    if (run.state === 'ended') return
    const event: RunEvent = capEvent({ ...given, id: run.id, conversationId: run.conversation })
    if ('step' in event && event.step !== undefined) run.data.step = event.step
    if (event.type === 'instructions') noteInstructions(run, event)
    const part = partOf(event, (kind, key) => run.parts.get(`${kind}/${key}`))
    if (part !== undefined) run.parts.set(`${part.kind}/${part.key}`, part)
    publish(run.session.id, run.owner, event, part && { part: toPartRow(run.id, part) })
  }

  function noteInstructions(
    run: Run,
    { path, sha256, state, truncated }: Extract<RunEvent, { type: 'instructions' }>,
  ): void {
    const file = { path, sha256, state, ...(truncated !== undefined && { truncated }) }
    run.data.instructions = [...(run.data.instructions ?? []), file]
    deps.save({ run: toRow(run) })
  }

  function noteProgress(run: Run, { requests, usage, context, model }: Parameters<OnProgress>[0]): void {
    const isNews = usage !== run.data.progress?.usage && model !== undefined
    const used = { requests, usage, ...(context !== undefined && { context }) }
    run.data.progress = { ...used, ...(model !== undefined && { model }) }
    deps.save({ run: toRow(run) })
    // A request without an answer has used nothing yet.
    if (isNews) receive(run, { type: 'usage', ...used, usage: reportUsage(usageOf(used)) })
  }

  async function approve(run: Run, approvalId: string, signal: AbortSignal): Promise<ApprovalDecision> {
    signal.throwIfAborted()
    const decided = Promise.withResolvers<ApprovalDecision>()
    const onAbort = (): void => decided.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    run.approvals.set(approvalId, decided.resolve)
    setState(run, 'waiting')
    try {
      return await decided.promise
    } finally {
      signal.removeEventListener('abort', onAbort)
      run.approvals.delete(approvalId)
      if (run.approvals.size === 0) setState(run, 'running')
    }
  }

  function findWaiting(approvalId: string): Run | undefined {
    return [...runs.values()].find(({ approvals }) => approvals.has(approvalId))
  }

  function cancelRun(run: Run, reason: string): void {
    if (run.state === 'ended' || run.controller.signal.aborted) return
    run.cancelReason = reason
    const isQueued = run.state === 'queued'
    run.controller.abort()
    if (isQueued) finish(run, emptyEnd(run, 'cancelled', reason))
  }

  function finish(
    run: Run,
    given: Omit<RunEnd, 'model' | 'context'> & Partial<Pick<AgentOutcome, 'model' | 'context' | 'steps'>>,
    items?: string,
  ): void {
    if (run.state === 'ended') return
    run.text.release()
    for (const { kind, data } of run.parts.values()) {
      if (kind !== 'approval' || data['state'] !== 'pending') continue
      const { approvalId, callId, tool } = data
      if (typeof approvalId !== 'string' || typeof callId !== 'string' || typeof tool !== 'string') continue
      note(run, { type: 'approval', approvalId, callId, tool, state: 'expired' })
    }
    const { outcome, reason, summary, answer, requests, files, usage, context, model } = given
    const end: RunEnd = {
      outcome,
      reason,
      summary,
      answer,
      requests,
      files: capDiffs(files),
      usage,
      ...(context !== undefined && { context }),
      ...(model !== undefined && { model }),
    }
    const parts = [...run.parts.values()]
    const stored =
      items ??
      (outcome === 'interrupted' ? JSON.stringify(interruptedItems(run.data, end, parts, deps.randomId())) : undefined)
    const continued = joining.continueAfter(run)
    run.data.end = end
    run.data.step = given.steps ?? run.data.step
    run.state = 'ended'
    const { id, session, owner } = run
    publish(session.id, owner, capEvent(toDone(run, run.data.step, end)), {
      run: toRow(run),
      ...(stored !== undefined && { items: { run: id, session: session.id, owner, data: stored } }),
    })
    runs.delete(id)
    const remaining = runsOf(session.id)
    if (!remaining.some((other) => other.owner === owner)) publishLifecycle(run, 'idle')
    if (remaining.length === 0) tellLifecycle(run, 'idle')
    run.ended.resolve()
    const noStart = isStopping
      ? 'copilot-proxy was stopped before a model read the message.'
      : session.signal.aborted
        ? 'The workspace was removed before a model read the message.'
        : undefined
    for (const each of continued) {
      if (noStart !== undefined) finish(each, emptyEnd(each, 'interrupted', noStart))
      else if (each.data.mode === 'chat') void execute(each)
      else if (runsOf(session.id).some((other) => other !== each && other.data.mode !== 'chat')) note(each, waiting)
    }
    const next = runsOf(run.session.id).find(({ state, data }) => state === 'queued' && data.mode !== 'chat')
    const isAgentFree = !runsOf(run.session.id).some(({ state, data }) => state !== 'queued' && data.mode !== 'chat')
    if (next !== undefined && isAgentFree) void execute(next)
  }

  return {
    start,
    cancel(id, reason) {
      const run = runs.get(id)
      if (run === undefined) return undefined
      cancelRun(run, reason)
      return run.state
    },
    decide(approvalId, decision) {
      for (const run of runs.values()) {
        const resolve = run.approvals.get(approvalId)
        if (resolve === undefined) continue
        // Remove the approval at once, so that a second decision cannot arrive before the agent has handled the first.
        run.approvals.delete(approvalId)
        const part = run.parts.get(`approval/${approvalId}`)
        if (part !== undefined) {
          const decided: Part = { ...part, data: { ...part.data, state: decision } }
          run.parts.set(`approval/${approvalId}`, decided)
          deps.save({ part: toPartRow(run.id, decided) })
        }
        resolve(decision)
        return decision
      }
      return undefined
    },
    findWaiting,
    isOffered(approvalId, decision) {
      const run = findWaiting(approvalId)
      if (run === undefined) return undefined
      const { decisions = ['once', 'refuse'] } =
        recordedApproval.safeParse(run.parts.get(`approval/${approvalId}`)?.data).data ?? {}
      return decisions.includes(decision === 'run' ? 'once' : decision)
    },
    answerEditor(runId, requestId, answer) {
      const resolve = runs.get(runId)?.editorRequests.get(requestId)
      resolve?.(answer)
      return resolve !== undefined
    },
    find(id) {
      const run = runs.get(id)
      if (run === undefined) return undefined
      const { session, owner, conversation, state, startedMs, data } = run
      const row = { id, session: session.id, owner, conversation, state, startedMs, endedMs: null, data: '' }
      return { row, data, parts: [...run.parts.values()] }
    },
    open: (sessionId, caller) =>
      runsOf(sessionId).flatMap((run) => (maySee(caller, run.owner ?? undefined) ? toOpen(run) : [])),
    onLifecycle(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    onEnd(id, then) {
      const run = runs.get(id)
      if (run === undefined) then()
      else void run.ended.promise.then(then)
    },
    async stop(graceMs) {
      isStopping = true
      const ends = Array.from(runs.values(), ({ ended }) => ended.promise)
      // Cancel the queued runs first, so that none of them starts.
      for (const run of [...runs.values()].toReversed()) cancelRun(run, 'copilot-proxy was stopped.')
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, graceMs)
      await Promise.race([Promise.all(ends), late.promise])
      clearTimeout(timer)
      for (const run of runs.values()) {
        finish(run, emptyEnd(run, 'interrupted', 'copilot-proxy was stopped before the run had ended.'))
      }
    },
  }
}

const waiting = {
  type: 'fragment',
  kind: 'notice',
  text: 'Waiting for another run in this workspace to end: one at a time changes files.',
} as const

/** The end of a run without an outcome of the agent. */
function emptyEnd(run: Run, outcome: RunOutcome, reason: string): RunEnd {
  const files = [...filesOfDiffs([...run.parts.values()])]
  return { outcome, reason, summary: reason, answer: '', files, ...usedBy(run.data) }
}
