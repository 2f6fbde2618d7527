import type { Folder } from '../folder.ts'
import { biome, findTool, inPython, ruff, type WorkspaceTool } from '../format/formatters.ts'
import { runInWorker } from '../run-code-task.ts'
import { runFilter, type Filter, type FilterContext } from '../run-filter.ts'
import { languageOf } from '../symbols/languages.ts'
import { failed } from '../tool-error.ts'

const organizers: readonly WorkspaceTool[] = [
  {
    ...biome,
    args: ['check', '--write', '--formatter-enabled=false', '--linter-enabled=false', '--stdin-file-path'],
  },
  { ...ruff, args: ['check', '--select=I,F401', '--fix', '--exit-zero', '--quiet', '-', '--stdin-filename'] },
  {
    name: 'isort',
    files: ['.isort.cfg'],
    mentions: { 'pyproject.toml': /^[ \t]*\[tool\.isort\]/m },
    args: ['--quiet', '-', '--filename'],
    takesPath: true,
    ...inPython,
  },
]

const scriptGrammars = new Set(['typescript', 'tsx', 'javascript'])

/**
 * Sorts and merges the imports of a file's text and removes unused ones. Uses the organiser that the workspace's configuration
 * names, if the policy allows that program. Without one, organises JavaScript and TypeScript itself.
 * @throws ToolError of `authorize`; `failed` for a language without an organiser or a syntax error
 */
export async function organizeText(
  folder: Folder,
  path: string,
  text: string,
  context: FilterContext,
): Promise<string> {
  const organizer = await findOrganizer(folder, path, context.signal)
  if (organizer === 'own') return organizeScript(folder, path, text, context.signal)
  if (organizer !== undefined) return runFilter(organizer, path, text, context)
  throw failed(
    grammarOf(path) === 'python'
      ? 'The workspace has no organiser of Python imports. Add [tool.ruff] or [tool.isort] to pyproject.toml.'
      : `Imports of ${JSON.stringify(path)} cannot be organised. Supported languages: JavaScript, TypeScript, Python.`,
  )
}

/** Returns whether `organizeText` supports the language. @throws ToolError of `findTool` */
export async function canOrganize(folder: Folder, path: string, signal: AbortSignal): Promise<boolean> {
  return (await findOrganizer(folder, path, signal)) !== undefined
}

async function findOrganizer(folder: Folder, path: string, signal: AbortSignal): Promise<Filter | 'own' | undefined> {
  const isScript = scriptGrammars.has(grammarOf(path))
  if (!isScript && grammarOf(path) !== 'python') return undefined
  return (await findTool(folder, path, organizers, signal)) ?? (isScript ? 'own' : undefined)
}

function grammarOf(path: string): string {
  return languageOf(path)?.grammar ?? ''
}

async function organizeScript(folder: Folder, path: string, text: string, signal: AbortSignal): Promise<string> {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const task = { do: 'imports', text: text.slice(mark.length), grammar: grammarOf(path) } as const
  const answer = await runInWorker(task, { folder, signal })
  if (answer.is === 'text') return mark + answer.text
  throw failed(
    `Imports of ${JSON.stringify(path)} cannot be organised${'detail' in answer ? `: ${answer.detail}` : '.'}`,
  )
}
