import { forRunOf, mayChoose } from '../../page/static/approval-words.js'
import { visible, visibleLines } from '../../terminal/visible.ts'
import { CommandFailure, exitCode, otherVersion, writeJsonLine } from '../shared/command.ts'
import type { MessageInput } from '../../api/inputs.ts'
import type { AgentFlags, CommandContext, ExitCode } from '../shared/command.ts'
import { daemonEvent } from '../../api/events.ts'
import type { ApprovalEvent, DoneEvent } from '../../api/events.ts'
import type { ApprovalDecision } from '../../api/run.ts'
import { isObject } from '../../json/json.ts'
import { createRunClient, goneText } from './client.ts'
import type { RunClient } from './client.ts'
import { connect } from './connect.ts'
import type { Connection } from './connect.ts'
import { createRunScreen } from './render-run.ts'
import type { RunScreen } from './render-run.ts'

/** The first signal cancels the run, which then reports its changes. The second ends the command at once. */
interface Interrupt {
  /** Aborted by the first signal of a run. */
  readonly first: AbortSignal
  /** Aborted by the second. */
  readonly second: AbortSignal
  readonly press: () => void
  /** The next signal is the first one of another run. */
  readonly renew: () => void
}

/** Runs an agent in a folder and shows what it does. */
export async function agent(context: CommandContext, flags: AgentFlags): Promise<ExitCode> {
  const { maxSteps, maxCredits } = flags
  if (maxSteps !== undefined && !/^[1-9]\d{0,4}$/.test(maxSteps)) {
    throw new CommandFailure(exitCode.usage, `--max-steps must be a whole number of at least 1, got "${maxSteps}".`)
  }
  if (maxCredits !== undefined && !(Number(maxCredits) > 0)) {
    throw new CommandFailure(exitCode.usage, `--max-credits must be a number above 0, got "${maxCredits}".`)
  }
  const isAsking = flags.goal.length === 0
  if (isAsking && (flags.json === true || context.readLine === undefined || !context.stdout.isTerminal))
    throw new CommandFailure(
      exitCode.usage,
      'Describe the task: copilot-proxy agent "GOAL"\nWithout a goal, agent asks for one in a terminal.',
    )
  if (!isAsking && flags.goal.join('').trim() === '')
    throw new CommandFailure(exitCode.usage, 'The goal is empty. Describe the task for the agent.')
  const connection = await connect(context, flags, { needsModel: true })
  const interrupt = createInterrupt()
  const giveBack = context.takeSignals?.(interrupt.press)
  // The first signal may have come before `takeSignals`.
  if (context.signal.aborted) interrupt.press()
  const onAbort = (): void => interrupt.press()
  context.signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await follow(context, flags, connection, interrupt)
  } catch (error) {
    if (interrupt.first.aborted && !(error instanceof CommandFailure)) return exitCode.interrupted
    throw error
  } finally {
    context.signal.removeEventListener('abort', onAbort)
    giveBack?.()
    const closed = connection.close()
    if (!interrupt.second.aborted) await closed
  }
}

async function follow(
  context: CommandContext,
  flags: AgentFlags,
  connection: Connection,
  interrupt: Interrupt,
): Promise<ExitCode> {
  const out = flags.json ? context.stderr : context.stdout
  const screen = createRunScreen(out)
  const { root, isDemo, readOnly } = connection
  const simulated = isDemo ? ' All answers are simulated.' : ''
  out.write(visibleLines(`Working in ${root}.${simulated}\n`))
  const canAsk = context.readKey !== undefined && out.isTerminal
  if (readOnly === 'locked') screen.note(lockedNote)
  else if (readOnly) screen.note(canAsk && !flags.yes ? askedNote : unaskedNote)
  const client = createRunClient(context, connection)
  const conversation = await client.conversation(flags.continue === true ? 'last' : 'new', interrupt.first)
  if (flags.continue === true) screen.note(`Continuing "${visible(conversation.title)}".`)
  const session: AgentSession = { client, screen, canAsk, readOnly, conversationId: conversation.id }
  if (flags.goal.length > 0) return runGoal(context, flags, session, { goal: flags.goal.join(' '), interrupt })
  for (;;) {
    const goal = await readLineOf(context, interrupt, '\nYour task (Enter alone ends): ')
    if (goal === '') return exitCode.done
    await runGoal(context, flags, session, { goal, interrupt })
    interrupt.renew()
  }
}

interface AgentSession {
  readonly client: RunClient
  readonly screen: RunScreen
  readonly canAsk: boolean
  readonly readOnly: Connection['readOnly']
  readonly conversationId: string
}

interface Task {
  readonly goal: string
  readonly interrupt: Interrupt
}

