import type { Logger } from '../logging/logger.ts'
import type { SecretRecord, Tools } from '../tools/tool.ts'
import { createTurn, userMessage } from '../translate/turn-request.ts'
import type { MessageItem, TurnItem } from '../translate/turn.ts'
import type { RunMode } from '../api/run.ts'
import type { ConsentRule } from '../workspace/policy/consent-rules.ts'
import { withOpenFiles } from '../workspace/open-files.ts'
import { ToolError } from '../workspace/tool-error.ts'
import type { AgentOutcome, AgentTask, ApprovalRequest, JoinedMessage } from './agent-task.ts'
import { askModel, createFragments, type RunTurn } from './ask-model.ts'
import { createMentions } from './attach-mentions.ts'
import { createPrompts } from './expand-prompt.ts'
import { createChangeRecord } from './change-record.ts'
import { estimateItems, newestItems, promptBudget } from './context-size.ts'
import { goalOf, holdsSecret, recordOf, requestItems } from './conversation.ts'
import type { Ending, LoopCommand, LoopEvent, LoopSettings, ModelChoice } from './loop-state.ts'
import { agentPrompt, chatPrompt, jsonRules, planPrompt, secretNote, summaryPrompt } from './prompts.ts'
import { createToolRunner, type ToolRunner } from './run-tool.ts'
import { createInstructionFiles } from './instruction-files.ts'
import { createScope } from './scope.ts'
import { newItems, startLoop, stepLoop } from './step-loop.ts'
import { createStopwatch } from './stopwatch.ts'
import { endingOf, summariseRun } from './summarise-run.ts'
import { createToolSet, type ToolSet } from './tool-set.ts'

export interface AgentDeps {
  readonly runTurn: RunTurn
  readonly tools: Tools
  /** Returns undefined if no model has this name. */
  readonly modelFacts: (name: string) => ModelFacts | undefined
  /** Monotonic. Ms. */
  readonly now: () => number
  /** Returns a function that cancels the timer. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  readonly randomId: () => string
  readonly log: Logger
}

interface ModelFacts {
  readonly contextTokens: number | undefined
  readonly hasToolCalls: boolean
  readonly seesImages: boolean
}

/** With this name, Copilot chooses the model. */
const defaultModel = 'auto'

/** The largest value of `workspace.max-file-mb`: no tool writes a larger file. */
const maxFileBytes = 64 * 1024 * 1024

/** Bounds of `maxResultOf`: the longest result of a tool that the model gets. Characters. */
const maxResult = 32_000
const minResult = 4000

/** What the mentions of a message attach, in longest results of a tool: half of the context at the most. */
const maxMentioned = 4

/** A rough average. */
const charactersPerToken = 4

/**
 * Runs a task to its end: asks the model, runs the tools that it calls, asks a person for approvals. `stepLoop` decides each
 * command, and this function runs it. Never rejects: failures are outcomes.
 */
export async function runAgent(deps: AgentDeps, task: AgentTask): Promise<AgentOutcome> {
  const boundary = `data-${deps.randomId().replaceAll('-', '').slice(0, 12)}`
  try {
    return await drive(deps, task, boundary)
  } catch (error) {
    deps.log.error({ err: error, run: task.id }, 'a run failed unexpectedly')
    const reason = error instanceof Error ? error.message : 'The run failed.'
    const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 }
    const none = { answer: '', files: [], steps: 0, requests: 0, usage, context: undefined, model: undefined }
    return { outcome: 'failed', reason, summary: reason, ...none, items: [goalOf(task, boundary)] }
  }
}

