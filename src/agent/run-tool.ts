import type { Session } from '../tools/session.ts'
import type { Intent, SecretRecord, ToolCall, ToolResult, Tools } from '../tools/tool.ts'
import type { Folder } from '../workspace/folder.ts'
import type { OpenFiles } from '../workspace/open-files.ts'
import { countLines } from '../workspace/patch/count-lines.ts'
import { denied, ToolError } from '../workspace/tool-error.ts'
import type { AgentEvent } from './agent-event.ts'
import type { IntendedFile, ToolOutcome } from '../api/run.ts'
import type { ApprovalRequest, FileChange } from './agent-task.ts'
import type { ChangeRecord, JournalFile } from './change-record.ts'
import { describeMedia, type Media } from '../tools/result-content.ts'
import { capText, describeResult } from './describe-result.ts'
import type { BusCall } from './file-actions.ts'
import type { Call, ToolEnd } from './loop-state.ts'
import { planAccepted, planRefused, plansOnly, type PlanTool } from './plan-mode.ts'
import { frame, resultOf, resultTitle } from './prompts.ts'
import type { Scope } from './scope.ts'
import type { FoundTool } from './tool-set.ts'
import { z } from 'zod'
import { textOf } from '../json/json.ts'

/** Maximum length of a result that people see. Characters. */
const maxShown = 8 * 1024

/** Longer arguments are shortened for people. Characters of JSON. */
const maxShownArgs = 4 * 1024

export interface ToolRunnerDeps {
  readonly tools: Tools
  readonly session: Session
  readonly caller: string
  /** The id of the key that made the run. */
  readonly ownerId: string | undefined
  /** Aborts when the run ends. */
  readonly lifetime: AbortSignal
  readonly runId: string
  readonly openFiles: OpenFiles | undefined
  /** The folder with the unsaved texts of the editor. */
  readonly files: Folder
  readonly scope: Scope
  readonly record: ChangeRecord
  readonly maxFileBytes: number
  /** Maximum length of one result that the model gets. Characters. */
  readonly maxResult: number
  readonly boundary: string
  readonly now: () => number
  readonly randomId: () => string
  readonly emit: (event: AgentEvent) => void
  /** The secrets that the run or its conversation has read. */
  readonly secrets: SecretRecord
  /** Resolves whether a person, a grant or the settings allow the call. */
  readonly isApproved: (request: ApprovalRequest) => Promise<boolean>
  /** Whether no person is asked: in a chat, and without `agent.require-approval`. */
  readonly isUnattended: boolean
  readonly find: (name: string) => FoundTool | undefined
  /** Whether the run only plans so far. */
  readonly isPlanning: () => boolean
  /** Returns what the model has to know about the folders of these files; '' for nothing. */
  readonly textsFor: (paths: readonly string[], signal: AbortSignal) => Promise<string>
}

/** A command that a tool has run. */
export interface CommandRecord {
  readonly argv: readonly string[]
  /** Undefined if the command was stopped, or started in the background. */
  readonly exitCode: number | undefined
  readonly isBackground?: boolean
}

/** How a call runs that no model has made. */
interface RunHow {
  /** What the frame of the result says in place of the name of the tool. */
  readonly title: string
  /** Nobody is asked: what needs a person is refused. */
  readonly isUnasked: boolean
}

export interface ToolRunner {
  /** Never rejects: the model gets a failure as a result. */
  readonly run: (call: Call, step: number, signal: AbortSignal, how?: RunHow) => Promise<ToolEnd>
  readonly commands: readonly CommandRecord[]
  /** Ids of the journal entries of this run, oldest first. */
  readonly patchIds: readonly string[]
}

type Approval = Parameters<NonNullable<ToolCall['approve']>>

const journalFiles = z.array(
  z.object({ path: z.string(), before: z.string().nullable(), after: z.string().nullable() }),
)

