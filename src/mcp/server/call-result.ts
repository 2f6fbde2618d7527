import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ToolResult } from '../../tools/tool.ts'
import type { Conflict, ToolFailure } from '../../workspace/tool-error.ts'

/** Returns the result as structured content, and also as text for clients that read only text. */
export function resultOf(result: ToolResult): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: { ...result } }
}

/**
 * Returns a failure as the result of a tool, which a model can read, and not as an error of the protocol.
 * @param message the message of the ToolError
 */
export function failureOf(failure: ToolFailure, message: string): CallToolResult {
  const { kind } = failure
  const conflicts = kind === 'conflict' ? failure.conflicts : undefined
  const text = [message, ...(conflicts ?? []).map(conflictText)].join('\n\n')
  const error = {
    kind,
    message,
    ...(kind === 'invalid_arguments' && { path: failure.path }),
    ...(conflicts && { conflicts }),
  }
  return { content: [{ type: 'text', text }], structuredContent: { error }, isError: true }
}

/** Returns the result of a call that was refused before it ran, e.g. because too many are in progress. */
export function refusalOf(kind: string, message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], structuredContent: { error: { kind, message } }, isError: true }
}

function conflictText({ path, line, expected, found }: Conflict): string {
  const place = line === undefined ? path : `${path}:${line}`
  return [place, 'expected:', ...indented(expected), 'found:', ...indented(found)].join('\n')
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`)
}
