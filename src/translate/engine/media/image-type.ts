/** Characters of base64 that hold the bytes by which the four types differ. */
const HEAD_LENGTH = 16

/**
 * The media type of an image by its first bytes; undefined for other bytes. OpenAI's clients call every image
 * `image/png`, and Claude refuses a type that the bytes contradict (anthropics/claude-code#11975). Source: RFC 2083, ITU-T
 * T.81, GIF89a specification, WebP container specification.
 */
export function imageTypeOf(base64: string): string | undefined {
  const head = Buffer.from(base64.slice(0, HEAD_LENGTH), 'base64').toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif'
  return head.startsWith('RIFF') && head.endsWith('WEBP') ? 'image/webp' : undefined
}
