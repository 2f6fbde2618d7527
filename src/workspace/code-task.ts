import type { Language } from './symbols/languages.ts'
import type { SymbolList } from './symbols/find-symbols.ts'

/** A task on one text. It may block its thread for seconds. */
export type CodeTask =
  | { readonly do: 'symbols'; readonly text: string; readonly language: Language; readonly limit: number }
  | { readonly do: 'imports'; readonly text: string; readonly grammar: string }
  | { readonly do: 'format'; readonly text: string; readonly fileName: string; readonly style: Style }

/** Options of prettier that `.editorconfig` states. */
export interface Style {
  readonly useTabs?: boolean
  readonly tabWidth?: number
  readonly printWidth?: number
  readonly endOfLine?: 'lf' | 'crlf' | 'cr'
}

export type CodeAnswer =
  | { readonly is: 'symbols'; readonly list: SymbolList }
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'unknown language' }
  /** The library cannot handle the text, e.g. because of a syntax error. */
  | { readonly is: 'failure'; readonly detail: string }
  /** An optional package is not installed. */
  | { readonly is: 'missing package' }

/** Runs a task. Loads only the library that the task needs. */
export async function runCodeTask(task: CodeTask): Promise<CodeAnswer> {
  try {
    switch (task.do) {
      case 'symbols': {
        const { findSymbols } = await import('./symbols/find-symbols.ts')
        return { is: 'symbols', list: await findSymbols(task.text, task.language, task.limit) }
      }
      case 'imports': {
        const { organizeScriptImports } = await import('./organize-imports/script-imports.ts')
        const text = await organizeScriptImports(task.text, task.grammar)
        return text === undefined ? { is: 'failure', detail: 'It has a syntax error.' } : { is: 'text', text }
      }
      case 'format':
        return await format(task)
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return { is: 'missing package' }
    return { is: 'failure', detail: error instanceof Error ? error.message : String(error) }
  }
}

/** Formats with this program's prettier. It reads no configuration and loads no plugin of the workspace. */
async function format({ text, fileName, style }: CodeTask & { readonly do: 'format' }): Promise<CodeAnswer> {
  const prettier = await import('prettier')
  const { languages } = await prettier.getSupportInfo()
  const name = fileName.toLowerCase()
  const language =
    languages.find(({ filenames }) => filenames?.includes(fileName) === true) ??
    languages.find(({ extensions }) => extensions?.some((ending) => name.endsWith(ending)) === true)
  const parser = language?.parsers[0]
  if (parser === undefined) return { is: 'unknown language' }
  // By default, prettier would replace each CRLF.
  return {
    is: 'text',
    text: await prettier.format(text, { endOfLine: 'auto', ...style, parser, filepath: fileName, plugins: [] }),
  }
}
