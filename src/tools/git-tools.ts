import { z } from 'zod'
import { defaultLogLimit, readDiff, readLog, readStatus } from '../workspace/git/read-git.ts'
import { defineTool } from './define-tool.ts'
import type { Tool, ToolContext, ToolSource } from './tool.ts'

const path = z.string().min(1).optional().describe('File or folder, relative to the workspace. Default: all of it.')

const optionsOf = ({ signal, limits }: ToolContext) => ({ signal, timeoutMs: limits.timeoutMs })

/** Creates the tools that read the git repository of the workspace. */
export function createGitTools(): ToolSource {
  const tools: readonly Tool[] = [
    defineTool(z.strictObject({ path }), {
      name: 'mcp.git.status',
      description: 'Shows the branch of git and the changed, staged and untracked files.',
      effect: 'read',
      run: async (args, context) => ({ ...(await readStatus(context.folder, args.path, optionsOf(context))) }),
    }),
    defineTool(z.strictObject({ path }), {
      name: 'mcp.git.diff',
      description: 'Shows what differs from the last commit of git, staged or not, without untracked files.',
      effect: 'read',
      run: async (args, context) => ({ ...(await readDiff(context.folder, args.path, optionsOf(context))) }),
    }),
    defineTool(
      z.strictObject({
        path,
        limit: z.int().min(1).max(200).optional().describe(`Maximum number of commits. Default: ${defaultLogLimit}.`),
      }),
      {
        name: 'mcp.git.log',
        description: 'Lists the last commits of git, newest first.',
        effect: 'read',
        run: async (args, context) => ({ ...(await readLog(context.folder, args, optionsOf(context))) }),
      },
    ),
  ]
  return { tools: () => tools }
}
