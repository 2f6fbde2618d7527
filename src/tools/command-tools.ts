import { randomUUID } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { z } from 'zod'
import {
  createBackgroundCommands,
  type BackgroundCommands,
  type BackgroundOwner,
} from '../workspace/background-commands.ts'
import type { Folder } from '../workspace/folder.ts'
import { splitCommand } from '../workspace/command-line.ts'
import { runCommand } from '../workspace/run-command.ts'
import type { Widening } from '../workspace/sandbox/sandbox.ts'
import { findTask } from '../workspace/tasks.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { defineTool } from './define-tool.ts'
import type { Intent, Tool, ToolContext, ToolResult, ToolSource } from './tool.ts'

/** Maximum output of each stream of a program. Bytes. */
const maxOutputBytes = 256 * 1024

/** No realistic command of a policy has more arguments. */
const maxArguments = 1000

/** The time that a command in the background has at most, and if the call names none. Ms. */
const maxBackgroundMs = 60 * 60_000

/** A read of a command in the background waits at most this long for its end. Ms. */
const maxWaitMs = 30_000

/** The arguments that both tools have which start a program. */
const starting = {
  timeoutMs: z
    .int()
    .min(1)
    .max(maxBackgroundMs)
    .optional()
    .describe('Ends the command after this time. Default: workspace.tool-timeout-seconds; in the background an hour.'),
  background: z
    .boolean()
    .optional()
    .describe('Returns an id at once, for shell_output and shell_stop. The command ends with the run at the latest.'),
}

const id = z.string().min(1).describe('The id that a command in the background has returned.')

/** Creates the tools that run programs. */
export function createCommandTools(): ToolSource {
  const background = createBackgroundCommands(randomUUID)
  const tools: readonly Tool[] = [
    defineTool(
      z.strictObject({
        argv: z.array(z.string()).min(1).max(maxArguments).optional().describe('The program and its arguments.'),
        cmd: z
          .string()
          .min(1)
          .optional()
          .describe('The same as one text, split at spaces and quotes; there is no shell.'),
        cwd: z.string().optional().describe('Folder in which it runs, relative to the workspace. Default: its root.'),
        ...starting,
      }),
      {
        name: 'mcp.shell.run',
        description: 'Runs a command that the policy of the workspace allows. Takes argv or cmd.',
        effect: 'run',
        async run({ argv, cmd, cwd = '', ...options }, context) {
          if ((argv === undefined) === (cmd === undefined)) {
            throw new ToolError({ kind: 'invalid_arguments', path: '', detail: 'Send either argv or cmd.' })
          }
          const folder = context.folder.relativePath(cwd)
          return run({ argv: argv ?? splitCommand(cmd ?? ''), cwd: folder, ...options }, context, background)
        },
      },
    ),
    defineTool(
      z.strictObject({
        name: z.string().min(1).max(200).describe('An npm script, a make target or an entry of .vscode/tasks.json.'),
        args: z.array(z.string()).max(maxArguments).optional().describe('Arguments that are added to the command.'),
        ...starting,
      }),
      {
        name: 'mcp.task.run',
        description: 'Runs a task of the workspace if its policy allows the command, such as "npm run build".',
        effect: 'run',
        run: async ({ name, args, ...options }, context) =>
          run({ ...(await findTask(context.folder, name, args)), ...options }, context, background),
      },
    ),
    defineTool(
      z.strictObject({
        id,
        waitMs: z
          .int()
          .min(0)
          .max(maxWaitMs)
          .optional()
          .describe('Waits this long for the end of the command. Default: 0.'),
      }),
      {
        name: 'mcp.shell.output',
        description: 'Reads the output so far of a command that was started with background: true.',
        effect: 'read',
        timeoutMs: 2 * maxWaitMs,
        run: async ({ id: asked, waitMs = 0 }, context) => ({
          ...(await background.read(asked, ownerOf(context), { waitMs, signal: context.signal })),
        }),
      },
    ),
    defineTool(z.strictObject({ id }), {
      name: 'mcp.shell.stop',
      description: 'Stops a command that was started with background: true.',
      effect: 'run',
      // Whoever may start the command may end it, so nobody is asked again.
      run: async ({ id: asked }, context) => ({
        ...(await background.stop(asked, ownerOf(context), context.signal)),
      }),
    }),
  ]
  return { tools: () => tools }
}

