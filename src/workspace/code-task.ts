import { posix } from 'node:path'
import type { EditorConfig } from './format/editorconfig.ts'
import type { PolicyText } from './policy/policy-text.ts'
import type { Language } from './symbols/languages.ts'
import type { SymbolList } from './symbols/find-symbols.ts'

/** A task on one text. It may block its thread for seconds. */
export type CodeTask =
  | { readonly do: 'symbols'; readonly text: string; readonly language: Language; readonly limit: number }
  | { readonly do: 'imports'; readonly text: string; readonly grammar: string }
  | {
      readonly do: 'format'
      readonly text: string
      /** Relative to the root of the workspace. */
      readonly path: string
      /** From the outermost folder to the path's own. */
      readonly editorConfigs: readonly EditorConfig[]
    }
  | { readonly do: 'policy'; readonly text: string }

export type CodeAnswer =
  | { readonly is: 'symbols'; readonly list: SymbolList }
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'policy'; readonly read: PolicyText }
  | { readonly is: 'unknown language' }
  /** The library cannot handle the text, e.g. because of a syntax error. */
  | { readonly is: 'failure'; readonly detail: string }
  /** An optional package is not installed. */
  | { readonly is: 'missing package' }

/** A formatter can turn deep nesting into very long indentation, which the daemon would have to keep. Characters. */
const maxAnswer = 16 * 1024 * 1024

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
      case 'format': {
        const answer = await format(task)
        const isTooLong = answer.is === 'text' && answer.text.length > maxAnswer
        return isTooLong ? { is: 'failure', detail: 'The formatted text is too long.' } : answer
      }
      case 'policy': {
        const { readPolicyText } = await import('./policy/policy-text.ts')
        return { is: 'policy', read: readPolicyText(task.text) }
      }
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return { is: 'missing package' }
    return { is: 'failure', detail: error instanceof Error ? error.message : String(error) }
  }
}

/** Formats with this program's prettier. It reads no configuration and loads no plugin of the workspace. */
async function format({ text, path, editorConfigs }: CodeTask & { readonly do: 'format' }): Promise<CodeAnswer> {
  const [prettier, { styleOf }] = await Promise.all([import('prettier'), import('./format/editorconfig.ts')])
  const fileName = posix.basename(path)
  const style = styleOf(path, editorConfigs)
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
