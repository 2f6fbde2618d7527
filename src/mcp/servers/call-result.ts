import { z } from 'zod'
import type { ToolResult } from '../../tools/tool.ts'
import { ToolError } from '../../workspace/tool-error.ts'

/** The part of a result that we read. Servers add content types, so that each is as loose as it can be. */
export const serverResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).nullish(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().nullish(),
})
type ServerResult = z.infer<typeof serverResult>

/** Of a failure's text. Characters. */
const maxFailure = 4000

/**
 * The text of a result as `text`, its structured content as it is, and everything else (images, sound, resources) in `parts`.
 * @throws ToolError `failed` for a result that says so
 */
export function toToolResult(server: string, { content, structuredContent, isError }: ServerResult): ToolResult {
  const texts: string[] = []
  const parts: unknown[] = []
  for (const { type, ...part } of content ?? []) {
    const { text, data, mimeType } = part
    if (type === 'text' && typeof text === 'string') texts.push(text)
    else if ((type === 'image' || type === 'audio') && typeof data === 'string') {
      parts.push({ type, mediaType: mimeType, base64: data })
    } else parts.push({ type, ...part })
  }
  const text = texts.join('\n')
  if (isError === true) {
    const detail = text === '' ? `The tool of the MCP server "${server}" failed.` : text.slice(0, maxFailure)
    throw new ToolError({ kind: 'failed', detail })
  }
  return {
    text,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(parts.length > 0 && { parts }),
  }
}
