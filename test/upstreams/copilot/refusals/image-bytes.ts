/** The type that the first bytes of an image show; undefined for bytes of no known kind. @param data base64 */
export function typeOfBytes(data: string): string | undefined {
  const bytes = headOf(data)
  const text = bytes.toString('latin1')
  if (text.startsWith('\x89PNG\r\n\x1A\n')) return 'image/png'
  if (text.startsWith('\xFF\xD8\xFF')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(text)) return 'image/gif'
  return text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP' ? 'image/webp' : undefined
}

/** Width and height of a PNG or GIF in pixels; zeros for other images, whose headers are longer. @param data base64 */
export function sizeOf(data: string): readonly [width: number, height: number] {
  const bytes = headOf(data)
  switch (typeOfBytes(data)) {
    case 'image/png':
      return bytes.length < 24 ? [0, 0] : [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
    case 'image/gif':
      return bytes.length < 10 ? [0, 0] : [bytes.readUInt16LE(6), bytes.readUInt16LE(8)]
    default:
      return [0, 0]
  }
}

function headOf(data: string): Buffer {
  return Buffer.from(data.slice(0, 64), 'base64')
}