/** Sends the task, and follows its run to the end. */
async function runGoal(
  context: CommandContext,
  flags: AgentFlags,
  { client, screen, canAsk, readOnly, conversationId }: AgentSession,
  { goal, interrupt }: Task,
): Promise<ExitCode> {
  const events = await client.events(interrupt.second, () => {
    screen.note('The connection to copilot-proxy broke. Connecting again ...')
  })
  const message: MessageInput = {
    text: goal,
    conversationId,
    mode: flags.plan === true ? 'plan' : 'agent',
    // The command shows the run of its own message.
    queue: true,
    ...(flags.model !== undefined && { model: flags.model }),
    ...(flags.maxSteps !== undefined && { maxSteps: Number(flags.maxSteps) }),
    ...(flags.maxCredits !== undefined && { maxCredits: Number(flags.maxCredits) }),
  }
  const { id } = await client.send(message, interrupt.first)
  const cancel = (): void => {
    screen.note('\nCancelling the run. Press Ctrl-C again to exit immediately.')
    // Cancelling a run that has just ended fails, and the run's `done` event comes anyway.
    client.cancel(id).catch(() => {})
  }
  if (interrupt.first.aborted) cancel()
  else interrupt.first.addEventListener('abort', cancel, { once: true })

  /** Returns the exit code at the end of the run. */
  async function handle(given: unknown): Promise<ExitCode | undefined> {
    const { data: event, error } = daemonEvent.safeParse(given)
    // Without its last event, the run would never end here.
    if (event === undefined && isObject(given) && given['id'] === id) throw otherVersion(error)
    if (event === undefined || event.type === 'inbound') return undefined
    if (event.type !== 'error' && !('id' in event && event.id === id)) return undefined
    if (flags.json) writeJsonLine(context, given)
    screen.show(event)
    // `| head` has read enough: nobody sees what the run does from here on.
    if (context.stdout.isClosed?.() === true && !interrupt.first.aborted) interrupt.press()
    if (event.type === 'done') {
      if (event.outcome === 'refused' && !canAsk)
        screen.note(nobodyNote + (readOnly === true ? elsewhereNote : yesNote))
      return exitCodeOf(event, interrupt)
    }
    if (event.type !== 'approval' || event.state !== 'pending') return undefined
    if (event.plan !== undefined && !canAsk) {
      screen.ask(event)
      screen.note(unacceptedNote)
      await client.cancel(id).catch(() => {})
      return undefined
    }
    const decision = await decide(context, flags, { screen, approval: event, interrupt, canAsk })
    if (event.plan !== undefined && decision === 'refuse') {
      const text = await readLineOf(context, interrupt, '  What should change? (Enter: nothing to add) ')
      // The run reads it after the refusal. It joins the run: `agent` opens no tools before the plan is accepted.
      if (text !== '') await client.send({ text, conversationId, mode: 'agent' }, interrupt.second)
    }
    if (decision !== undefined) await answer(client, event, decision)
    return undefined
  }

  for await (const given of events) {
    const isGap = typeof given === 'object' && given !== null && 'type' in given && given.type === 'gap'
    for (const each of isGap ? await client.missed(id) : [given]) {
      const code = await handle(each)
      if (code !== undefined) return code
    }
  }
  throw new CommandFailure(exitCode.failed, goneText)
}

const nobodyNote = 'Changes and commands were refused, because there is no terminal to ask for your approval. '

const elsewhereNote =
  'To allow them, run it in a terminal, or run copilot-proxy serve --workspace DIR and use its page.'

const yesNote = 'To allow them, add --yes, or run copilot-proxy serve --workspace DIR and use its page.'

const unacceptedNote =
  'There is no terminal to ask whether you accept the plan, so nothing is changed and the run ends.'

const askedNote = 'This workspace is read-only: you are asked before each change and each command.'

const unaskedNote =
  'This workspace is read-only, and you are not asked here: nothing is changed or run but what you have allowed the agent always.'

const lockedNote = 'This workspace is locked: nothing will be changed or run.'

/** Ignores a refusal by the daemon, because another listener may have decided. */
async function answer(client: RunClient, { approvalId }: ApprovalEvent, decision: ApprovalDecision): Promise<void> {
  try {
    await client.decide(approvalId, decision)
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
  }
}

interface Question {
  readonly screen: RunScreen
  readonly approval: ApprovalEvent
  readonly interrupt: Interrupt
  readonly canAsk: boolean
}

