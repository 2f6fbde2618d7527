import type { Tool as McpTool, ToolAnnotations } from '@modelcontextprotocol/server'
import type { Tool } from '../../tools/tool.ts'

/** Titles that clients show to people in lists and when they ask for permission. */
const titles: Readonly<Record<string, string>> = {
  'mcp.fs.read': 'Read a file',
  'mcp.fs.list': 'List files',
  'mcp.search.code': 'Search code',
  'mcp.symbols.list': 'List symbols',
  'mcp.edit.applyPatch': 'Apply a patch',
  'mcp.edit.replace': 'Replace a text',
  'mcp.edit.undo': 'Undo a change',
  'mcp.format.apply': 'Format a file',
  'mcp.imports.organize': 'Organize imports',
  'mcp.git.status': 'Show the changed files of git',
  'mcp.git.diff': 'Show the changes since the last commit',
  'mcp.git.log': 'List commits',
  'mcp.shell.run': 'Run a command',
  'mcp.task.run': 'Run a task',
  'mcp.shell.output': 'Read the output of a command',
  'mcp.shell.stop': 'Stop a command',
  'mcp.policy.get': 'Show what is allowed',
  'mcp.session.list': 'List workspaces',
}

/** Tools whose repeated call with the same arguments has no further effect. */
const idempotent: ReadonlySet<string> = new Set(['mcp.format.apply', 'mcp.imports.organize'])

/** @param name the tool's name for models */
export function describeTool(name: string, tool: Tool): McpTool {
  const { description, parameters } = tool
  const title = titles[tool.name]
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema: { ...parameters, type: 'object' },
    annotations: { ...(title !== undefined && { title }), ...annotationsOf(tool) },
  }
}

function annotationsOf({ name, effect }: Tool): ToolAnnotations {
  // Only tools with a title here stay inside the workspace. A program that one of them starts may do anything.
  const openWorldHint = titles[name] === undefined || effect === 'run'
  if (effect === 'read') return { readOnlyHint: true, openWorldHint }
  return { readOnlyHint: false, destructiveHint: true, idempotentHint: idempotent.has(name), openWorldHint }
}
