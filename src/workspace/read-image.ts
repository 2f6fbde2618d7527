import type { Folder } from './folder.ts'
import { quote, ToolError } from './tool-error.ts'

/** The images that models take. Each kind has its signature: the first bytes, and others further on. */
const kinds = [
  { mediaType: 'image/png', name: /\.png$/i, signature: /^\x89PNG\r\n/ },
  { mediaType: 'image/jpeg', name: /\.jpe?g$/i, signature: /^\xff\xd8\xff/ },
  { mediaType: 'image/gif', name: /\.gif$/i, signature: /^GIF8[79]a/ },
  { mediaType: 'image/webp', name: /\.webp$/i, signature: /^RIFF[^]{4}WEBP/ },
] as const

/** Enough for each signature. Bytes. */
const signatureBytes = 16

/** The largest image that all upstreams take is 5 MB as base64. Bytes. */
const maxImageBytes = 3.5 * 1024 * 1024

interface ImageLimits {
  readonly maxBytes: number
  readonly signal: AbortSignal
  /** Called before the image is read, with the size of the result. */
  readonly reserve: (bytes: number) => Promise<void>
}

export interface Image {
  readonly mediaType: string
  readonly base64: string
}

/**
 * Reads an image that a model can see. Returns undefined for a file that is none by its name or by its content.
 * @throws ToolError `too_large`, and those of `Folder.readFile`
 */
export async function readImage(
  folder: Folder,
  path: string,
  { maxBytes, signal, reserve }: ImageLimits,
): Promise<Image | undefined> {
  const kind = kinds.find(({ name }) => name.test(path))
  if (kind === undefined) return undefined
  const { bytes: start, size } = await folder.readStart(path, { maxBytes: signatureBytes, signal })
  if (!kind.signature.test(start.toString('latin1'))) return undefined
  const limit = Math.min(maxBytes, maxImageBytes)
  if (size > limit) {
    const detail = `${quote(path)} is an image of ${toMb(size)} MB. The limit is ${toMb(limit)} MB.`
    throw new ToolError({ kind: 'too_large', detail })
  }
  await reserve(size * 3)
  const { bytes } = await folder.readFile(path, { maxBytes: limit, signal })
  return { mediaType: kind.mediaType, base64: bytes.toString('base64') }
}

function toMb(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1)
}
