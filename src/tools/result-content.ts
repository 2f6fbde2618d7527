import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { ToolResult } from './tool.ts'

/** The result of a tool of an MCP server. `parts` has its images, sounds and resources, the latter as MCP words them. */
const mixedResult = z.strictObject({
  text: z.string(),
  structuredContent: z.unknown().optional(),
  parts: z.array(z.looseObject({ type: z.string() })).optional(),
  truncated: z.boolean().optional(),
})
export type MixedResult = z.infer<typeof mixedResult>
export type MixedPart = NonNullable<MixedResult['parts']>[number]

/** Returns undefined for a result of another form. */
export function readMixedResult(result: ToolResult): MixedResult | undefined {
  return mixedResult.safeParse(result).data
}

/** Bytes with their type. `base64` is empty if the limit for results did not leave room for the bytes. */
export interface Media {
  readonly mediaType: string
  readonly base64: string
}

const media = z.object({ mediaType: z.string().catch('of an unknown type'), base64: z.string() })
const resource = z.object({ uri: z.string().catch(''), text: z.string().nullish(), blob: z.string().nullish() })
const resourceType = z.object({ mimeType: z.string().catch('of an unknown type') })

/** Returns the texts of a result, each once, and its images. A sentence stands for what is neither. */
export function contentOf(result: MixedResult): {
  readonly texts: readonly string[]
  readonly images: readonly Media[]
} {
  const { text, structuredContent, parts = [] } = result
  const found = parts.map((part) => ({ part, image: imageOf(part) }))
  const texts = [hideBase64(text), ...found.flatMap(({ part, image }) => (image === undefined ? textOfPart(part) : []))]
  // MCP 2025-11-25, tools, structured content: a server should repeat it as JSON in a text.
  if (structuredContent !== undefined && !repeats(text, structuredContent)) texts.push(showValue(structuredContent))
  return { texts: texts.filter((each) => each !== ''), images: found.flatMap(({ image }) => image ?? []) }
}

function imageOf(part: MixedPart): Media | undefined {
  const found = mediaOf(part)
  return found?.mediaType.startsWith('image/') === true && found.base64 !== '' ? found : undefined
}

function mediaOf(part: MixedPart): Media | undefined {
  const { blob } = resource.safeParse(part['resource']).data ?? {}
  if (typeof blob === 'string') return { mediaType: resourceType.parse(part['resource']).mimeType, base64: blob }
  return media.safeParse(part).data
}

/** Returns a part that is no image as a text. */
export function textOfPart(part: MixedPart): string {
  const found = mediaOf(part)
  if (found !== undefined) return describeMedia(found, 'left out')
  const { uri, text } = resource.safeParse(part['resource']).data ?? {}
  return typeof text === 'string' ? `${uri}:\n${hideBase64(text)}` : showValue(part)
}

/** Names bytes in place of them, e.g. `[image/png, 45 KB: left out]`. */
export function describeMedia({ mediaType, base64 }: Media, why?: string): string {
  const size = base64 === '' ? 'too large' : `${Math.ceil((base64.length * 3) / 4 / 1024)} KB`
  return `[${mediaType.slice(0, 100)}, ${size}${why === undefined ? '' : `: ${why}`}]`
}

/** Returns the JSON of a value for a reader, who has no use for bytes in base64. */
export function showValue(value: unknown): string {
  return JSON.stringify(value, hideBytes, 1)
}

function hideBytes(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? hideBase64(value) : value
}

/** A shorter run may be a key or a hash. */
const encoded = /(?:data:([\w.+-]+\/[\w.+-]+)[^,\s"]{0,100};base64,)?([\w+/-]{1000,}={0,2})/g

function hideBase64(text: string): string {
  return text.replaceAll(encoded, (found, mediaType: string | undefined, base64: string) => {
    const isEncoded = mediaType !== undefined || [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(base64))
    return isEncoded ? describeMedia({ mediaType: mediaType ?? 'bytes in base64', base64 }, 'left out') : found
  })
}

function repeats(text: string, value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), value)
  } catch {
    return false
  }
}
