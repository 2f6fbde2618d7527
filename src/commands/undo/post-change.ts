import type { z } from 'zod'
import { visible } from '../../terminal/visible.ts'
import type { Connection } from '../agent/connect.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { askRoute, RouteRefused } from '../shared/view.ts'
import { conflictText } from './undo-text.ts'

/** Undoing many files, or computing their diffs, may take this long. Ms. */
export const timeoutMs = 60_000

/** Asks the daemon to undo something. The failure names the lines that differ from what it expects. */
export async function postChange<Answer>(
  context: CommandContext,
  connection: Connection,
  path: string,
  schema: z.ZodType<Answer>,
  body: object,
): Promise<Answer> {
  try {
    return await askRoute(context, connection, path, schema, { method: 'POST', body, timeoutMs })
  } catch (error) {
    if (!(error instanceof RouteRefused) || error.conflicts.length === 0) throw error
    const lines = error.conflicts.map((conflict) => conflictText(conflict)).join('')
    throw new CommandFailure(exitCode.failed, `${visible(error.message)}\n${lines.trimEnd()}`, { cause: error })
  }
}