/** Returns undefined if the run is being cancelled. */
async function decide(
  context: CommandContext,
  { yes, json }: AgentFlags,
  { screen, approval, interrupt, canAsk }: Question,
): Promise<ApprovalDecision | undefined> {
  // --yes allows what the policy allows, and that is in the sandbox.
  const isPlan = approval.plan !== undefined
  const isOfPolicy = approval.policy !== undefined
  if (yes && !isPlan && !isOfPolicy && approval.closed === undefined) {
    return approval.widening === undefined ? 'once' : 'refuse'
  }
  const out = json ? context.stderr : context.stdout
  const { readKey } = context
  screen.ask(approval)
  if (yes && !isPlan) {
    screen.note(
      isOfPolicy
        ? '  Not confirmed: --yes confirms no policy. To read and confirm it, run: copilot-proxy policy trust'
        : '  Refused: --yes allows only what the policy of a workspace that is not read-only allows.',
    )
    return 'refuse'
  }
  if (readKey === undefined || !canAsk) {
    screen.note('  Refused: there is no terminal to ask for your approval.')
    return 'refuse'
  }
  const offered = keysOf(approval)
  for (;;) {
    const keys = [...offered.map(({ key, label }) => `${key} ${label}`), '? help'].join(', ')
    const prompt = (): void => out.write(out.style.bold(`  ${keys}: `))
    const key = await readKey(interrupt.first, prompt).catch(() => '')
    const chosen = decisions.get(key.toLowerCase())
    const decision = chosen !== undefined && mayChoose(approval, chosen) ? chosen : undefined
    out.write(`${decision ?? ''}\n`)
    if (interrupt.first.aborted) return undefined
    if (decision !== undefined) return decision
    if (key === ctrlC) {
      interrupt.press()
      return undefined
    }
    if (key === 'd' && approval.diff !== undefined) screen.wholeDiff(approval)
    else screen.note([...offered, { key: 'Ctrl-C', help: 'cancel the run' }].map(helpLine).join('\n'))
  }
}

const ctrlC = '\u0003'

const decisions: ReadonlyMap<string, ApprovalDecision> = new Map([
  ['y', 'once'],
  ['r', 'run'],
  ['a', 'always'],
  ['n', 'refuse'],
])

interface Key {
  readonly key: string
  readonly label: string
  readonly help: string
}

const helpLine = ({ key, help }: Pick<Key, 'key' | 'help'>): string => `  ${key.padEnd(8)}${help}`

/** The keys that answer this question. */
function keysOf(approval: ApprovalEvent): readonly Key[] {
  if (approval.plan !== undefined) {
    return [
      {
        key: 'y',
        label: 'accept',
        help: 'accept the plan: the run carries it out, and asks before changes and commands as usual',
      },
      { key: 'n', label: 'refuse', help: 'refuse the plan, and say what to change' },
    ]
  }
  if (approval.policy !== undefined) {
    return [
      { key: 'a', label: 'confirm', help: 'confirm the policy: its rules hold from now on' },
      {
        key: 'n',
        label: 'not now',
        help: 'leave it unconfirmed: this run asks you instead, and not about the policy again',
      },
    ]
  }
  const keys: readonly (Key & { readonly isOffered: boolean })[] = [
    { key: 'y', label: 'once', help: 'allow this once', isOffered: true },
    {
      key: 'r',
      label: forRunOf(approval),
      help: 'allow for this run: other texts in these files, exactly this command, or this tool',
      isOffered: mayChoose(approval, 'run'),
    },
    {
      key: 'a',
      label: 'always',
      help: 'allow always: store the rule that is shown, for the agent in this workspace; copilot-proxy policy forget takes it back',
      isOffered: mayChoose(approval, 'always'),
    },
    { key: 'n', label: 'refuse', help: 'refuse; after three refusals in a row the run ends', isOffered: true },
    { key: 'd', label: 'whole diff', help: 'show the whole diff', isOffered: approval.diff !== undefined },
  ]
  return keys.filter(({ isOffered }) => isOffered)
}

/** Returns what the person types; '' for nothing, and after a signal. */
async function readLineOf({ readLine }: CommandContext, { first }: Interrupt, prompt: string): Promise<string> {
  const line = await readLine?.(first, prompt).catch(() => '')
  return line?.trim() ?? ''
}

function exitCodeOf({ outcome }: DoneEvent, { first }: Interrupt): ExitCode {
  if (outcome === 'completed') return exitCode.done
  return outcome === 'cancelled' && first.aborted ? exitCode.interrupted : exitCode.failed
}

function createInterrupt(): Interrupt {
  let first = new AbortController()
  const second = new AbortController()
  return {
    get first() {
      return first.signal
    },
    second: second.signal,
    press() {
      if (first.signal.aborted) second.abort()
      first.abort()
    },
    renew() {
      first = new AbortController()
    },
  }
}