async function drive(deps: AgentDeps, task: AgentTask, boundary: string): Promise<AgentOutcome> {
  const { session, mode, settings, key, openFiles } = task
  await deps.tools.prepare?.(session)
  /** The mode in which the run is now: `plan` becomes `agent`. */
  let reached: RunMode = mode
  const toolSet = (): ToolSet => createToolSet(deps.tools, session, reached)
  const models = modelsOf(deps, task)
  const aborted = new AbortController()
  const signal = AbortSignal.any([aborted.signal, task.signal, session.signal])
  // The model may repeat what an earlier run of the conversation has read.
  let hasReadSecret = task.history.some(holdsSecret)
  const secrets: SecretRecord = { note: () => (hasReadSecret = true), wereRead: () => hasReadSecret }
  const scope = createScope(settings.allowedRoots, session.folder)
  const { caller, emit } = task
  const instructionFiles = createInstructionFiles({
    tools: deps.tools,
    session,
    scope,
    caller,
    ownerId: key?.id,
    openFiles,
    boundary,
    maxLength: maxResultOf(models),
    known: task.knownInstructions,
    secrets,
    emit,
  })
  const instructions = await instructionFiles.ofRoot(signal)
  const loopSettings: LoopSettings = {
    mode,
    models,
    maxSteps: settings.maxSteps,
    maxMinutes: settings.maxMinutes,
    maxCredits: settings.maxCredits,
    requireApproval: settings.requireApproval,
    initiator: task.initiator,
    overheadTokens: overheadOf(toolSet(), systemPrompt(models[0]) + instructions),
  }
  const largest = Math.max(...models.map(({ contextTokens }) => promptBudget(contextTokens)))
  const history = await newestItems(task.history, 2 * largest)
  const events: LoopEvent[] = []
  let wake: (() => void) | undefined
  const push = (event: LoopEvent): void => {
    events.push(event)
    wake?.()
  }

  const stop = (ending: Ending): void => push({ type: 'stop', ending })
  const cancel = (): void =>
    stop({
      outcome: 'cancelled',
      reason: task.signal.aborted ? 'The run was cancelled.' : 'The workspace was closed.',
    })
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
  const limit: Ending = {
    outcome: 'max_minutes',
    reason: `The run reached its limit of ${settings.maxMinutes} minutes.`,
  }
  const clock = createStopwatch(deps, settings.maxMinutes * 60_000, () => stop(limit))

  let settleApproval: ((isAllowed: boolean) => void) | undefined
  /** Settles when what a person has allowed for good is stored. */
  let remembering = Promise.resolve()
  const files = withOpenFiles(session.folder, openFiles)
  const record = createChangeRecord({ folder: session.folder, files, maxFileBytes })
  const runner = createToolRunner({
    ...deps,
    session,
    caller,
    ownerId: key?.id,
    runId: task.id,
    lifetime: signal,
    openFiles,
    files,
    scope,
    record,
    maxFileBytes,
    maxResult: maxResultOf(models),
    boundary,
    secrets,
    isUnattended: mode === 'chat' || !settings.requireApproval,
    emit,
    textsFor: instructionFiles.ofFolders,
    find: (name) => toolSet().find(name),
    isPlanning: () => reached === 'plan',
    isApproved(request) {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      settleApproval = resolve
      void readConsents().then((consents) => push({ type: 'approval_wanted', request, consents }))
      return promise
    },
  })

  const attach = createMentions({ ...deps, session, runner, maxLength: maxMentioned * maxResultOf(models), emit })
  const expand = createPrompts({
    ...deps,
    session,
    caller,
    ownerId: key?.id,
    boundary,
    maxLength: maxResultOf(models),
    emit,
  })
  const goal = await read(task, 0, (reason) => stop({ outcome: 'failed', reason }))
  let state = startLoop(loopSettings, history, goal)

  /** Returns a message with what it names. Only the user's own words name anything. */
  async function read(
    message: Pick<AgentTask, 'text' | 'attachments'>,
    step: number,
    fail: (reason: string) => void,
  ): Promise<MessageItem> {
    if (task.initiator === 'agent') return goalOf(message, boundary)
    const said = await expand(message.text, step, signal)
    if (said !== undefined && 'failure' in said) {
      fail(said.failure)
      return goalOf(message, boundary)
    }
    return goalOf(message, boundary, await attach(message.text, step, signal), said?.parts)
  }

  function systemPrompt(model: ModelChoice): string {
    const parts = { session, boundary, allowedRoots: settings.allowedRoots }
    if (reached === 'chat') return chatPrompt(parts)
    const prompt = reached === 'plan' ? planPrompt(parts) : agentPrompt(parts)
    if (model.isNative) return prompt
    return `${prompt}\n\n${jsonRules(toolSet().described, reached === 'agent')}`
  }

  async function ask({ model, items, initiator, step }: Extract<LoopCommand, { type: 'ask' }>): Promise<void> {
    const { isNative } = model
    const turn = createTurn(requestItems(systemPrompt(model), items, model, instructions), {
      tools: isNative ? toolSet().offered : [],
      sessionId: session.id,
    })
    const onEvent = createFragments({ mode, isNative, step, emit: task.emit })
    const call = { id: deps.randomId(), turn, model: model.name, signal, key, initiator }
    // Encoding attachments of 10 MB takes 40 ms, so it gets its own turn of the event loop.
    await new Promise(setImmediate)
    const asked = await askModel(deps.runTurn, call, onEvent)
    if (!asked.ok) return push({ type: 'ask_failed', failure: asked.failure })
    const { contextTokens = model.contextTokens } = deps.modelFacts(asked.answer.model) ?? {}
    push({ type: 'answered', answer: { ...asked.answer, contextTokens } })
  }

  async function summarise(model: ModelChoice, items: readonly TurnItem[]): Promise<void> {
    const maxLength = promptBudget(model.contextTokens) * charactersPerToken * 0.7
    const request = userMessage(recordOf(items, boundary, maxLength))
    const turn = createTurn(requestItems(summaryPrompt(boundary), [request], model), { sessionId: session.id })
    const call = { id: deps.randomId(), turn, model: model.name, signal, key, initiator: 'agent' as const }
    const asked = await askModel(deps.runTurn, call, () => {})
    const answer = asked.ok ? asked.answer : undefined
    const text = answer?.text.trim() === '' ? undefined : answer?.text.trim()
    const marked = text !== undefined && hasReadSecret ? `${text}\n${secretNote}` : text
    instructionFiles.forgetFolders()
    push({ type: 'summarised', text: marked, usage: answer?.usage })
  }

  /** What a person has taken back does not count any more, also in a run that goes on. */
  async function readConsents(): Promise<readonly ConsentRule[] | undefined> {
    await remembering
    const now = await session.consents?.read()
    return now?.problem === undefined ? now?.rules : undefined
  }

  async function remember(rules: readonly ConsentRule[]): Promise<void> {
    try {
      await session.consents?.add(rules)
    } catch (error) {
      const reason = error instanceof ToolError ? error.message : 'An unexpected error occurred.'
      deps.log.warn({ run: task.id, err: error }, 'a consent could not be stored')
      emit({
        type: 'fragment',
        kind: 'notice',
        text: `What you allowed was not stored, so you will be asked again. ${reason}`,
      })
    }
  }

  async function askPerson(request: ApprovalRequest): Promise<void> {
    clock.pause()
    try {
      const decision = await task.approve(request, signal)
      push({ type: 'approval_decided', decision })
    } catch {
      push({ type: 'approval_decided', decision: 'expired' })
    } finally {
      clock.resume()
    }
  }

  function perform(command: Exclude<LoopCommand, { type: 'end' }>): void {
    switch (command.type) {
      case 'emit':
        task.emit(command.event)
        return
      case 'ask':
        void ask(command)
        return
      case 'summarise':
        void summarise(command.model, command.items)
        return
      case 'call':
        void runner.run(command.call, command.step, signal).then((end) => push({ type: 'tool_ended', end }))
        return
      case 'ask_person':
        void askPerson(command.request)
        return
      case 'read':
        task.onRead?.(command.ids, command.step)
        return
      case 'remember':
        remembering = remember(command.rules)
        return
      case 'settle_approval':
        void remembering.then(() => settleApproval?.(command.isAllowed))
        return
      case 'abort':
        aborted.abort()
    }
  }

  /** Resolves when the messages that have joined so far are in `events`, in their order. */
  let joined = Promise.resolve()
  async function join(message: JoinedMessage): Promise<void> {
    const note = (text: string): void => emit({ type: 'fragment', kind: 'notice', text, step: state.step })
    push({ type: 'joined', message: { id: message.id, item: await read(message, state.step, note) } })
  }
  task.onJoined?.((message) => {
    joined = joined.then(() => join(message))
  })
  await joined
  push({ type: 'begin' })
  try {
    for (;;) {
      const event = events.shift()
      if (event === undefined) {
        await new Promise<void>((resolve) => (wake = resolve))
        continue
      }
      const step = stepLoop(state, event)
      const { requests, usage, context, model } = step.state
      if (requests !== state.requests || usage !== state.usage) task.onProgress?.({ requests, usage, context, model })
      ;({ state } = step)
      reached = state.mode
      for (const command of step.commands) {
        if (command.type === 'end') return await outcomeOf(command)
        perform(command)
      }
    }
  } finally {
    clock.end()
    signal.removeEventListener('abort', cancel)
    aborted.abort()
  }

  async function outcomeOf({ ending: ended, answer }: Extract<LoopCommand, { type: 'end' }>): Promise<AgentOutcome> {
    const changed = await record.net()
    const { commands, patchIds }: ToolRunner = runner
    const ending = mode === 'chat' ? ended : endingOf(ended, { files: changed, commands })
    const { step: steps, requests, usage, context, model } = state
    const summary =
      mode === 'chat' && changed.length === 0
        ? answer
        : summariseRun({ ending, files: changed, patchIds, commands, answer })
    return {
      ...ending,
      summary,
      answer,
      files: changed,
      steps,
      requests,
      usage,
      context,
      model,
      items: newItems(state),
    }
  }
}

function modelsOf({ modelFacts }: AgentDeps, { settings }: AgentTask): LoopSettings['models'] {
  const choose = (name: string): ModelChoice => {
    const { contextTokens, hasToolCalls = true, seesImages = true } = modelFacts(name) ?? {}
    const isNative = settings.protocol === 'auto' ? hasToolCalls : settings.protocol === 'native'
    return { name, contextTokens, isNative, seesImages }
  }
  const first = settings.model === '' ? defaultModel : settings.model
  return [choose(first), ...settings.fallbackModels.filter((name) => name !== first).map(choose)]
}

function overheadOf({ offered }: ToolSet, prompt: string): number {
  const tools = offered.map((tool) => userMessage(JSON.stringify(tool)))
  return estimateItems([userMessage(prompt), ...tools])
}

/** Several results must fit into the smallest context of the run's models. */
function maxResultOf(models: LoopSettings['models']): number {
  const smallest = Math.min(...models.map(({ contextTokens }) => promptBudget(contextTokens)))
  return Math.min(Math.max((smallest * charactersPerToken) / 8, minResult), maxResult)
}
