import { userMessage } from '../translate/turn-request.ts'
import type { TurnItem, Usage } from '../translate/turn.ts'
import { decideApproval, wantApproval } from './approvals.ts'
import { cutAt, estimateItems, measure, promptBudget } from './context-size.ts'
import { hasImage, leaveOutImages, wasRefused } from './images.ts'
import { noGrants } from './loop-state.ts'
import type {
  Answer,
  AskFailure,
  Ending,
  LoopCommand,
  LoopEvent,
  LoopSettings,
  LoopState,
  LoopStep,
  ModelChoice,
  ToolEnd,
} from './loop-state.ts'
import { summaryText } from './prompts.ts'
import { addResult, countResult, endOfCall, withResults } from './loop-results.ts'
import { readAnswer, withReadableArguments } from './read-answer.ts'
import { finalReason, inVainReason, unplannedReason } from './summarise-run.ts'
import { plural } from './plural.ts'

/** The run ends when the same call has given the same result this many times, with nothing new in between. */
const maxRepeats = 5

/** Changes and commands of a run. `agent.max-steps` and `agent.max-minutes` end most runs earlier. */
const maxActions = 100

/** Number of consecutive refusals that ends a run. */
const maxRefusals = 3

/** A message of this many contexts is not sent: upstream would refuse it, however wrong the estimate is. */
const surelyTooLong = 2

/** @param history the items of earlier runs, oldest first. The run starts at their last summary, if they have one. */
export function startLoop(settings: LoopSettings, history: readonly TurnItem[], goal: TurnItem): LoopState {
  const summaryAt = history.findLastIndex(({ type }) => type === 'compaction')
  const earlier = history.slice(Math.max(summaryAt, 0))
  return {
    settings,
    mode: settings.mode,
    phase: 'new',
    items: [...earlier, goal],
    earlierCount: earlier.length,
    goalAt: earlier.length,
    step: 0,
    modelAt: 0,
    queue: [],
    results: [],
    isWithoutImages: false,
    isCorrecting: false,
    counts: new Map(),
    actions: 0,
    denials: 0,
    refusals: 0,
    grants: noGrants,
    pending: undefined,
    stopping: undefined,
    shortenedAt: 0,
    repeatedAt: 0,
    isWindowed: false,
    inbox: [],
    hasAnswered: false,
    requests: 0,
    usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
    context: undefined,
    model: undefined,
    asked: 0,
    scale: 1,
  }
}

/** Returns the items of this run for the session's history. */
export function newItems({ items, earlierCount }: LoopState): readonly TurnItem[] {
  return items.slice(earlierCount)
}

/** Reduces an event to the next state and the commands to run. Pure. */
export function stepLoop(state: LoopState, event: LoopEvent): LoopStep {
  if (state.phase === 'ended') return { state, commands: [] }
  switch (event.type) {
    case 'begin':
      return nextStep(state)
    case 'answered':
      return answered(state, event.answer)
    case 'ask_failed':
      return askFailed(state, event.failure)
    case 'summarised':
      return summarised(state, event.text, event.usage)
    case 'approval_wanted':
      return wantApproval(state, event.request, event.consents)
    case 'approval_decided':
      return decideApproval(state, event.decision)
    case 'tool_ended':
      return toolEnded(state, event.end)
    case 'joined':
      return { state: { ...state, inbox: [...state.inbox, event.message] }, commands: [] }
    case 'stop':
      return stop(state, event.ending)
  }
}

function modelOf({ settings, modelAt }: LoopState): ModelChoice {
  return settings.models[modelAt] ?? settings.models[0]
}

function stop(state: LoopState, ending: Ending): LoopStep {
  if (state.phase === 'new') return finish(state, ending)
  if (state.stopping !== undefined) return { state, commands: [] }
  return { state: { ...state, stopping: ending }, commands: [{ type: 'abort' }] }
}

// Requests to the model.

function nextStep(before: LoopState): LoopStep {
  const { maxSteps } = before.settings
  if (before.step >= maxSteps) {
    return finish(before, { outcome: 'max_steps', reason: `The run reached its limit of ${maxSteps} steps.` })
  }
  const spent = spentEnding(before)
  if (spent !== undefined) return finish(before, spent)
  const state = readInbox({ ...before, step: before.step + 1 })
  const { step } = state
  const header = { type: 'fragment', kind: 'step', text: `Step ${step} of ${maxSteps}`, step } as const
  const ids = before.inbox.map(({ id }) => id)
  return withFirst(
    [
      ...(before.mode === 'chat' ? [] : [{ type: 'emit', event: header } as const]),
      ...(ids.length > 0 ? [{ type: 'read', ids, step } as const] : []),
    ],
    ask(state),
  )
}

