import type { Logger } from '../logging/logger.ts'
import type { Session } from './session.ts'
import { withOpenFiles } from '../workspace/open-files.ts'
import { guardFolder } from '../workspace/policy/guard-folder.ts'
import { denied, ToolError } from '../workspace/tool-error.ts'
import { capResult } from './cap-result.ts'
import { checkArguments } from './check-arguments.ts'
import { nobodyAsked } from './foreign-tools.ts'
import { maxForModels, namesOf } from './model-names.ts'
import { closedSentence, lockedForeignSentence, passGates, type Passage, type WriteAccess } from './pass-gates.ts'
import { callArguments, callToolName, listToolName } from './registry-tools.ts'
import { redactError, redactResult, type Redact } from './redact-values.ts'
import type { Intent, Tool, ToolCall, ToolLimits, ToolResult, Tools, ToolSource } from './tool.ts'

type Gates = Pick<Passage, 'closed' | 'unconfirmed'>

export interface RunLimits extends ToolLimits, WriteAccess {}

export interface ToolsDeps {
  /** If two tools have the same name, the later one gets another name with a hash. */
  readonly sources: readonly ToolSource[]
  /** Called for each call and each gate, so that a changed configuration takes effect at once. */
  readonly limits: (session: Session) => RunLimits
  /** Awaited before a tool of the workspace runs: completes what an interrupted call has left in the files. Never rejects. */
  readonly settle?: ((session: Session, signal: AbortSignal) => Promise<void>) | undefined
  readonly log: Logger
  /** Receives the audit line of each call of a session, and the id of the caller's key. */
  readonly record?: ((sessionId: string, line: AuditLine, ownerId: string | undefined) => void) | undefined
  /** Removes known credentials from what tools return, so that no caller and no model gets them. Default: removes nothing. */
  readonly redact?: Redact | undefined
  /**
   * Does the same for tools of other programs, and also removes the secrets that these programs know. Elsewhere, that would tell a
   * caller which of its guesses is such a secret. Default: `redact`.
   */
  readonly redactForeign?: Redact | undefined
  /** Monotonic. Ms. */
  readonly now: () => number
}

/** A call of a tool: its caller, its paths and its outcome, without contents. */
export type AuditLine = Readonly<Record<string, string | number | readonly string[]>>

/** Size of a result beyond the largest file that it may contain. Bytes. */
const resultMargin = 1024 * 1024

/** Time for a stopped call to end, so that its own report of what it did is not lost. Ms. */
const stopMs = 5_000

/** Maximum length of a path in the audit line. Characters. */
const maxLoggedPath = 300

/** Maximum number of paths in the audit line. */
const maxLoggedPaths = 50

