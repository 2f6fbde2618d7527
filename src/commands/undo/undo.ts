import { changeList, undoReport, type ChangeEntry, type ChangeList, type UndoReport } from '../../api/changes.ts'
import { visible, visibleLines } from '../../terminal/visible.ts'
import { connect, type Connection } from '../agent/connect.ts'
import { createRunScreen } from '../agent/render-run.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, UndoFlags } from '../shared/command.ts'
import { getterAt } from '../shared/view.ts'
import { askAndUndo } from './ask-and-undo.ts'
import { postChange, timeoutMs } from './post-change.ts'
import { rewind } from './rewind.ts'
import { changesTable, netText, subjectOf, type Subject } from './undo-text.ts'

/** Undoes a change or a run of the agent, lists what can be undone, or shows what all changes have done together. */
export async function undo(context: CommandContext, flags: UndoFlags): Promise<ExitCode> {
  if (flags.to !== undefined && flags.id !== undefined) {
    throw new CommandFailure(exitCode.usage, 'Give the id of a change or a run, or --to with a message, but not both.')
  }
  if (flags.keepFiles && flags.to === undefined) throw new CommandFailure(exitCode.usage, '--keep-files needs --to.')
  const connection = await connect(context, flags, { needsModel: false })
  try {
    return await (flags.to === undefined ? act : rewind)(context, flags, connection)
  } finally {
    await connection.close()
  }
}

async function act(context: CommandContext, flags: UndoFlags, connection: Connection): Promise<ExitCode> {
  const { stdout } = context
  const { id, yes, json } = flags
  const list = await readChanges(context, connection, flags.diff === true)
  if (flags.diff) {
    if (json) writeJson(context, list)
    else {
      createRunScreen(stdout).wholeDiff({ diff: (list.files ?? []).map(({ diff }) => diff).join('') })
      stdout.write(visibleLines(netText(list)))
    }
    return exitCode.done
  }
  if (id === undefined && !yes && (json || !context.interactive)) {
    if (json) writeJson(context, list)
    else stdout.write(changesTable(list.changes, stdout))
    return exitCode.done
  }
  const chosen = id === undefined ? lastOf(list.changes) : findSubject(list.changes, id)
  return askAndUndo(context, flags, {
    send: (dryRun) => send(context, connection, chosen, dryRun),
    diffOf: ({ diff }) => diff,
    question: (plan) => `Undo ${subjectOf(chosen, plan)}?`,
    purpose: 'To undo it',
    doneText: (done) => `Undone: ${subjectOf(chosen, done)}. To bring it back: copilot-proxy undo ${done.id}`,
  })
}

async function readChanges(context: CommandContext, connection: Connection, diffs: boolean): Promise<ChangeList> {
  const path = `/sessions/${encodeURIComponent(connection.sessionId)}/changes?diff=${diffs}`
  return getterAt(context, connection)(path, changeList, { timeoutMs })
}

async function send(
  context: CommandContext,
  connection: Connection,
  subject: Subject,
  dryRun: boolean,
): Promise<UndoReport> {
  const path = 'run' in subject ? `/runs/${subject.run}/undo` : `/changes/${subject.change}/undo`
  return postChange(context, connection, path, undoReport, { dryRun })
}

/** Returns the last run with a change that is not undone, or the last such change if no run made it. */
function lastOf(changes: readonly ChangeEntry[]): Subject {
  const last = changes.findLast(({ undoneBy, undoes }) => undoneBy === undefined && undoes === undefined)
  if (last === undefined) throw new CommandFailure(exitCode.failed, 'There is no change to undo.')
  return last.runId === undefined ? { change: last.id } : { run: last.runId }
}

/** @param given an id of a change or a run, or the beginning of one */
function findSubject(changes: readonly ChangeEntry[], given: string): Subject {
  const ids = changes.map(({ id }) => id)
  const runs = [...new Set(changes.flatMap(({ runId }) => runId ?? []))]
  if (ids.includes(given)) return { change: given }
  if (runs.includes(given)) return { run: given }
  const matching: readonly Subject[] = [
    ...ids.filter((id) => id.startsWith(given)).map((change) => ({ change })),
    ...runs.filter((id) => id.startsWith(given)).map((run) => ({ run })),
  ]
  const [only] = matching
  if (only !== undefined && matching.length === 1) return only
  const problem = only === undefined ? 'There is no change and no run' : 'There are several changes and runs'
  const message = `${problem} with the id ${JSON.stringify(given)}. To list them: copilot-proxy undo --json`
  throw new CommandFailure(exitCode.failed, visible(message))
}