/** Adds the messages that joined the run. The user causes the request that has them. */
function readInbox(state: LoopState): LoopState {
  if (state.inbox.length === 0) return state
  const items = [...state.items, ...state.inbox.map(({ item }) => item)]
  return { ...state, items, inbox: [], hasAnswered: false }
}

/** What a request costs is known only after its answer, so the last one may exceed the limit. */
function spentEnding({ settings: { maxCredits }, usage: { nanoAiu = 0 } }: LoopState): Ending | undefined {
  const credits = nanoAiu / 1e9
  if (maxCredits === 0 || credits < maxCredits) return undefined
  const used = Number(credits.toPrecision(3))
  return {
    outcome: 'max_credits',
    reason: `The run reached its limit of ${maxCredits} AI credits: it has used ${used}.`,
  }
}

/** Sends a request to the model. If the conversation is too long, an agent first asks for a summary; a chat drops old messages. */
function ask(state: LoopState): LoopStep {
  const spent = spentEnding(state)
  if (spent !== undefined) return finish(state, spent)
  const model = modelOf(state)
  const { mode } = state
  const { overheadTokens, initiator } = state.settings
  const budget = promptBudget(model.contextTokens) - overheadTokens
  const goal = state.items[state.goalAt]
  const goalTokens = goal === undefined ? 0 : estimateItems([goal])
  if (goalTokens > surelyTooLong * (model.contextTokens ?? Infinity)) {
    const reason = `The message is too long: with its attachments it has about ${goalTokens} tokens, and ${model.name} reads ${model.contextTokens}.`
    return finish(state, { outcome: 'failed', reason })
  }
  const isTooLong = estimateItems(state.items) * state.scale > budget
  if (isTooLong && mode !== 'chat' && state.shortenedAt < state.step && canShorten(state)) return shorten(state)
  const windowed = isTooLong && mode === 'chat' ? windowOf(state, budget) : state.items
  const isWindowed = windowed.length < state.items.length
  const items = state.isWithoutImages ? leaveOutImages(windowed, 0, wasRefused) : windowed
  const isBlind = state.requests === 0 && !model.seesImages && goal !== undefined && hasImage([goal])
  const text = 'The conversation is too long for the model: its oldest messages are left out.'
  const isNews = isWindowed && !state.isWindowed
  return {
    state: {
      ...state,
      phase: 'asking',
      requests: state.requests + 1,
      asked: estimateItems(windowed) + overheadTokens,
      isWindowed,
    },
    commands: [
      ...(isNews ? [notice(state, text), ...dropped(state, state.items.slice(0, -windowed.length), false)] : []),
      ...(isBlind ? [notice(state, `${model.name} takes no images, so that it does not see the attached ones.`)] : []),
      { type: 'ask', model, items, initiator: state.hasAnswered ? 'agent' : initiator, step: state.step },
    ],
  }
}

function windowOf({ items, scale, goalAt }: LoopState, budget: number): readonly TurnItem[] {
  // `cutAt` fills only a share of the budget, so that the next message does not move the window again.
  const at = Math.min(cutAt(items, budget / scale), goalAt)
  return items.slice(at)
}

function shortenAt(state: LoopState): number {
  const { overheadTokens } = state.settings
  return cutAt(state.items, (promptBudget(modelOf(state).contextTokens) - overheadTokens) / state.scale)
}

function canShorten(state: LoopState): boolean {
  const at = shortenAt(state)
  // The summary always keeps the user's message, so a part that consists of it alone cannot shrink.
  return at > 1 || (at === 1 && state.goalAt > 0)
}

function shorten(state: LoopState): LoopStep {
  const text = 'The conversation is too long for the model. Its older part is replaced by a summary.'
  return {
    state: { ...state, phase: 'summarising', requests: state.requests + 1, shortenedAt: state.step },
    commands: [
      notice(state, text),
      { type: 'summarise', model: modelOf(state), items: state.items.slice(0, shortenAt(state)) },
    ],
  }
}

function summarised(state: LoopState, text: string | undefined, usage: Usage | undefined): LoopStep {
  const counted = { ...state, usage: addUsage(state.usage, usage) }
  if (state.stopping !== undefined) return finish(counted, state.stopping)
  const at = shortenAt(state)
  const goal = state.items[state.goalAt]
  const keepsGoal = goal !== undefined && state.goalAt < at
  const summary = text ?? 'There is no summary: the earlier part was removed. Read again what you need.'
  const items: readonly TurnItem[] = [
    { type: 'compaction', text: summaryText(summary), path: '' },
    ...(keepsGoal ? [goal] : []),
    ...state.items.slice(at),
  ]
  const goalAt = keepsGoal ? 1 : state.goalAt - at + 1
  const note = notice(state, text ?? 'The model gave no summary; the older part was left out.')
  const left = state.items.slice(0, at).filter((item) => !(keepsGoal && item === goal))
  return withFirst(
    [...dropped(state, left, text !== undefined), note],
    ask({ ...counted, items, earlierCount: 0, goalAt }),
  )
}