/** Runs the calls of a model: finds the tool, checks the allowed folders, asks for approval, and records changes. */
export function createToolRunner(deps: ToolRunnerDeps): ToolRunner {
  const { tools, session, scope, record, emit, now } = deps
  const hashes = new Map<string, string>()
  const commands: CommandRecord[] = []
  const patchIds: string[] = []

  async function run(call: Call, step: number, signal: AbortSignal, how?: RunHow): Promise<ToolEnd> {
    const startedMs = now()
    /** The time that a person took. */
    let askedMs = 0
    const isApproved = async (request: ApprovalRequest): Promise<boolean> => {
      const sinceMs = now()
      try {
        return await deps.isApproved(request)
      } finally {
        askedMs += now() - sinceMs
      }
    }
    const found = deps.find(call.name)
    const tool = found === undefined ? call.name.slice(0, 100) : 'tool' in found ? found.tool : found.name
    const { id: callId } = call
    emit({ type: 'tool', state: 'started', callId, tool, step, args: shownArgs(call.args) })
    const texts: string[] = []
    const messages: string[] = []
    let hasSecret = false
    const secrets: SecretRecord = {
      wereRead: deps.secrets.wereRead,
      note() {
        hasSecret = true
        deps.secrets.note()
      },
    }
    const outcomes: ToolOutcome[] = []
    const images: Media[] = []
    let isCut = false
    let isEffect = false
    const touched: string[] = []
    const add = (outcome: ToolOutcome, message: string, text: string): void => {
      const capped = capText(text, deps.maxResult)
      isCut ||= capped.isCut
      outcomes.push(outcome)
      messages.push(message)
      texts.push(capped.text)
    }
    try {
      if (isPlanTool(found)) {
        await submitPlan(call, found, { step, isApproved })
        add('ok', 'plan accepted', 'The plan was accepted.')
        isEffect = true
      }
      for (const busCall of await toBusCalls(call, found)) {
        if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
        try {
          const isUnasked = how?.isUnasked === true
          const done = await runBusCall(busCall, { callId, step, signal, secrets, isApproved, isUnasked })
          isEffect ||= done.isEffect
          touched.push(...done.touched)
          const { text, message, images: shown = [] } = describeResult(busCall.tool, done.result)
          images.push(...shown)
          noteHash(busCall, done.result, text)
          add('ok', message, text)
        } catch (error) {
          // A `readFiles` continues with its other files.
          const failure = toToolError(error)
          add(failure.failure.kind, failure.message, errorText(failure))
        }
      }
    } catch (error) {
      const failure = toToolError(error)
      add(failure.failure.kind, failure.message, errorText(failure))
    }
    const outcome = outcomes.includes('ok') ? 'ok' : (outcomes[0] ?? 'ok')
    const text = texts.join('\n\n')
    const subject = how?.title ?? resultOf(call.name)
    const known = frame(deps.boundary, resultTitle(subject, { isOk: outcome === 'ok', hasSecret }), text)
    // What is outside the frame is no data: the model may follow it.
    const accepted = isPlanTool(found) && outcome === 'ok' ? planAccepted : ''
    const more = touched.length === 0 ? accepted : await deps.textsFor(touched, signal)
    const forPeople = capText([text, ...images.map((image) => describeMedia(image))].join('\n'), maxShown)
    return {
      callId,
      tool,
      outcome,
      message: oneLine(messages.join(', ')),
      content: more === '' ? known : `${known}\n\n${more}`,
      images,
      result: forPeople.text,
      truncated: isCut || forPeople.isCut,
      durationMs: Math.round(now() - startedMs - askedMs),
      isEffect,
      isDenied: (outcome === 'denied' || outcome === 'approval_refused') && found !== undefined && !isReading(found),
    }
  }

  /** Asks the person to accept the plan. @throws ToolError `invalid_arguments`, `approval_refused` */
  async function submitPlan(
    { id: callId, args, problem }: Call,
    tool: PlanTool,
    { step, isApproved }: Pick<CallPlace, 'step' | 'isApproved'>,
  ): Promise<void> {
    if (problem !== undefined) throw unreadable(problem)
    const plan = tool.planOf(args)
    const request = { approvalId: deps.randomId(), tool: tool.tool, callId, step, plan }
    if (!(await isApproved(request))) throw new ToolError({ kind: 'approval_refused', detail: planRefused })
  }

  async function toBusCalls(call: Call, found: FoundTool | undefined): Promise<readonly BusCall[]> {
    const { args, problem } = call
    if (isPlanTool(found)) return []
    if (problem !== undefined) throw unreadable(problem)
    if (found === undefined) {
      throw new ToolError({ kind: 'failed', detail: `There is no tool ${JSON.stringify(call.name.slice(0, 100))}.` })
    }
    if (deps.isPlanning() && !isReading(found)) throw denied(plansOnly)
    if (!('toCalls' in found)) return [{ tool: found.name, args, identity: found.identity }]
    // Check the allowed folders first: an error of `toCalls` may reveal the content of a file.
    await scope.narrow(found.tool, args, new AbortController().signal)
    return found.toCalls(args, { folder: deps.files, hashes, maxFileBytes: deps.maxFileBytes })
  }

  interface CallPlace {
    readonly callId: string
    readonly step: number
    readonly signal: AbortSignal
    readonly secrets: SecretRecord
    readonly isApproved: ToolRunnerDeps['isApproved']
    readonly isUnasked: boolean
  }

  async function runBusCall(
    { tool, args, identity }: BusCall,
    { callId, step, signal, secrets, isApproved: isAllowed, isUnasked }: CallPlace,
  ): Promise<{ readonly result: ToolResult; readonly isEffect: boolean; readonly touched: readonly string[] }> {
    let intended: Intent = {}
    let snapshot: Awaited<ReturnType<ChangeRecord['before']>> = new Map()
    let started: readonly string[] | undefined
    async function approve(...[intent, { provider, identity: approved }, { closed }]: Approval): Promise<boolean> {
      scope.check(intent)
      intended = { ...intended, ...intent }
      if (intent.writes !== undefined) snapshot = await record.before(intent.writes)
      const call = { approvalId: deps.randomId(), tool, callId, step, args }
      const outside =
        provider === undefined ? {} : { provider, identity: approved ?? '', isAfterSecret: secrets.wereRead() }
      const gates = closed.length === 0 ? {} : { closed }
      const isApproved = await isAllowed({ ...toRequest(intent, call), ...outside, ...gates })
      if (isApproved) started = intent.argv
      return isApproved
    }
    const calling = tools.call({
      session,
      name: tool,
      args: await scope.narrow(tool, args, signal),
      signal,
      lifetime: deps.lifetime,
      setPlan: (items) => emit({ type: 'plan', items: [...items] }),
      identity,
      secrets,
      isUnattended: deps.isUnattended,
      caller: deps.caller,
      ownerId: deps.ownerId,
      runId: deps.runId,
      openFiles: deps.openFiles,
      progress: (part) => emit({ type: 'tool', state: 'progress', callId, tool, step, ...part }),
      ...(!isUnasked && { approve }),
    })
    const result = await calling
      .catch((error: unknown) => {
        // The summary lists a stopped command too, because it may have changed files.
        if (started !== undefined && isStop(error)) commands.push({ argv: started, exitCode: undefined })
        throw error
      })
      .finally(() => {
        if (started !== undefined) deps.openFiles?.noteCommand()
      })
    const changed = await noteChange({ tool, callId, result, intended, snapshot })
    const { exitCode } = result
    if (intended.argv !== undefined && typeof exitCode === 'number') commands.push({ argv: intended.argv, exitCode })
    if (intended.argv !== undefined && result['isRunning'] === true) {
      commands.push({ argv: intended.argv, exitCode: undefined, isBackground: true })
    }
    const isEffect = changed.length > 0 || intended.argv !== undefined
    const touched = [...readPath(tool, args), ...(intended.writes ?? [])].map(session.folder.relativePath)
    return { result: scope.filter(tool, result), isEffect, touched }
  }

  async function noteChange(done: {
    readonly tool: string
    readonly callId: string
    readonly result: ToolResult
    readonly intended: Intent
    readonly snapshot: Awaited<ReturnType<ChangeRecord['before']>>
  }): Promise<readonly FileChange[]> {
    const { result, intended, snapshot, callId } = done
    const { writes, diff = '' } = intended
    if (writes === undefined) return []
    const files = journalFiles.safeParse(result['files'])
    const { id } = result
    const patchId = textOf(id)
    const changes =
      files.success && patchId !== ''
        ? await record.made(snapshot, files.data, diff)
        : await record.madeWithoutJournal(snapshot, diff)
    if (patchId !== '') patchIds.push(patchId)
    for (const file of files.success ? files.data : []) noteWritten(file)
    const counts = changes.map(({ path, change, added, removed }) => ({ path, change, added, removed }))
    emit({ type: 'diff', callId, patchId, diff: changes.map((change) => change.diff).join(''), files: counts })
    return changes
  }

  /** The model knows the new content of a file that it has created, or that it had read before the change. */
  function noteWritten({ path, before, after }: JournalFile): void {
    const isKnown = before === null || hashes.get(path) === before
    if (after !== null && isKnown) hashes.set(path, after)
    else hashes.delete(path)
  }

  function noteHash({ tool, args }: BusCall, { sha256, truncated }: ToolResult, text: string): void {
    if (tool !== 'mcp.fs.read' || typeof sha256 !== 'string' || truncated === true) return
    const read = z.object({ path: z.string(), range: z.undefined().optional() }).safeParse(args)
    if (!read.success || text.length > deps.maxResult) return
    hashes.set(session.folder.relativePath(read.data.path), sha256)
  }

  return { run, commands, patchIds }
}

