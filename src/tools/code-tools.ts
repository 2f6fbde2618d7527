import { z } from 'zod'
import { runCommand } from '../workspace/run-command.ts'
import { formatFile } from '../workspace/format/format-file.ts'
import { organizeImports } from '../workspace/organize-imports/organize-imports.ts'
import type { RewriteContext } from '../workspace/run-filter.ts'
import { listSymbols } from '../workspace/symbols/list-symbols.ts'
import { defineTool } from './define-tool.ts'
import type { Tool, ToolContext } from './tool.ts'

const parameters = z.strictObject({ path: z.string().min(1).describe('Path relative to the workspace, with /.') })

/** The tools that know languages. */
export const codeTools: readonly Tool[] = [
  defineTool(parameters, {
    name: 'mcp.symbols.list',
    description: 'Lists the symbols of a source file: types, functions, members, variables, with their places.',
    effect: 'read',
    run: async (args, { session, signal, limits }) => ({
      ...(await listSymbols(session.folder, args, { signal, maxFileBytes: limits.maxFileBytes })),
    }),
  }),
  // The next two may start a program of the workspace, and write.
  defineTool(parameters, {
    name: 'mcp.format.apply',
    description: 'Formats a file by the formatter of the workspace, or by prettier if it has none.',
    effect: 'run',
    run: async (args, context) => ({ ...(await formatFile(context.session.folder, args, rewriteContext(context))) }),
  }),
  defineTool(parameters, {
    name: 'mcp.imports.organize',
    description: 'Sorts and merges the imports of a file and removes those that are not used.',
    effect: 'run',
    run: async (args, context) => ({
      ...(await organizeImports(context.session.folder, args, rewriteContext(context))),
    }),
  }),
]

function rewriteContext({ session: { folder }, authorize, signal, limits }: ToolContext): RewriteContext {
  const { maxFileBytes, timeoutMs } = limits
  return {
    authorize,
    signal,
    maxFileBytes,
    // A formatted file may be larger than the file.
    run: (argv, options) => runCommand({ folder, argv, timeoutMs, maxOutputBytes: 2 * maxFileBytes, ...options }),
  }
}