function askFailed(state: LoopState, failure: AskFailure): LoopStep {
  if (state.stopping !== undefined) return finish(state, state.stopping)
  if (failure.isTooLong && state.shortenedAt < state.step) {
    // The estimate was too low, or the model's limit is lower than the model list states.
    const scale = Math.max(state.scale, promptBudget(modelOf(state).contextTokens) / Math.max(state.asked, 1))
    if (canShorten({ ...state, scale })) return shorten({ ...state, scale })
  }
  const { message, isBeforeAnswer } = failure
  if (
    failure.isRefused &&
    !failure.isModelMissing &&
    !state.isWithoutImages &&
    modelOf(state).seesImages &&
    hasImage(state.items)
  ) {
    const text = `${modelOf(state).name} did not take the request: ${message} Trying once more without images.`
    return withFirst([notice(state, text)], ask({ ...state, isWithoutImages: true }))
  }
  const broke = isBeforeAnswer ? 'did not answer' : 'did not finish its answer'
  // Calls run only after their whole answer has arrived, so no call of a truncated answer has run.
  if (!isBeforeAnswer && mayPass(failure) && state.repeatedAt < state.step) {
    const text = `${modelOf(state).name} ${broke}: ${message} Trying once more.`
    return withFirst([notice(state, text)], ask({ ...state, repeatedAt: state.step }))
  }
  const next = state.settings.models[state.modelAt + 1]
  if (next !== undefined && mayPass(failure)) {
    const text = `${modelOf(state).name} ${broke}: ${message} Switching to ${next.name}.`
    return withFirst([notice(state, text)], ask({ ...state, modelAt: state.modelAt + 1 }))
  }
  const isRepeated = !isBeforeAnswer && state.repeatedAt === state.step
  return finish(state, {
    outcome: 'failed',
    reason: isRepeated ? `The model twice did not finish its answer. ${message}` : message,
  })
}

/** Whether another model may answer. */
function mayPass({ status, isModelMissing }: AskFailure): boolean {
  return isModelMissing || status === 402 || status === 429 || status >= 500
}

// Answers.

function answered(before: LoopState, answer: Answer): LoopStep {
  const { usage, model, items } = answer
  // The estimate can be too low for unusual text, e.g. hashes.
  const scale = usage === undefined || before.asked === 0 ? before.scale : clamp(usage.inputTokens / before.asked, 1, 3)
  // The images were the reason of the refusal: the answer came without them. With them, each later message would be refused.
  const asked = before.isWithoutImages ? leaveOutImages(before.items, 0, wasRefused) : before.items
  const state: LoopState = {
    ...before,
    items: [...asked, ...items.map(withReadableArguments)],
    isWithoutImages: false,
    usage: addUsage(before.usage, usage),
    hasAnswered: true,
    context: contextOf(before, answer),
    model,
    scale,
  }
  if (state.stopping !== undefined) return finish(state, state.stopping)
  const isNative = modelOf(state).isNative || state.mode === 'chat'
  const { step } = state
  const reading = readAnswer(answer, step, isNative)
  switch (reading.kind) {
    case 'unusable':
      return correct(state, reading.correction, reading.reason)
    case 'calls': {
      const event = { type: 'fragment', kind: 'commentary', text: reading.commentary, step } as const
      const emitted: readonly LoopCommand[] = reading.commentary === '' ? [] : [{ type: 'emit', event }]
      return withFirst(emitted, nextCall({ ...state, queue: reading.calls, results: [], isCorrecting: false }))
    }
    case 'final': {
      const event = { type: 'fragment', kind: 'answer', text: reading.text, step } as const
      // `createFragments` has emitted the text of a native answer already.
      const emitted: readonly LoopCommand[] = isNative ? [] : [{ type: 'emit', event }]
      const note = reading.isCut ? [notice(state, 'The answer was cut off at the output limit of the model.')] : []
      return withFirst([...emitted, ...note], finish(state, finalEnding(state), reading.text))
    }
  }
}

function finalEnding({ mode, actions, denials }: LoopState): Ending {
  if (mode === 'plan') return { outcome: 'completed', reason: unplannedReason }
  return { outcome: 'completed', reason: denials > 0 && actions === 0 ? inVainReason : finalReason }
}