/** Returns what a person is asked about an intent. */
export function toRequest(
  { writes, files, reads, argv, cwd, widening, notes, diff, policy }: Intent,
  call: Pick<ApprovalRequest, 'approvalId' | 'tool' | 'callId' | 'step'> & { readonly args: unknown },
): ApprovalRequest {
  const { args, ...named } = call
  return {
    ...named,
    ...(writes !== undefined && { paths: writes, files: files ?? changesOfText(writes, diff) }),
    // People see the path of the secret itself. The arguments may name a link to it.
    ...(reads !== undefined && { reads }),
    ...(diff !== undefined && { diff }),
    ...(policy !== undefined && { policy }),
    ...(argv !== undefined && {
      argv,
      cwd: cwd ?? '',
      ...(widening !== undefined && { widening }),
    }),
    ...(notes !== undefined && { notes }),
    ...([writes, argv, reads, policy].every((each) => each === undefined) && { args }),
  }
}

function changesOfText(paths: readonly string[], diff = ''): readonly IntendedFile[] {
  const counts = paths.length === 1 ? countLines(diff) : { added: 0, removed: 0 }
  return paths.map((path) => ({ path, change: 'modified', ...counts }))
}

/** The registry throws only ToolErrors. Any other error is a defect here, and the model gets a general message. */
function toToolError(error: unknown): ToolError {
  return error instanceof ToolError
    ? error
    : new ToolError({ kind: 'failed', detail: 'The tool failed.' }, { cause: error })
}