export function createTools(deps: ToolsDeps): Tools {
  const { sources, log, redact: redactOwn = (text) => text, redactForeign = redactOwn, now } = deps

  function list(session: Session): readonly Tool[] {
    const byName = new Map<string, Tool>()
    const names = namesOf(session, 'registry', maxForModels)
    for (const [index, source] of sources.entries()) {
      for (const tool of source.tools(session)) {
        // Programs name their tools freely. A name that was given to one tool never moves to another.
        const isOwn = tool.provider === undefined
        const name = names.take(isOwn ? tool.name : JSON.stringify([index, tool.provider, tool.name]), tool.name)
        if (!byName.has(name)) byName.set(name, name === tool.name ? tool : { ...tool, name })
      }
    }
    return [...byName.values()]
  }

  async function prepare(session: Session): Promise<void> {
    await Promise.all(sources.map(async (source) => source.prepare?.(session)))
  }

  async function find(session: Session, name: string): Promise<Tool> {
    const listed = (): Tool | undefined => list(session).find((each) => each.name === name)
    let tool = listed()
    if (tool === undefined || name === listToolName) {
      await prepare(session)
      tool = listed()
    }
    if (tool !== undefined) return tool
    const detail = `There is no tool ${JSON.stringify(name.slice(0, 100))}. mcp.tools.list lists the tools.`
    throw new ToolError({ kind: 'failed', detail })
  }

  async function call(given: ToolCall): Promise<ToolResult> {
    const startedMs = now()
    const audit: Audit = { tool: given.name, paths: new Set() }
    const write = (outcome: string): void => {
      const line = {
        tool: audit.tool.slice(0, 100),
        caller: given.caller,
        ...(audit.paths.size > 0 && { paths: [...audit.paths].slice(0, maxLoggedPaths) }),
        ...(audit.program !== undefined && { program: audit.program.slice(0, maxLoggedPath) }),
        outcome,
        ms: Math.round(now() - startedMs),
      }
      log.info({ session: given.session.id, ...line }, 'tool call')
      deps.record?.(given.session.id, line, given.ownerId)
    }
    try {
      const result = await runCall(given, audit)
      write('ok')
      return result
    } catch (error) {
      const failure = error instanceof ToolError ? error : unexpected(error, audit.tool)
      write(given.isAsking?.() === true ? 'asked' : failure.failure.kind)
      throw failure
    }
  }

  async function runCall(given: ToolCall, audit: Audit): Promise<ToolResult> {
    let { args } = given
    let tool = await find(given.session, given.name)
    if (tool.name === callToolName) {
      checkArguments(tool.parameters, args)
      const inner = callArguments.parse(args)
      tool = await find(given.session, inner.name)
      audit.tool = tool.name
      args = inner.args
      if (tool.name === callToolName) {
        throw new ToolError({ kind: 'invalid_arguments', path: 'name', detail: 'The tool cannot call itself.' })
      }
    }
    if (given.identity !== undefined && given.identity !== tool.identity) throw changed(tool.name)
    checkArguments(tool.parameters, args)
    notePath(audit, args)
    return runTool(given, chosen(tool, args), args, audit)
  }

  async function runTool(given: ToolCall, tool: Tool, args: unknown, audit: Audit): Promise<ToolResult> {
    const { session } = given
    const redact = tool.provider === undefined ? redactOwn : redactForeign
    const { timeoutMs, maxFileBytes, isLocked = false } = deps.limits(session)
    if (isLocked && tool.provider !== undefined) throw denied(lockedForeignSentence)
    // A tool with the effect `run` has a time limit of its own and reports the output when it ends. Leave it time for that.
    const extraMs = tool.effect === 'run' ? stopMs : 0
    // The time that a person takes for an approval does not count.
    const deadline = createDeadline(tool.timeoutMs ?? timeoutMs + extraMs, [given.signal, session.signal], now)
    const { signal } = deadline
    /** Returns the error that states why the call was stopped. */
    const stopped = (): ToolError =>
      new ToolError(
        given.signal.aborted || session.signal.aborted || !signal.aborted
          ? { kind: 'cancelled' }
          : { kind: 'timed_out', afterMs: deadline.totalMs },
      )
    let isOver = false
    /** The secrets that a person has let this call read. */
    const secretsRead = new Set<string>()

    const hasPerson = given.approve !== undefined && given.isUnattended !== true

    /** Returns the closed gates that a person may pass, and the policies that would open them. The audit line contains the request, also if it is denied. */
    async function permit(intent: Intent): Promise<Gates> {
      for (const path of intent.writes ?? []) audit.paths.add(path.slice(0, maxLoggedPath))
      audit.program ??= intent.argv?.[0]
      const gates = await checkGates(tool, session, intent)
      if (gates.closed.length > 0 && !hasPerson) throw denied(closedSentence(gates.closed))
      return gates
    }

    async function authorize(intent: Intent): Promise<void> {
      if (isOver || signal.aborted) throw stopped()
      const closed = await confirmed(intent)
      if (intent.widening !== undefined && given.approve === undefined) throw refused('Nobody can be asked.')
      if (given.approve !== undefined) {
        if (!(await isApproved(given.approve, intent, closed))) throw refused('The approval was refused.')
        // The tools of a provider may have changed while the approval was pending.
        const listed = list(session).find(({ name }) => name === tool.name)
        if (listed !== undefined && chosen(listed, args).identity !== tool.identity) throw changed(tool.name)
        // The policy may have changed while the approval was pending. The person has not seen a gate that closed meanwhile.
        const unseen = (await checkGates(tool, session, intent)).closed.filter((gate) => !closed.includes(gate))
        if (unseen.length > 0) throw denied(closedSentence(unseen))
      }
      if (signal.aborted) throw stopped()
    }

    /** Asks a person to confirm the policies that would allow the intent. Returns the gates that are closed then. */
    async function confirmed(intent: Intent): Promise<readonly string[]> {
      const { closed, unconfirmed } = await permit(intent)
      if (given.approve === undefined || unconfirmed.length === 0) return closed
      for (const policy of unconfirmed) await isApproved(given.approve, { policy })
      return (await permit(intent)).closed
    }

    async function isApproved(
      approve: NonNullable<ToolCall['approve']>,
      intent: Intent,
      closed: readonly string[] = [],
    ): Promise<boolean> {
      deadline.pause()
      try {
        return await untilStopped(approve(intent, tool, { closed, signal, redact }), signal, stopped)
      } finally {
        deadline.resume()
      }
    }

    /** The time that a call waits for memory does not count. */
    async function reserve(bytes: number): Promise<void> {
      if (given.reserve === undefined) return
      deadline.pause()
      try {
        await given.reserve(bytes, signal)
      } finally {
        deadline.resume()
      }
    }

    /** Asks a person whether the tool may read a secret. */
    async function askToRead(path: string, reason: string): Promise<void> {
      if (isOver || signal.aborted) throw stopped()
      if (given.approve === undefined) throw denied(reason)
      audit.paths.add(path.slice(0, maxLoggedPath))
      if (secretsRead.has(path)) return
      if (!(await isApproved(given.approve, { reads: [path] }))) throw refused(`Reading was not approved. ${reason}`)
      secretsRead.add(path)
    }

    try {
      if (tool.provider === undefined) await deps.settle?.(session, signal)
      if (signal.aborted) throw stopped()
      const folder = guardFolder(session.folder, session.policy, askToRead, () => given.secrets?.note())
      const context = {
        session,
        ownerId: given.ownerId,
        runId: given.runId,
        folder,
        files: withOpenFiles(folder, given.openFiles),
        openFiles: given.openFiles,
        signal,
        lifetime: given.lifetime === undefined ? session.signal : AbortSignal.any([given.lifetime, session.signal]),
        setPlan: given.setPlan,
        progress: (part: Parameters<NonNullable<ToolCall['progress']>>[0]) => {
          if (!isOver) given.progress?.({ ...part, text: redact(part.text) })
        },
        permit: async (intent: Intent) => void (await permit(intent)),
        authorize,
        reserve,
        limits: { maxFileBytes, timeoutMs },
      }
      const { asks = 'always' } = tool
      const mustAsk = asks === 'always' || (asks === 'after-secret' && given.secrets?.wereRead() === true)
      if (tool.provider !== undefined && mustAsk) {
        if (given.approve === undefined || given.isUnattended === true) throw denied(nobodyAsked(tool))
        await authorize({ args })
      }
      // The registry does not know the argument types of tools, so `run` takes `never`. `checkArguments` has checked them.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked against `parameters`, of which `run` knows the type
      const running = tool.run(args as never, context)
      const result = await untilStopped(running, signal, stopped, stopMs)
      return redactResult(capResult(result, maxFileBytes + resultMargin), redact)
    } catch (error) {
      // A stopped tool may fail with any error: replace it with the reason, but keep ToolErrors such as a conflict or a refusal.
      if (signal.aborted && !(error instanceof ToolError && error.failure.kind !== 'cancelled')) throw stopped()
      throw error instanceof ToolError ? redactError(error, redact) : error
    } finally {
      isOver = true
      deadline.end()
    }
  }

  /** @throws ToolError `denied`, `failed` */
  async function checkGates(tool: Tool, session: Session, intent: Intent): Promise<Gates> {
    if (tool.provider !== undefined) return { closed: [], unconfirmed: [] }
    if (tool.effect === 'read') throw denied(`${tool.name} can only read.`)
    return passGates(session, deps.limits(session), intent)
  }

  function unexpected(error: unknown, tool: string): ToolError {
    log.error({ err: error, tool }, 'a tool failed unexpectedly')
    return new ToolError({ kind: 'failed', detail: 'The tool failed. See the log of copilot-proxy.' }, { cause: error })
  }

  return {
    list,
    prepare,
    call,
    onListChanged(listener) {
      const ends = sources.map(({ onChange }) => onChange?.(listener))
      return () => {
        for (const end of ends) end?.()
      }
    },
  }
}

