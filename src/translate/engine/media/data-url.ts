import { isFilled, type JsonObject } from '../../../json/json.ts'

/** Above the length of any media type with parameters. Characters. */
const maxHeaderLength = 256

/**
 * Media type and data of a base64 `data:` URL; undefined for other URLs. Does not validate the data. Source: RFC 2397.
 */
export function parseDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  if (url.slice(0, 5).toLowerCase() !== 'data:') return undefined
  const comma = url.slice(0, maxHeaderLength).indexOf(',')
  if (comma === -1) return undefined
  const [mediaType = '', ...parameters] = url.slice(5, comma).split(';')
  if (!parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')) return undefined
  return { mediaType: mediaType.trim().toLowerCase() || 'text/plain', data: url.slice(comma + 1) }
}

export function toDataUrl({ mediaType, data }: { readonly mediaType: string; readonly data: string }): string {
  return `data:${mediaType};base64,${data}`
}

/** The text of a file part, under its name. Undefined for any other file. */
export function textOfFile({ file_data: data, filename }: JsonObject): string | undefined {
  const source = typeof data === 'string' && data.startsWith('data:text/') ? parseDataUrl(data) : undefined
  return source && textUnderName(source.data, filename)
}

export function isTextType(mediaType: string): boolean {
  return mediaType.startsWith('text/') || mediaType === 'application/json'
}

/** @param data of a file with text, in base64 */
export function textUnderName(data: string, filename: unknown): string {
  const text = Buffer.from(data, 'base64').toString('utf8')
  return isFilled(filename) ? `${filename}\n\n${text}` : text
}
