import type { FileChange } from './agent-task.ts'
import type { Ending } from './loop-state.ts'
import type { CommandRecord } from './run-tool.ts'

/** A summary lists this many of the newest commands. */
const maxCommands = 20

/** The reason of a run that the model has completed. */
export const finalReason = 'The model gave its final answer.'

export const inVainReason =
  'The model gave its final answer, but nothing was changed: every change or command was denied.'

/** The reason of a run in the mode `plan` whose plan nobody has accepted. */
export const unplannedReason = 'The model gave its final answer. No plan was accepted, so nothing was changed.'

/** Adds to the reason of a completed run that it changed no file, so that nobody takes its end for an effect. */
export function endingOf(
  ending: Ending,
  { files, commands }: { readonly files: readonly FileChange[]; readonly commands: readonly CommandRecord[] },
): Ending {
  if (ending.reason !== finalReason || files.length > 0) return ending
  const effects = commands.length === 0 ? `${unchanged} No command was run.` : unchangedByTools
  return { ...ending, reason: `${finalReason} ${effects}` }
}

const unchanged = 'No file was changed.'
const unchangedByTools = 'No file was changed, except perhaps by its commands.'

/** Lists changes and commands from the journal and the results of tools, then quotes the model's answer. */
export function summariseRun(run: {
  readonly ending: Ending
  readonly files: readonly FileChange[]
  readonly patchIds: readonly string[]
  readonly commands: readonly CommandRecord[]
  readonly answer: string
}): string {
  const { ending, files, patchIds, commands, answer } = run
  const lines: string[] = []
  if (ending.reason !== finalReason) lines.push(ending.reason)
  if (files.length === 0 && !ending.reason.startsWith(finalReason)) lines.push(unchanged)
  if (files.length > 0) {
    lines.push(files.length === 1 ? 'Changed 1 file:' : `Changed ${files.length} files:`)
    for (const { path, change, added, removed } of files) lines.push(`  ${change} ${path} (+${added} −${removed})`)
    if (patchIds.length > 0) lines.push(`To undo: ${patchIds.toReversed().join(', ')}.`)
  }
  if (commands.length > 0) {
    lines.push('Commands that were run, which may have changed more files:')
    const shown = commands.slice(-maxCommands)
    if (shown.length < commands.length) lines.push(`  (${commands.length - shown.length} earlier ones)`)
    for (const command of shown) lines.push(`  ${command.argv.join(' ')} → ${endOf(command)}`)
  }
  if (answer.trim() !== '')
    lines.push(
      'The model says:',
      ...answer
        .trim()
        .split('\n')
        .map((line) => `> ${line}`),
    )
  return lines.join('\n')
}

function endOf({ exitCode, isBackground = false }: CommandRecord): string {
  if (isBackground) return 'started in the background, at most until the end of the run'
  return exitCode === undefined ? 'stopped before it finished' : `exit code ${exitCode}`
}
