/** @import { Attachment } from '../../api/inputs.ts' */

/** Maximum size of one file. Bytes. */
const maxBytes = 5 * 1024 * 1024

/**
 * @param {File} file
 * @returns {Promise<Attachment>} an image as base64, or another file as text
 * @throws {Error} with a message for the user
 */
export async function readAttachment(file) {
  const { name, type, size } = file
  if (size > maxBytes) throw new Error(`${name} is larger than 5 MB.`)
  const bytes = new Uint8Array(await file.arrayBuffer())
  if (/^image\/(?:png|jpeg|gif|webp)$/.test(type)) return { name, mediaType: type, base64: toBase64(bytes) }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (text.includes('\0')) throw new Error('binary')
    return { name, mediaType: type || 'text/plain', text }
  } catch {
    throw new Error(`${name} is neither text nor an image.`)
  }
}

/** @param {Uint8Array} bytes */
function toBase64(bytes) {
  let binary = ''
  // Each byte is an argument, so convert chunks that fit on the stack.
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(binary)
}