function isPlanTool(found: FoundTool | undefined): found is PlanTool {
  return found !== undefined && 'planOf' in found
}

function unreadable(detail: string): ToolError {
  return new ToolError({ kind: 'invalid_arguments', path: '', detail })
}

function isReading(found: FoundTool): boolean {
  if (isPlanTool(found)) return true
  return 'toCalls' in found ? found.tool.startsWith('mcp.fs.') : found.effect === 'read'
}

/** The file that a tool of the workspace reads. */
function readPath(tool: string, args: unknown): readonly string[] {
  const named = tool.startsWith('mcp.') && typeof args === 'object' && args !== null && 'path' in args ? args.path : ''
  return typeof named === 'string' && named !== '' ? [named] : []
}

function isStop(error: unknown): boolean {
  return error instanceof ToolError && (error.failure.kind === 'cancelled' || error.failure.kind === 'timed_out')
}

function errorText({ message, failure }: ToolError): string {
  if (failure.kind !== 'conflict' || failure.conflicts.length === 0) return `Error (${failure.kind}): ${message}`
  return `Error (conflict): ${message}\n${JSON.stringify(failure.conflicts, undefined, 1)}`
}

function oneLine(text: string): string {
  return capLine(text.replaceAll(/\s+/g, ' ').trim())
}

function capLine(line: string): string {
  return line.length <= 300 ? line : `${line.slice(0, 299)}…`
}

/** Shortens long arguments for people. An approval shows a long text as a diff. */
function shownArgs(args: unknown): unknown {
  if (JSON.stringify(args).length <= maxShownArgs) return args
  if (typeof args !== 'object' || args === null) return {}
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => [key, typeof value === 'string' ? capText(value, 200).text : value]),
  )
}
