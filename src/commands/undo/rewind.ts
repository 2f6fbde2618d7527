import { rewindReport, type RewindReport } from '../../api/changes.ts'
import type { MessageEntry } from '../../api/run.ts'
import { messageList } from '../../api/sessions.ts'
import { visible } from '../../terminal/visible.ts'
import type { Connection } from '../agent/connect.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext, ExitCode, UndoFlags } from '../shared/command.ts'
import { getterAt } from '../shared/view.ts'
import { askAndUndo } from './ask-and-undo.ts'
import { postChange } from './post-change.ts'
import { plural } from '../../terminal/format.ts'

/** The newest messages among which one is sought. */
const soughtMessages = 500

/** The longest part of a message that a question quotes. Characters. */
const maxQuoted = 60

/** Takes a conversation, and the files that its runs have changed, back to before a message. */
export async function rewind(context: CommandContext, flags: UndoFlags, connection: Connection): Promise<ExitCode> {
  const message = await findMessage(context, connection, flags.to ?? '')
  const path = `/sessions/${connection.sessionId}/conversations/${message.conversationId}/rewind`
  const subject = { messageId: message.id, files: flags.keepFiles !== true }
  return askAndUndo(context, flags, {
    send: (dryRun) => postChange(context, connection, path, rewindReport, { ...subject, dryRun }),
    diffOf: ({ undo }) => undo?.diff,
    question: (plan) => `Go back to before "${quoted(message.text)}" (${effectOf(plan)})?`,
    purpose: 'To go back',
    doneText(done) {
      const back = done.undo?.id === undefined ? '' : ` To bring the files back: copilot-proxy undo ${done.undo.id}`
      return `Went back: ${effectOf(done)}.${back}\nThe message was:\n${done.text}`
    },
  })
}

/** @param given the id of a message, which is that of its run, or its beginning */
async function findMessage(
  context: CommandContext,
  connection: Connection,
  given: string,
): Promise<Pick<MessageEntry, 'id' | 'conversationId' | 'text'>> {
  const path = `/sessions/${connection.sessionId}/messages?limit=${soughtMessages}`
  const { messages } = await getterAt(context, connection)(path, messageList)
  const matching = messages.filter(({ id }) => id.startsWith(given))
  const [only] = matching.length === 1 ? matching : messages.filter(({ id }) => id === given)
  if (only !== undefined) return only
  const problem = matching.length === 0 ? 'There is no message' : 'There are several messages'
  const hint = 'The id of a message is that of its run. To list runs with changes: copilot-proxy undo --json'
  throw new CommandFailure(exitCode.failed, visible(`${problem} with the id ${JSON.stringify(given)}. ${hint}`))
}

function effectOf({ messages, undo }: RewindReport): string {
  const files = undo === undefined ? 'no file changes' : `${plural(undo.files.length, 'file')} restored`
  return `${plural(messages.length, 'message')} removed, ${files}`
}

function quoted(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return visible(line.length <= maxQuoted ? line : `${line.slice(0, maxQuoted - 3).toWellFormed()}...`)
}
