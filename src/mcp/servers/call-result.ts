import { z } from 'zod'
import type { ToolResult } from '../../tools/tool.ts'
import { ToolError } from '../../workspace/tool-error.ts'

const contentItem = z.looseObject({ type: z.string() })

/** The fields of a result that this program reads. Loose, because servers add content types. */
export const serverResult = z.looseObject({
  content: z.array(contentItem).nullish(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().nullish(),
})
type ServerResult = z.infer<typeof serverResult>

/** The answer of `resources/read`. */
export const resourceResult = z.looseObject({ contents: z.array(z.looseObject({ uri: z.string() })) })

/** The answer of `prompts/get`. */
export const promptResult = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.union([contentItem, z.array(contentItem)]) })),
})

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

export function toResourceResult({ contents }: z.infer<typeof resourceResult>): ToolResult {
  return { text: '', parts: contents.map((resource) => ({ type: 'resource', resource })) }
}

/** Returns the texts of a prompt in `text`. What the prompt brings along is in `parts`. */
export function toPromptResult(server: string, { messages }: z.infer<typeof promptResult>): ToolResult {
  return toToolResult(server, {
    content: messages.flatMap(({ role, content: given }) => [given].flat().map((item) => said(role, item))),
  })
}

/** A prompt may show the model how to answer. */
function said(role: string, item: z.infer<typeof contentItem>): z.infer<typeof contentItem> {
  return role === 'assistant' && typeof item['text'] === 'string'
    ? { ...item, text: `Assistant: ${item['text']}` }
    : item
}
