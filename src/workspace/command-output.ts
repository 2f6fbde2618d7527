import { StringDecoder } from 'node:string_decoder'

/** The output of a program. The start and the end of a longer one are kept. */
export interface Output {
  readonly take: (chunk: Buffer) => void
  readonly text: () => string
  readonly isTruncated: () => boolean
}

/** Joins chunks beyond this number, because many small chunks take much more memory than their bytes. */
const maxChunks = 1000

/** Keeps the first and the last `maxBytes / 2`: the start shows what ran, and the end shows the result. */
export function createOutput(maxBytes: number, emit: (text: string) => void = () => {}): Output {
  const headBytes = Math.ceil(maxBytes / 2)
  const tailBytes = maxBytes - headBytes
  const decoder = new StringDecoder('utf8')
  let emitted = 0
  let total = 0
  let head = Buffer.alloc(0)
  let tail: Buffer[] = []
  let tailSize = 0
  return {
    take: (chunk) => {
      total += chunk.length
      if (emitted < maxBytes) {
        const text = decoder.write(chunk.subarray(0, maxBytes - emitted))
        emitted += chunk.length
        if (text !== '') emit(text)
      }
      const room = headBytes - head.length
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)])
      const remainder = chunk.subarray(Math.max(room, 0))
      if (remainder.length === 0) return
      tail.push(remainder)
      tailSize += remainder.length
      while (tailSize - (tail[0]?.length ?? 0) >= tailBytes && tail.length > 1) tailSize -= tail.shift()?.length ?? 0
      if (tail.length > maxChunks) tail = [Buffer.concat(tail)]
    },
    isTruncated: () => total > maxBytes,
    text: () => {
      const bytes = Buffer.concat(tail)
      if (total <= maxBytes) return Buffer.concat([head, bytes]).toString('utf8')
      const start = new StringDecoder('utf8').write(head)
      const end = wholeCharacters(bytes.subarray(bytes.length - tailBytes)).toString('utf8')
      return `${start}\n… ${total - maxBytes} bytes left out …\n${end}`
    },
  }
}

/** Removes the bytes of an incomplete first character. */
function wholeCharacters(bytes: Buffer): Buffer {
  let start = 0
  // In UTF-8, up to three bytes of the form 10xxxxxx follow the first byte of a character.
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1
  return bytes.subarray(start)
}
