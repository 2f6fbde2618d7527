import type { ApprovalRequest } from '../../agent/agent-task.ts'
import {
  changeOf,
  closedSentences,
  nameOf,
  questionOf,
  rowsOf,
  secretSentence,
  wideningSentence,
} from '../../page/static/approval-words.js'
import { visible } from '../../terminal/visible.ts'

/** A longer question is not asked: a person decides about what they can see. Characters. */
const maxQuestion = 64 * 1024

/**
 * Returns the text with which the client asks its person: all that the call would do, and the closed gates. Undefined if it is too
 * long to be shown whole. Everything that comes from a file or a model stands in an indented line and shows hidden characters.
 */
export function questionText(request: ApprovalRequest, workspace: string): string | undefined {
  const { argv, cwd = '', reads, diff, args, widening, notes = [] } = request
  const rows = argv === undefined ? rowsOf(request) : []
  const text = [
    `copilot-proxy, workspace ${visible(JSON.stringify(workspace))}: ${questionOf(request, visible)}`,
    ...rows.map((row) => `    ${nameOf(row, visible)}: ${changeOf(row)}`),
    ...(diff === undefined ? [] : indented(diff)),
    // As JSON, so that nobody takes one argument for two.
    ...(argv === undefined ? [] : [`    ${visible(JSON.stringify(argv))}`, `in ${folderOf(cwd)}`]),
    ...(reads === undefined ? [] : [secretSentence]),
    ...(args === undefined || diff !== undefined ? [] : indented(JSON.stringify(args, undefined, 2))),
    ...(widening === undefined ? [] : [wideningSentence(widening), ...notes.map((note) => visible(note))]),
    ...closedSentences(request).map((sentence) => visible(sentence)),
  ].join('\n')
  return text.length <= maxQuestion ? text : undefined
}

function folderOf(cwd: string): string {
  return cwd === '' ? 'the folder of the workspace' : `the folder ${visible(JSON.stringify(cwd))}`
}

/** Clients may show the text as Markdown, where lines that are indented so are shown as they are. */
function indented(text: string): readonly string[] {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `    ${visible(line)}`)
}
