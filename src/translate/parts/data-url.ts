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