/** The next request has the last one and its answer. */
function contextOf({ asked }: LoopState, { usage, items, contextTokens }: Answer): LoopState['context'] {
  const isEstimated = usage === undefined || usage.inputTokens === 0
  const tokens = isEstimated ? asked + estimateItems(items) : usage.inputTokens + usage.outputTokens
  const limit = contextTokens === undefined ? {} : { limit: contextTokens }
  return { tokens, ...limit, ...(isEstimated && { isEstimated }) }
}

/** Asks for the answer once more. */
function correct(state: LoopState, text: string, reason: string): LoopStep {
  if (state.isCorrecting) return finish(state, { outcome: 'failed', reason })
  const note = notice(state, 'The answer of the model could not be used. Trying once more.')
  return withFirst([note], ask({ ...state, isCorrecting: true, items: [...state.items, userMessage(text)] }))
}

// Tools.

function nextCall(state: LoopState): LoopStep {
  const [call] = state.queue
  if (call === undefined) return nextStep(withResults(state))
  if (state.actions >= maxActions) {
    const reason = `The run reached its limit of ${maxActions} changes and commands.`
    return finish(state, { outcome: 'max_actions', reason })
  }
  return { state: { ...state, phase: 'calling' }, commands: [{ type: 'call', call, step: state.step }] }
}

function toolEnded(before: LoopState, end: ToolEnd): LoopStep {
  const emitted: LoopCommand = { type: 'emit', event: endOfCall(end, before.step) }
  const call = `${before.queue[0]?.name} ${JSON.stringify(before.queue[0]?.args)}`
  const counts = countResult(before.counts, call, end)
  const count = Math.max(...counts.values())
  const state = {
    ...addResult(before, end, end.outcome !== 'ok'),
    queue: before.queue.slice(1),
    pending: undefined,
    actions: before.actions + (end.isEffect ? 1 : 0),
    denials: before.denials + (end.isDenied ? 1 : 0),
    counts,
  }
  const events = [...expired(before), emitted]
  if (state.stopping !== undefined) return withFirst(events, finish(state, state.stopping))
  if (state.refusals >= maxRefusals) {
    const reason = `${state.refusals} approvals in a row were refused.`
    return withFirst(events, finish(state, { outcome: 'refused', reason }))
  }
  if (count >= maxRepeats) {
    const reason = `The model made the same call ${count} times, always with the same result: ${call.slice(0, 200)}`
    return withFirst(events, finish(state, { outcome: 'repeated_call', reason }))
  }
  return withFirst(events, nextCall(state))
}

/** A call may end, e.g. at its time limit, while its approval is pending. */
function expired({ pending }: LoopState): readonly LoopCommand[] {
  if (pending === undefined) return []
  const { approvalId, callId, tool } = pending
  return [{ type: 'emit', event: { type: 'approval', approvalId, callId, tool, state: 'expired' } }]
}

// The end.

function finish(state: LoopState, ending: Ending, answer = ''): LoopStep {
  const text = 'This was not run: the run had ended.'
  let settled = state
  for (const call of state.queue) settled = addResult({ ...settled, queue: [call] }, { content: text }, true)
  return {
    state: { ...withResults(settled), phase: 'ended', queue: [], pending: undefined, stopping: undefined },
    commands: [
      ...(ending.outcome === 'completed' ? [] : [notice(state, ending.reason)]),
      { type: 'end', ending, answer },
    ],
  }
}

// Parts.

function notice({ step }: LoopState, text: string): LoopCommand {
  return { type: 'emit', event: { type: 'fragment', kind: 'notice', text, ...(step > 0 && { step }) } }
}

/** Says what the context no longer has. */
function dropped(state: LoopState, items: readonly TurnItem[], isSummarised: boolean): readonly LoopCommand[] {
  const { messages, calls, tokens } = measure(items)
  const counts = [plural(messages, 'message'), plural(calls, 'call of a tool', 'calls of tools')].join(' and ')
  const text = `Left out: ${counts}, about ${tokens} tokens.`
  const event = { type: 'compaction', step: state.step, isSummarised, messages, calls, tokens } as const
  return [{ type: 'emit', event }, notice(state, text)]
}

function withFirst(commands: readonly LoopCommand[], { state, commands: others }: LoopStep): LoopStep {
  return { state, commands: [...commands, ...others] }
}

function addUsage(sum: LoopState['usage'], usage: Usage | undefined): LoopState['usage'] {
  if (usage === undefined) return sum
  const nanoAiu = (sum.nanoAiu ?? 0) + (usage.nanoAiu ?? 0)
  return {
    inputTokens: sum.inputTokens + usage.inputTokens,
    outputTokens: sum.outputTokens + usage.outputTokens,
    cachedInputTokens: sum.cachedInputTokens + usage.cachedInputTokens,
    ...((sum.nanoAiu !== undefined || usage.nanoAiu !== undefined) && { nanoAiu }),
  }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}
