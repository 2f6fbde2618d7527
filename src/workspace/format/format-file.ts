import { posix } from 'node:path'
import type { Folder } from '../folder.ts'
import { runInWorker } from '../run-code-task.ts'
import {
  foldersOf,
  inFolder,
  readIfThere,
  readWhole,
  runFilter,
  writeRewritten,
  type RewriteContext,
  type RewriteResult,
} from '../run-filter.ts'
import { endingOf } from '../symbols/languages.ts'
import { ToolError } from '../tool-error.ts'
import { styleOf, type EditorConfig } from './editorconfig.ts'
import { findFormatter } from './formatters.ts'

/**
 * Formats a file: by the formatter that the workspace's configuration names, which is a program of the workspace and needs the
 * policy's leave; else by the prettier of this program, which reads no configuration but `.editorconfig`.
 * @throws ToolError as `authorize` and `Folder.writeFile`; `failed` for a language without a formatter or a syntax error
 */
export async function formatFile(
  folder: Folder,
  { path: callersPath }: { readonly path: string },
  context: RewriteContext,
): Promise<RewriteResult> {
  const path = folder.relativePath(callersPath)
  const before = await readWhole(folder, path, context)
  const formatter = await findFormatter(folder, path, context.signal)
  const after =
    formatter === undefined
      ? await formatBundled(folder, path, before.content, context.signal)
      : await runFilter(formatter, path, before.content, context)
  return writeRewritten(folder, path, before, after, context)
}

async function formatBundled(folder: Folder, path: string, text: string, signal: AbortSignal): Promise<string> {
  const files: EditorConfig[] = []
  for (const outer of foldersOf(path).toReversed()) {
    const config = await readIfThere(folder, inFolder(outer, '.editorconfig'), signal)
    if (config !== undefined) files.push({ folder: outer, text: config })
  }
  const fileName = posix.basename(path)
  const answer = await runInWorker({ do: 'format', text, fileName, style: styleOf(path, files) }, signal)
  if (answer.is === 'text') return answer.text
  if (answer.is === 'failure') throw failed(`${JSON.stringify(path)} cannot be formatted: ${answer.detail}`)
  throw failed(
    endingOf(path) === 'py'
      ? 'The workspace has no formatter for Python. Add [tool.ruff] or [tool.black] to pyproject.toml.'
      : `There is no formatter for ${JSON.stringify(fileName)}.`,
  )
}

function failed(detail: string): ToolError {
  return new ToolError({ kind: 'failed', detail })
}
