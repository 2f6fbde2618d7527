import { posix } from 'node:path'
import type { Folder } from '../folder.ts'
import { canOrganize, organizeText } from '../organize-imports/organize-imports.ts'
import { runInWorker } from '../run-code-task.ts'
import { foldersOf, inFolder, readIfThere, runFilter, type FilterContext } from '../run-filter.ts'
import { endingOf } from '../symbols/languages.ts'
import { failed } from '../tool-error.ts'
import type { EditorConfig } from './editorconfig.ts'
import { findFormatter } from './formatters.ts'

/**
 * Formats the text of a file, which need not be on disk. Uses the formatter that the workspace's configuration names, if the
 * policy allows that program. Without one, uses this program's prettier, which reads no configuration but `.editorconfig`.
 * @throws ToolError of `authorize`; `failed` for a language without a formatter or a syntax error
 */
export async function formatText(folder: Folder, path: string, text: string, context: FilterContext): Promise<string> {
  const formatter = await findFormatter(folder, path, context.signal)
  return formatter === undefined
    ? formatBundled(folder, path, text, context.signal)
    : runFilter(formatter, path, text, context)
}

/**
 * Organises the imports of a text if its language has an organiser, and formats it.
 * @throws ToolError of `formatText`
 */
export async function tidyText(folder: Folder, path: string, text: string, context: FilterContext): Promise<string> {
  const isOrganised = await canOrganize(folder, path, context.signal)
  return formatText(folder, path, isOrganised ? await organizeText(folder, path, text, context) : text, context)
}

async function formatBundled(folder: Folder, path: string, text: string, signal: AbortSignal): Promise<string> {
  const editorConfigs: EditorConfig[] = []
  for (const outer of foldersOf(path).toReversed()) {
    const config = await readIfThere(folder, inFolder(outer, '.editorconfig'), signal)
    if (config !== undefined) editorConfigs.push({ folder: outer, text: config })
  }
  const answer = await runInWorker({ do: 'format', text, path, editorConfigs }, { folder, signal })
  if (answer.is === 'text') return answer.text
  if (answer.is === 'failure') throw failed(`${JSON.stringify(path)} cannot be formatted: ${answer.detail}`)
  throw failed(
    endingOf(path) === 'py'
      ? 'The workspace has no formatter for Python. Add [tool.ruff] or [tool.black] to pyproject.toml.'
      : `There is no formatter for ${JSON.stringify(posix.basename(path))}.`,
  )
}
