import type { Folder } from '../folder.ts'
import { readText } from '../read-text.ts'
import { runInWorker } from '../run-code-task.ts'
import { ToolError } from '../tool-error.ts'
import type { SymbolList } from './find-symbols.ts'
import { endingOf, languageNames, languageOf } from './languages.ts'

/** More than in any file that people write. */
const maxSymbols = 5000

/**
 * Returns the symbols of a file: types, functions, members, and variables outside of functions. For a file with syntax errors,
 * returns those that it finds. For a file larger than the limit, returns those of its beginning.
 * @throws ToolError of `readText`; `failed` for a language without a grammar; `cancelled`
 */
export async function listSymbols(
  folder: Folder,
  { path }: { readonly path: string },
  { signal, maxFileBytes }: { readonly signal: AbortSignal; readonly maxFileBytes: number },
): Promise<SymbolList> {
  const language = languageOf(folder.relativePath(path))
  if (language === undefined) {
    const ending = endingOf(path)
    const what = ending === '' ? 'files without a known ending' : `.${ending} files`
    const detail = `Symbols of ${what} are not supported. Supported languages: ${languageNames()}.`
    throw new ToolError({ kind: 'failed', detail })
  }
  const { content, truncated } = await readText(folder, { path }, { maxBytes: maxFileBytes, signal })
  const text = content.replace(/^\uFEFF/, '')
  const answer = await runInWorker({ do: 'symbols', text, language, limit: maxSymbols }, { folder, signal })
  if (answer.is !== 'symbols') {
    throw new ToolError({ kind: 'failed', detail: 'detail' in answer ? answer.detail : 'The file has no symbols.' })
  }
  return { ...answer.list, truncated: truncated || answer.list.truncated }
}
