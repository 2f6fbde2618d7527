import type { Folder } from '../folder.ts'
import { biome, findTool, inPython, ruff, type WorkspaceTool } from '../format/formatters.ts'
import { runInWorker } from '../run-code-task.ts'
import { readWhole, runFilter, writeRewritten, type RewriteContext, type RewriteResult } from '../run-filter.ts'
import { languageOf } from '../symbols/languages.ts'
import { ToolError } from '../tool-error.ts'

const organizers: readonly WorkspaceTool[] = [
  {
    ...biome,
    args: ['check', '--write', '--formatter-enabled=false', '--linter-enabled=false', '--stdin-file-path'],
  },
  { ...ruff, args: ['check', '--select=I,F401', '--fix', '--exit-zero', '--quiet', '-', '--stdin-filename'] },
  {
    name: 'isort',
    files: ['.isort.cfg'],
    mentions: { 'pyproject.toml': /^\s*\[tool\.isort\]/m },
    args: ['--quiet', '-', '--filename'],
    takesPath: true,
    ...inPython,
  },
]

const scriptGrammars = new Set(['typescript', 'tsx', 'javascript'])

/**
 * Sorts and merges the imports of a file and removes those that are not used: by the organiser that the workspace's
 * configuration names, which needs the policy's leave; JavaScript and TypeScript else by our own.
 * @throws ToolError as `formatFile`
 */
export async function organizeImports(
  folder: Folder,
  { path: callersPath }: { readonly path: string },
  context: RewriteContext,
): Promise<RewriteResult> {
  const path = folder.relativePath(callersPath)
  const grammar = languageOf(path)?.grammar ?? ''
  const before = await readWhole(folder, path, context)
  const tool = await findOrganizer(folder, path, grammar, context.signal)
  const after =
    tool === undefined
      ? await organizeScript(before.content, path, grammar, context.signal)
      : await runFilter(tool, path, before.content, context)
  return writeRewritten(folder, path, before, after, context)
}

async function findOrganizer(
  folder: Folder,
  path: string,
  grammar: string,
  signal: AbortSignal,
): ReturnType<typeof findTool> {
  if (scriptGrammars.has(grammar)) return findTool(folder, path, organizers, signal)
  const tool = grammar === 'python' ? await findTool(folder, path, organizers, signal) : undefined
  if (tool !== undefined) return tool
  throw failed(
    grammar === 'python'
      ? 'The workspace has no organiser of Python imports. Add [tool.ruff] or [tool.isort] to pyproject.toml.'
      : `Imports of ${JSON.stringify(path)} cannot be organised. Supported languages: JavaScript, TypeScript, Python.`,
  )
}

async function organizeScript(text: string, path: string, grammar: string, signal: AbortSignal): Promise<string> {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const answer = await runInWorker({ do: 'imports', text: text.slice(mark.length), grammar }, signal)
  if (answer.is === 'text') return mark + answer.text
  throw failed(
    `Imports of ${JSON.stringify(path)} cannot be organised${'detail' in answer ? `: ${answer.detail}` : '.'}`,
  )
}

function failed(detail: string): ToolError {
  return new ToolError({ kind: 'failed', detail })
}
