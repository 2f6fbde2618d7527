import { Fault } from '../errors.ts'
import type { UpstreamBody } from './executor.ts'

export interface ReadReplyOptions {
  readonly limitBytes: number
  /** The longest silence between two chunks. Ms. */
  readonly idleMs: number
}

/**
 * A whole reply body as text.
 * @throws Fault `upstream_unusable` over the limit, `upstream_silent` (idle); what undici reports when the body breaks
 */
export function readReplyText(body: UpstreamBody, { limitBytes, idleMs }: ReadReplyOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let size = 0
    const silence = setTimeout(() => {
      giveUp(new Fault({ kind: 'upstream_silent', phase: 'idle', afterMs: idleMs }))
    }, idleMs)

    function giveUp(fault: Fault): void {
      clearTimeout(silence)
      body.destroy()
      reject(fault)
    }

    body.read({
      data(chunk) {
        silence.refresh()
        size += chunk.length
        chunks.push(chunk)
        if (size <= limitBytes) return
        giveUp(new Fault({ kind: 'upstream_unusable', detail: `its answer is larger than ${limitBytes} bytes` }))
      },
      end() {
        clearTimeout(silence)
        resolve(Buffer.concat(chunks).toString('utf8'))
      },
      fail(error) {
        clearTimeout(silence)
        reject(error)
      },
    })
  })
}