function ownerOf({ session, ownerId }: ToolContext): BackgroundOwner {
  return { sessionId: session.id, ownerId }
}

interface CommandCall {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly timeoutMs?: number | undefined
  readonly background?: boolean | undefined
}

async function run(
  { argv, cwd: given, timeoutMs: wantedMs, background: isBackground = false }: CommandCall,
  context: ToolContext,
  background: BackgroundCommands,
): Promise<ToolResult> {
  const { session, folder, signal, progress, authorize, limits, lifetime } = context
  const totalMs = wantedMs ?? (isBackground ? maxBackgroundMs : limits.timeoutMs)
  if (!isBackground && totalMs > limits.timeoutMs) {
    const detail = `A command may take ${limits.timeoutMs} ms (workspace.tool-timeout-seconds). Start a longer one with background: true.`
    throw new ToolError({ kind: 'invalid_arguments', path: 'timeoutMs', detail })
  }
  const cwd = await realFolder(folder, given)
  await authorize({ argv, cwd })
  const { network } = await session.policy.mayRun(argv, cwd)
  if (isBackground) {
    const started = { folder, argv, cwd, network, timeoutMs: totalMs }
    return { id: await background.start(started, ownerOf(context), lifetime), isRunning: true }
  }
  const startedMs = performance.now()
  const command = { folder, argv, cwd, signal, network, maxOutputBytes, onOutput: progress }
  const before = await namedFiles(folder.root, cwd, argv)
  const { needs, ...end } = await runCommand({ ...command, timeoutMs: totalMs })
  if (needs === undefined) return end
  const notes = [...changedSentence(before, await namedFiles(folder.root, cwd, argv)), ...(end.notes ?? [])]
  if (!(await isWidened({ argv, cwd, widening: needs, notes }, context))) return end
  // Both runs together have the time of one. What a person takes to answer does not count.
  const timeoutMs = Math.max(1000, totalMs - (performance.now() - startedMs))
  const { needs: _, ...again } = await runCommand({ ...command, timeoutMs, widening: needs })
  return again
}

/** Asks a person, if there is one, whether a command that failed in the sandbox may run again beyond it. */
async function isWidened(
  intent: Pick<Intent, 'argv' | 'cwd' | 'notes'> & { readonly widening: Widening },
  { folder, authorize }: ToolContext,
): Promise<boolean> {
  const { widening } = intent
  const { mode } = await folder.sandbox.state()
  if (widening === 'unsandboxed' && mode === 'required') return false
  try {
    await authorize(intent)
    return true
  } catch (error) {
    if (error instanceof ToolError && error.failure.kind === 'approval_refused') return false
    throw error
  }
}

/** Returns the files that the words of a command name, each with what changes when its content does. */
async function namedFiles(root: string, cwd: string, argv: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const words = new Set(argv.flatMap((word) => [word, word.slice(word.indexOf('=') + 1)]))
  const found = await Promise.all(
    Array.from(words, async (word) => {
      const stats = await stat(resolve(root, cwd, word), { bigint: true }).catch(() => undefined)
      // No program can set `ctime` back.
      return stats?.isFile() === true ? ([[word, `${stats.ino} ${stats.ctimeNs}`]] as const) : []
    }),
  )
  return new Map(found.flat())
}

function changedSentence(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  const changed = Array.from(after).flatMap(([word, state]) => (before.get(word) === state ? [] : JSON.stringify(word)))
  return changed.length === 0
    ? []
    : [`Files that the command names have changed meanwhile: ${changed.slice(0, 20).join(', ')}.`]
}

/**
 * Returns the path without links, which the policy and a person decide about. A folder that is missing or outside stays as it is:
 * the policy and the command refuse it.
 */
async function realFolder(folder: Folder, path: string): Promise<string> {
  const real = await realpath(join(folder.root, path)).catch(() => undefined)
  const below = real === undefined ? path : relative(folder.root, real).split(sep).join('/')
  return below === '..' || below.startsWith('../') ? path : below
}
