import { methods, RequestError } from '@agentclientprotocol/sdk'
import type {
  AgentContext,
  ClientCapabilities,
  PromptRequest,
  SessionUpdate,
  StopReason,
} from '@agentclientprotocol/sdk'
import { choose, describeChoices, describeCommands, firstChoices } from '../../acp/choices.ts'
import type { Choices, ModelName } from '../../acp/choices.ts'
import { toDecision, toQuestion } from '../../acp/permission.ts'
import { toMessage } from '../../acp/prompt.ts'
import { replayRun } from '../../acp/replay.ts'
import { createUpdates, stopReasons, usageUpdate } from '../../acp/updates.ts'
import type { MessageInput } from '../../api/inputs.ts'
import type { ApprovalEvent, DaemonEvent, DoneEvent, EditorEvent } from '../../api/events.ts'
import type { RunReport } from '../../api/run.ts'
import { isAcceptedPlan } from '../../page/static/approval-words.js'
import { goneText } from '../agent/client.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import { failed } from './answering.ts'
import type { EditorFiles } from './editor-files.ts'
import type { Feed } from './open-feeds.ts'

export interface AcpSessionDeps {
  /** The id of the conversation, which is that of the session too. */
  readonly id: string
  readonly feed: Feed
  /** The folder, as the editor names it. */
  readonly root: string
  readonly editor: AgentContext
  readonly capabilities: ClientCapabilities
  readonly files: EditorFiles
  readonly models: readonly ModelName[]
  readonly choices?: Choices
  /** Takes sentences for the log. */
  readonly note: (sentence: string) => void
  /** Aborted when the editor has left and the runs of the session have ended. */
  readonly signal: AbortSignal
}

/** A conversation in an editor. */
export interface AcpSession {
  readonly feed: Feed
  /** The folder, as the editor names it. */
  readonly root: string
  /** Tells the editor all that was said, or only what the conversation has used. */
  readonly recall: (what: 'everything' | 'use') => Promise<void>
  /** Sends a message, and resolves when the run that has read it has ended. @param signal cancels the runs of all prompts */
  readonly prompt: (content: PromptRequest['prompt'], signal: AbortSignal) => Promise<StopReason>
  /** Chooses a mode or a model for the next messages. @throws RequestError if there is none of this name */
  readonly choose: (option: string, value: string | boolean) => void
  readonly choices: () => Choices
  readonly describeChoices: () => ReturnType<typeof describeChoices>
  /** Tells the editor the prompts of MCP servers, as commands. Never rejects. */
  readonly tellCommands: () => Promise<void>
  /** Shows a sentence to the person. */
  readonly warn: (sentence: string) => void
  /** Cancels runs, and resolves when they have ended. `own`: only those of this session's prompts. */
  readonly close: (what: 'everything' | 'own') => Promise<void>
}

/** A message whose run has not ended. */
interface Prompt {
  /** The run that reads the message. Undefined: the daemon has not answered yet. */
  run: string | undefined
  isCancelled: boolean
  /** Whether the editor has sent the message. */
  readonly isOwn: boolean
  readonly ended: PromiseWithResolvers<DoneEvent>
}

