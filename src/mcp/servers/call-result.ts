import { z } from 'zod'
import type { ToolResult } from '../../tools/tool.ts'
import { ToolError } from '../../workspace/tool-error.ts'

/** The fields of a result that this program reads. Loose, because servers add content types. */
export const serverResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).nullish(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().nullish(),
})
type ServerResult = z.infer<typeof serverResult>

/** Maximum length of the text of a failure. Characters. */
const maxFailure = 4000

/**
 * Returns texts in `text`, structured content unchanged, and everything else (images, audio, resources) in `parts`.
 * @throws ToolError `failed` for a result with `isError`
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
