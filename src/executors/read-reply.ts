import type { Dispatcher } from 'undici'
import { Fault } from '../errors.ts'

export interface ReadReplyOptions {
  readonly limitBytes: number
  /** The longest silence between two chunks. Ms. */
  readonly idleMs: number
}

/**
 * A whole reply body as text.
 * @throws Fault `upstream_unusable` over the limit, `upstream_silent` (idle); what undici throws when the body breaks
 */
export async function readReplyText(reply: Dispatcher.ResponseData, options: ReadReplyOptions): Promise<string> {
  const { limitBytes, idleMs } = options
  const { body } = reply
  const silence = setTimeout(() => {
    body.destroy(new Fault({ kind: 'upstream_silent', phase: 'idle', afterMs: idleMs }))
  }, idleMs)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of body) {
      const bytes: unknown = chunk
      if (!Buffer.isBuffer(bytes)) continue
      silence.refresh()
      size += bytes.length
      if (size > limitBytes) {
        throw new Fault({ kind: 'upstream_unusable', detail: `its answer is larger than ${limitBytes} bytes` })
      }
      chunks.push(bytes)
    }
  } finally {
    clearTimeout(silence)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Closes the connection of a reply nobody will read. undici reports that to whoever listens, and throws otherwise. */
export function discardReply(reply: Dispatcher.ResponseData): void {
  reply.body.on('error', () => {})
  reply.body.destroy()
}