export function createAcpSession(deps: AcpSessionDeps): AcpSession {
  const { id, feed, root, editor, capabilities, files, models, note, signal } = deps
  const { client } = feed
  const prompts = new Map<string, Prompt>()
  /** Messages that are being sent. Until the daemon has answered, nobody knows which events are about them. */
  const sending = new Set<Prompt>()
  const held: DaemonEvent[] = []
  /** Ends the question to the editor, by approval. */
  const questions = new Map<string, AbortController>()
  let updates = createUpdates({ root, client: capabilities, creditsBefore: 0 })
  let choices = deps.choices ?? firstChoices
  let title: string | undefined

  const isFollowed = (run: string): boolean => [...prompts.values()].some((prompt) => prompt.run === run)

  function tell(update: SessionUpdate): void {
    // A failure is that of the connection, which ends everything.
    editor.notify(methods.client.session.update, { sessionId: id, update }).catch(() => {})
  }

  function receive(event: DaemonEvent): void {
    // The daemon waits for what it asks about a known run, and a message with attachments takes its time.
    const isUrgent = event.type === 'editor' && prompts.has(event.id)
    if (sending.size > 0 && !isUrgent) held.push(event)
    else handle(event)
  }

  function handle(event: DaemonEvent): void {
    if (event.type === 'inbound') return follow(event.id, event.runId ?? event.id)
    if ('id' in event && !isFollowed(event.id)) return
    if (event.type === 'editor') return void answerFor(event)
    for (const update of updates.of(event)) tell(update)
    if (event.type === 'approval') {
      questions.get(event.approvalId)?.abort()
      if (event.state === 'pending') void ask(event)
      // The run goes on as the agent, and so does the conversation.
      if (isAcceptedPlan(event) && choices.mode === 'plan') setChoices({ ...choices, mode: 'agent' })
    }
    if (event.type !== 'done') return
    for (const [message, { run, ended }] of prompts) {
      if (run !== event.id) continue
      prompts.delete(message)
      ended.resolve(event)
    }
  }

  /** A message that joined a run which ended before a model has read it begins a run of its own. */
  function follow(message: string, run: string): void {
    const prompt = prompts.get(message)
    if (prompt === undefined) return
    prompt.run = run
    if (prompt.isCancelled) cancelRun(run)
  }

  function setChoices(chosen: Choices): void {
    const isOtherMode = chosen.mode !== choices.mode
    choices = chosen
    const { configOptions } = describeChoices(choices, models)
    tell({ sessionUpdate: 'config_option_update', configOptions })
    if (isOtherMode) tell({ sessionUpdate: 'current_mode_update', currentModeId: choices.mode })
  }

  function cancelRun(run: string): void {
    // Cancelling a run that has just ended fails, and the run's `done` event comes anyway.
    client.cancel(run).catch(() => {})
  }

  function cancel(cancelled: readonly Prompt[]): void {
    for (const prompt of cancelled) prompt.isCancelled = true
    for (const run of new Set(cancelled.map((prompt) => prompt.run))) if (run !== undefined) cancelRun(run)
  }

  const allPrompts = (): readonly Prompt[] => [...sending, ...prompts.values()]
  const cancelAll = (): void => cancel(allPrompts())

  async function ask(approval: ApprovalEvent): Promise<void> {
    const { approvalId } = approval
    const decided = new AbortController()
    questions.set(approvalId, decided)
    try {
      const question = toQuestion(root, approval)
      const response = await editor.request(
        methods.client.session.requestPermission,
        { sessionId: id, ...question },
        { cancellationSignal: AbortSignal.any([decided.signal, signal]), stopWaitingOnCancel: true },
      )
      // The editor has cancelled the turn of this question, also if it does not send `session/cancel`.
      const decision = toDecision(question, response)
      if (decision === 'cancelled') cancelRun(approval.id)
      else await client.decide(approvalId, decision)
    } catch (error) {
      // Another listener has decided, or the run or the connection has ended: the editor has not answered.
      if (decided.signal.aborted || !(error instanceof RequestError)) return
      note(`The editor cannot ask about ${approval.tool}, so it was refused: ${error.message}`)
      await client.decide(approvalId, 'refuse').catch(() => {})
    } finally {
      questions.delete(approvalId)
    }
  }

  /** Another editor with this conversation has begun the other runs. */
  async function answerFor(event: EditorEvent): Promise<void> {
    if (prompts.get(event.id)?.isOwn !== true) return
    const { id: run, requestId } = event
    const answer = await files.answer(event)
    // The text may be longer than the daemon takes. If the answer is late, the run has gone on without it.
    await client
      .answerEditor(run, requestId, answer)
      .catch(() => client.answerEditor(run, requestId, { ok: false }))
      .catch(() => {})
  }

  function toBody(content: PromptRequest['prompt']): MessageInput {
    const { ability } = files
    return { ...toMessage(root, content), conversationId: id, ...choices, ...(ability && { editor: ability }) }
  }

  async function send(content: PromptRequest['prompt'], asked: AbortSignal): Promise<StopReason> {
    if (asked.aborted) return 'cancelled'
    const prompt: Prompt = { run: undefined, isCancelled: false, isOwn: true, ended: Promise.withResolvers() }
    prompt.ended.promise.catch(() => {})
    asked.addEventListener('abort', cancelAll, { once: true })
    try {
      await begin(prompt, content)
      const { outcome, reason } = await prompt.ended.promise
      await tellTitle()
      if (prompt.isCancelled) return 'cancelled'
      const stopReason = stopReasons[outcome]
      if (stopReason === undefined) throw failed(reason)
      return stopReason
    } finally {
      asked.removeEventListener('abort', cancelAll)
    }
  }

  async function begin(prompt: Prompt, content: PromptRequest['prompt']): Promise<void> {
    sending.add(prompt)
    try {
      const accepted = await client.send(toBody(content), signal)
      prompts.set(accepted.id, prompt)
      follow(accepted.id, accepted.runId ?? accepted.id)
    } catch (error) {
      prompt.ended.reject(error)
      throw error
    } finally {
      sending.delete(prompt)
      if (sending.size === 0) for (const event of held.splice(0)) handle(event)
    }
  }

  async function tellTitle(): Promise<void> {
    const list = await client.conversations(signal).catch(() => [])
    const known = list.find((conversation) => conversation.id === id)
    if (known === undefined || known.title === title) return
    ;({ title } = known)
    tell({ sessionUpdate: 'session_info_update', title, updatedAt: known.lastMessageAt ?? null })
  }

  async function missed(): Promise<void> {
    for (const run of new Set(Array.from(prompts.values(), (each) => each.run))) {
      if (run === undefined) continue
      for (const event of await client.missed(run).catch(() => [])) {
        if (event.type !== 'approval' || !questions.has(event.approvalId)) receive(event)
      }
    }
  }

  function end(): void {
    const failure = new CommandFailure(exitCode.failed, goneText)
    for (const { ended } of prompts.values()) ended.reject(failure)
    prompts.clear()
  }

  const leave = feed.listen({ conversationId: id, onEvent: receive, onGap: () => void missed(), onEnd: end })

  return {
    feed,
    root,
    async recall(what) {
      const runs = await client.history(id, signal)
      if (what === 'everything') for (const run of runs) for (const update of replayRun(root, run)) tell(update)
      const creditsBefore = runs.reduce((sum, { usage }) => sum + (usage.credits ?? 0), 0)
      updates = createUpdates({ root, client: capabilities, creditsBefore })
      for (const update of usageUpdate(runs.at(-1)?.context, creditsBefore)) tell(update)
      takeOver(runs)
    },
    prompt: send,
    choose(option, value) {
      const chosen = choose(choices, models, option, value)
      if (chosen === undefined) {
        throw RequestError.invalidParams(undefined, `there is no ${option} ${JSON.stringify(value)}`)
      }
      setChoices(chosen)
    },
    choices: () => choices,
    describeChoices: () => describeChoices(choices, models),
    async tellCommands() {
      // A key sees no prompts of an editor, and a session works without commands.
      const offered = await client.prompts(id, signal).catch(() => [])
      if (offered.length === 0) return
      tell({ sessionUpdate: 'available_commands_update', availableCommands: [...describeCommands(offered)] })
    },
    warn: (sentence) => tell(updates.warning(sentence)),
    async close(what) {
      const cancelled = allPrompts().filter(({ isOwn }) => isOwn || what === 'everything')
      cancel(cancelled)
      await Promise.allSettled(cancelled.map(({ ended }) => ended.promise))
      leave()
    },
  }

  /** Shows the remainder of runs that go on, and asks what they wait for. */
  function takeOver(runs: readonly RunReport[]): void {
    for (const { id: run, state } of runs) {
      if (state === 'ended') continue
      const ended = Promise.withResolvers<DoneEvent>()
      ended.promise.catch(() => {})
      prompts.set(run, { run, isCancelled: false, isOwn: false, ended })
    }
    void missed()
  }
}
