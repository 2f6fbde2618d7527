import { join } from 'node:path'
import type { ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
import { isObject } from '../json/json.ts'
import { parseDiff, parsePatch } from '../page/static/diff-lines.js'
import { subjectOf } from '../page/static/tool-words.js'
import { visible } from '../terminal/visible.ts'

/** How an editor shows the tools of a workspace, by their bus methods. */
const tools: Readonly<Record<string, { readonly kind: ToolKind; readonly verb: string }>> = {
  'mcp.fs.read': { kind: 'read', verb: 'Read' },
  'mcp.fs.list': { kind: 'search', verb: 'List' },
  'mcp.search.code': { kind: 'search', verb: 'Search' },
  'mcp.symbols.list': { kind: 'read', verb: 'List symbols of' },
  'mcp.edit.applyPatch': { kind: 'edit', verb: 'Change' },
  'mcp.edit.replace': { kind: 'edit', verb: 'Change' },
  'mcp.edit.undo': { kind: 'edit', verb: 'Undo a change' },
  'mcp.format.apply': { kind: 'edit', verb: 'Format' },
  'mcp.imports.organize': { kind: 'edit', verb: 'Organize imports of' },
  'mcp.shell.run': { kind: 'execute', verb: 'Run' },
  'mcp.shell.output': { kind: 'execute', verb: 'Read the output of a command' },
  'mcp.shell.stop': { kind: 'execute', verb: 'Stop a command' },
  'mcp.task.run': { kind: 'execute', verb: 'Run task' },
  'mcp.git.status': { kind: 'read', verb: 'Git status' },
  'mcp.git.diff': { kind: 'read', verb: 'Git diff' },
  'mcp.git.log': { kind: 'read', verb: 'Git log' },
  'mcp.plan.submit': { kind: 'switch_mode', verb: 'Submit the plan' },
  'mcp.policy.get': { kind: 'read', verb: 'Read the policy' },
}

/** The tool that states the plan, which editors show on their own. */
export const planTool = 'mcp.plan.set'

export function kindOf(tool: string): ToolKind {
  return tools[tool]?.kind ?? 'other'
}

/** One line: what a call does. */
export function titleOf(tool: string, args: unknown): string {
  const subject = visible(subjectOf(args))
  return [tools[tool]?.verb ?? visible(tool.replace(/^mcp\./, '')), subject].filter((part) => part !== '').join(' ')
}

/** Returns the files that a call names, as absolute paths. */
export function locationsOf(root: string, args: unknown): ToolCallLocation[] {
  if (!isObject(args)) return []
  const { path, files, range, unifiedDiff } = args
  const listed = Array.isArray(files) ? files.filter((each) => typeof each === 'string') : []
  const patched = typeof unifiedDiff === 'string' ? parsePatch(unifiedDiff).map((file) => file.path) : []
  if (typeof path !== 'string') return toLocations(root, [...listed, ...patched])
  const line = isObject(range) && typeof range['start'] === 'number' ? { line: range['start'] } : {}
  return [{ path: join(root, path), ...line }]
}

export function toLocations(root: string, paths: readonly string[]): ToolCallLocation[] {
  return paths.map((path) => ({ path: join(root, path) }))
}

/**
 * Returns one diff for each hunk of a unified diff: its lines before and after the change. The protocol has no other form for a
 * part of a file, and editors show hunks of large files quicker than the files.
 */
export function diffsOf(root: string, unifiedDiff: string): ToolCallContent[] {
  return toDiffs(root, parseDiff(unifiedDiff))
}

function toDiffs(root: string, files: ReturnType<typeof parseDiff>): ToolCallContent[] {
  return files.flatMap(({ path, change, hunks }) =>
    hunks.map(({ lines }) => ({
      type: 'diff' as const,
      path: join(root, path),
      oldText: change === 'created' ? null : textOf(lines, 'added'),
      newText: textOf(lines, 'removed'),
    })),
  )
}

function textOf(lines: readonly { readonly kind: string; readonly text: string }[], without: string): string {
  return lines
    .filter(({ kind }) => kind !== without && kind !== 'note')
    .map(({ text }) => `${text}\n`)
    .join('')
}

/** Returns the change that the arguments of a call state. */
export function diffsOfArgs(root: string, args: unknown): ToolCallContent[] {
  if (!isObject(args)) return []
  const { unifiedDiff, path, oldText, newText } = args
  if (typeof unifiedDiff === 'string') return toDiffs(root, parsePatch(unifiedDiff))
  if (typeof path !== 'string' || typeof oldText !== 'string' || typeof newText !== 'string') return []
  return [{ type: 'diff', path: join(root, path), oldText, newText }]
}

export function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } }
}

/** Returns text that an editor shows as it is, and not as Markdown. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/^ {0,3}(`{3,})/gm), ([, fence = '']) => fence.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text.replace(/\n$/, '')}\n${fence}`
}

/** A call's id is unique in its run only. */
export function toCallId(runId: string, callId: string): string {
  return `${runId}/${callId}`
}
