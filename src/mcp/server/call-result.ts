import type { CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { isObject } from '../../json/json.ts'
import { readMixedResult, textOfPart, type MixedPart, type MixedResult } from '../../tools/result-content.ts'
import type { ToolResult } from '../../tools/tool.ts'
import type { Conflict, ToolFailure } from '../../workspace/tool-error.ts'

/** Returns the result as structured content, and also as text for clients that read only text. */
export function resultOf(result: ToolResult): CallToolResult {
  const mixed = readMixedResult(result)
  if (mixed !== undefined) return mixedResultOf(mixed)
  return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: { ...result } }
}

/** The result of a tool of another MCP server, in the form that it had there. */
function mixedResultOf({ text, structuredContent, parts = [], truncated }: MixedResult): CallToolResult {
  const texts = [text, ...(truncated === true ? ['(A part of the result was left out.)'] : [])].filter(
    (each) => each !== '',
  )
  return {
    content: [...texts.map((each) => ({ type: 'text' as const, text: each })), ...parts.map(toItem)],
    ...(isObject(structuredContent) && { structuredContent }),
  }
}

const bytes = z.object({ type: z.enum(['image', 'audio']), mediaType: z.string(), base64: z.string().min(1) })
const uri = z.string()
const mimeType = z.string().optional()
const resource = z.object({
  type: z.literal('resource'),
  resource: z.union([
    z.object({ uri, mimeType, text: z.string() }),
    z.object({ uri, mimeType, blob: z.string().min(1) }),
  ]),
})
const link = z.object({ type: z.literal('resource_link'), uri, name: z.string(), mimeType })

function toItem(part: MixedPart): CallToolResult['content'][number] {
  const media = bytes.safeParse(part).data
  if (media !== undefined) return { type: media.type, data: media.base64, mimeType: media.mediaType }
  const other = z.union([resource, link]).safeParse(part).data
  return other ?? { type: 'text', text: textOfPart(part) }
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
