import { z } from 'zod'
import { formatText } from '../workspace/format/format-file.ts'
import { organizeText } from '../workspace/organize-imports/organize-imports.ts'
import type { Journal } from '../workspace/patch/journal.ts'
import { ownedJournal } from '../workspace/patch/owned-journal.ts'
import { rewriteFile, type RewriteText } from '../workspace/run-filter.ts'
import { listSymbols } from '../workspace/symbols/list-symbols.ts'
import { defineTool } from './define-tool.ts'
import { filterContext } from './filter-context.ts'
import type { SessionInfo, Tool, ToolContext, ToolResult, ToolSource } from './tool.ts'

const parameters = z.strictObject({ path: z.string().min(1).describe('Path relative to the workspace, with /.') })

export interface CodeToolsDeps {
  /** Opens the journal of a session's changes, or returns the open one. @throws ToolError */
  readonly journal: (session: SessionInfo) => Promise<Journal>
}

/** Creates the tools that depend on the language of a file. */
export function createCodeTools({ journal }: CodeToolsDeps): ToolSource {
  const tools: readonly Tool[] = [
    defineTool(parameters, {
      name: 'mcp.symbols.list',
      description: 'Lists the symbols of a source file: types, functions, members, variables, with their places.',
      effect: 'read',
      run: async (args, { files, signal, limits }) => ({
        ...(await listSymbols(files, args, { signal, maxFileBytes: limits.maxFileBytes })),
      }),
    }),
    // The next two tools may start a program of the workspace, and write.
    defineTool(parameters, {
      name: 'mcp.format.apply',
      description: 'Formats a file by the formatter of the workspace, or by prettier if it has none.',
      effect: 'run',
      run: (args, context) => rewrite(args, context, formatText),
    }),
    defineTool(parameters, {
      name: 'mcp.imports.organize',
      description: 'Sorts and merges the imports of a file and removes those that are not used.',
      effect: 'run',
      run: (args, context) => rewrite(args, context, organizeText),
    }),
  ]

  async function rewrite(
    args: { readonly path: string },
    context: ToolContext,
    rewriteText: RewriteText,
  ): Promise<ToolResult> {
    const { session, folder, files, limits } = context
    const { maxFileBytes } = limits
    const rewriting = {
      ...filterContext(context),
      files,
      journal: ownedJournal(await journal(session), context),
      maxFileBytes,
    }
    return { ...(await rewriteFile(folder, args, rewriting, rewriteText)) }
  }

  return { tools: () => tools }
}
