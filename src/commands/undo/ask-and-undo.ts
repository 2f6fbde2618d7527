import { visibleLines } from '../../terminal/visible.ts'
import { createRunScreen } from '../agent/render-run.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, UndoFlags } from '../shared/command.ts'
import { confirm } from '../shared/confirm.ts'

/** Something that the daemon can undo. Its report says what it would do, or has done. */
interface Undoing<Report> {
  readonly send: (dryRun: boolean) => Promise<Report>
  readonly diffOf: (report: Report) => string | undefined
  readonly question: (plan: Report) => string
  /** What `--yes` does, e.g. `To go back`. */
  readonly purpose: string
  readonly doneText: (done: Report) => string
}

/** Shows what comes back, asks, and undoes it. */
export async function askAndUndo<Report extends object>(
  context: CommandContext,
  { yes, json }: UndoFlags,
  { send, diffOf, question, purpose, doneText }: Undoing<Report>,
): Promise<ExitCode> {
  const { stdout, stderr } = context
  const plan = await send(true)
  if (json && !yes) {
    writeJson(context, { ...plan, undone: false })
    return exitCode.done
  }
  if (!json) createRunScreen(stdout).wholeDiff({ diff: diffOf(plan) ?? '' })
  if (!yes && !context.interactive) {
    const message = `Nothing was undone: there is no terminal to ask on. ${purpose}, add --yes.`
    throw new CommandFailure(exitCode.failed, message)
  }
  if (!yes && !(await confirm(context, question(plan)))) {
    stderr.write('Nothing was undone.\n')
    return exitCode.failed
  }
  const done = await send(false)
  if (json) writeJson(context, { ...done, undone: true })
  else stdout.write(visibleLines(`${doneText(done)}\n`))
  return exitCode.done
}
