import { createOutput } from './command-output.ts'
import { runCommand, type CommandEnd, type CommandRun } from './run-command.ts'
import { failed, ToolError } from './tool-error.ts'

/** What is known of a command that was started in the background. */
export interface BackgroundReport {
  readonly id: string
  readonly isRunning: boolean
  /** Absent while it runs, and if it was stopped. */
  readonly exitCode?: number
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  readonly timedOut: boolean
  readonly notes?: readonly string[]
  /** Why it has no exit code, as a sentence. */
  readonly problem?: string
}

/** Who may read and stop a command. */
export interface BackgroundOwner {
  readonly sessionId: string
  readonly ownerId: string | undefined
}

type BackgroundRun = Pick<CommandRun, 'folder' | 'argv' | 'cwd' | 'network'> & { readonly timeoutMs: number }

export interface BackgroundCommands {
  /**
   * Resolves with an id when the program has started. It is stopped when `lifetime` aborts.
   * @throws the ToolErrors of `runCommand`, and `failed` if too many commands already run in the background
   */
  readonly start: (run: BackgroundRun, owner: BackgroundOwner, lifetime: AbortSignal) => Promise<string>
  /** Waits until the command has ended, at most `waitMs`. @throws ToolError `failed` for an unknown id; `cancelled` */
  readonly read: (id: string, owner: BackgroundOwner, wait: Waiting) => Promise<BackgroundReport>
  /** Stops a command and waits until it has ended. @throws ToolError `failed` for an unknown id; `cancelled` */
  readonly stop: (id: string, owner: BackgroundOwner, signal: AbortSignal) => Promise<BackgroundReport>
}

interface Waiting {
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Commands of a session that run at the same time. */
const maxRunning = 8

/** Ended commands of a session whose output is kept. */
const maxEnded = 16

/** The output of each stream that is kept. Bytes. */
const maxOutputBytes = 128 * 1024

interface Command extends BackgroundOwner {
  readonly id: string
  readonly controller: AbortController
  readonly outputs: NonNullable<CommandRun['outputs']>
  readonly ended: Promise<unknown>
  end: CommandEnd | ToolError | undefined
}

/** Keeps the commands that run in the background, and the output of those that have ended. */
export function createBackgroundCommands(randomId: () => string): BackgroundCommands {
  const commands = new Map<string, Command>()

  /** Forgets the oldest ended commands of a session. */
  function forget(sessionId: string): void {
    const ended = [...commands.values()].filter((each) => each.sessionId === sessionId && each.end !== undefined)
    for (const { id } of ended.slice(0, Math.max(0, ended.length - maxEnded))) commands.delete(id)
  }

  function find(id: string, { sessionId, ownerId }: BackgroundOwner): Command {
    const found = commands.get(id)
    if (found !== undefined && found.sessionId === sessionId && found.ownerId === ownerId) return found
    throw failed(`There is no command ${JSON.stringify(id.slice(0, 100))} in the background.`)
  }

  return {
    async start(run, owner, lifetime) {
      const running = [...commands.values()].filter(
        ({ sessionId, end }) => sessionId === owner.sessionId && end === undefined,
      )
      if (running.length >= maxRunning) throw failed(`${maxRunning} commands run in the background already. Stop one.`)
      const controller = new AbortController()
      const outputs = { stdout: createOutput(maxOutputBytes), stderr: createOutput(maxOutputBytes) }
      const started = Promise.withResolvers<void>()
      const signal = AbortSignal.any([controller.signal, lifetime])
      const work = runCommand({ ...run, signal, maxOutputBytes, outputs, onStart: started.resolve })
      const id = randomId()
      const ended = work.then(
        (end) => (command.end = end),
        (error: unknown) => {
          command.end = error instanceof ToolError ? error : failed('The command failed.')
        },
      )
      const command: Command = { ...owner, id, controller, outputs, ended, end: undefined }
      commands.set(id, command)
      void ended.then(() => forget(owner.sessionId))
      // The output belongs to the session.
      lifetime.addEventListener('abort', () => void ended.then(() => commands.delete(id)), { once: true })
      try {
        await Promise.race([started.promise, work])
      } catch (error) {
        commands.delete(id)
        throw error
      }
      return id
    },
    async read(id, owner, { waitMs, signal }) {
      const command = find(id, owner)
      if (waitMs > 0) await untilEnded(command, waitMs, signal)
      return reportOf(command)
    },
    async stop(id, owner, signal) {
      const command = find(id, owner)
      command.controller.abort()
      await untilEnded(command, undefined, signal)
      return reportOf(command)
    },
  }
}

/** @throws ToolError `cancelled` */
async function untilEnded({ ended }: Command, waitMs: number | undefined, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timer = waitMs === undefined ? undefined : setTimeout(over.resolve, waitMs)
  const cancel = (): void => over.reject(new ToolError({ kind: 'cancelled' }))
  signal.addEventListener('abort', cancel, { once: true })
  try {
    if (signal.aborted) cancel()
    await Promise.race([ended, over.promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
  }
}

function reportOf({ id, end, outputs: { stdout, stderr } }: Command): BackgroundReport {
  const base = {
    id,
    isRunning: end === undefined,
    stdout: stdout.text(),
    stderr: stderr.text(),
    truncated: stdout.isTruncated() || stderr.isTruncated(),
    timedOut: false,
  }
  if (end === undefined) return base
  if (end instanceof ToolError) {
    return { ...base, problem: end.failure.kind === 'cancelled' ? 'The command was stopped.' : end.message }
  }
  const { exitCode, timedOut, notes } = end
  return { ...base, exitCode, timedOut, ...(notes !== undefined && { notes }) }
}