/** The fields of the audit line that are known only at the end of a call. */
interface Audit {
  tool: string
  readonly paths: Set<string>
  program?: string | undefined
}

function chosen(tool: Tool, args: unknown): Tool {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked against `parameters`, of which `choose` knows the type
  return tool.choose?.(args as never) ?? tool
}

function notePath({ paths }: Audit, args: unknown): void {
  if (typeof args !== 'object' || args === null || !('path' in args)) return
  if (typeof args.path === 'string') paths.add(args.path.slice(0, maxLoggedPath))
}

function changed(name: string): ToolError {
  return new ToolError({
    kind: 'failed',
    detail: `The tool ${JSON.stringify(name)} has changed since it was listed. Nothing was called. Call it again.`,
  })
}

function refused(detail: string): ToolError {
  return new ToolError({ kind: 'approval_refused', detail })
}

/**
 * Returns the result of `work`. After the signal is aborted, `work` has `graceMs` to end.
 * @throws the error of `stopped` after that time
 */
async function untilStopped<T>(
  work: Promise<T>,
  signal: AbortSignal,
  stopped: () => ToolError,
  graceMs = 0,
): Promise<T> {
  const late = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => {
    timer = setTimeout(() => late.reject(stopped()), graceMs)
  }
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, late.promise])
  } finally {
    signal.removeEventListener('abort', stop)
    clearTimeout(timer)
  }
}

/**
 * Creates a time limit that can pause. Its signal also follows `others`. AbortSignal.any would do the same, but collecting its
 * garbage takes longer than a quick call.
 */
function createDeadline(totalMs: number, others: readonly AbortSignal[], now: () => number) {
  const controller = new AbortController()
  function follow(this: AbortSignal): void {
    controller.abort(this.reason)
  }
  for (const other of others) {
    if (other.aborted) controller.abort(other.reason)
    else other.addEventListener('abort', follow)
  }
  let leftMs = totalMs
  let runningSince = now()
  const expire = (): void => controller.abort(new ToolError({ kind: 'timed_out', afterMs: totalMs }))
  let timer: NodeJS.Timeout | undefined = setTimeout(expire, leftMs)
  let pauses = 0
  return {
    signal: controller.signal,
    totalMs,
    pause(): void {
      pauses += 1
      if (pauses > 1) return
      clearTimeout(timer)
      leftMs -= now() - runningSince
    },
    resume(): void {
      pauses -= 1
      if (pauses > 0 || timer === undefined) return
      runningSince = now()
      timer = setTimeout(expire, Math.max(leftMs, 0))
    },
    end(): void {
      clearTimeout(timer)
      timer = undefined
      for (const other of others) other.removeEventListener('abort', follow)
    },
  }
}
