import { Fault } from '../errors.ts'
import { toBodyFault } from './network-fault.ts'
import { isEncoded } from './reply-headers.ts'
import type { UpstreamReply } from './send-request.ts'

const errorBodyLimitBytes = 64 * 1024
const jsonBodyLimitBytes = 64 * 1024 * 1024

interface ReadReplyOptions {
  readonly limitBytes: number
  /** The longest silence between two chunks. Ms. */
  readonly idleMs: number
}

/**
 * A whole reply body as text.
 * @throws Fault `upstream_unusable` over the limit or compressed, `upstream_silent` (idle); what undici reports when the
 * body breaks
 */
async function readReplyText({ body, headers }: UpstreamReply, options: ReadReplyOptions): Promise<string> {
  if (isEncoded(headers)) {
    body.destroy()
    throw new Fault({ kind: 'upstream_unusable', detail: 'it compressed its answer without being asked to' })
  }
  const { limitBytes, idleMs } = options
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

/** The body of an error reply; '' for one that cannot be read, which still has its status. Never rejects. */
export async function readErrorText(reply: UpstreamReply, idleMs: number): Promise<string> {
  return readReplyText(reply, { limitBytes: errorBodyLimitBytes, idleMs }).catch(() => '')
}

/**
 * A whole reply body as JSON, unvalidated.
 * @throws Fault `upstream_unusable`, `upstream_silent` (idle), `upstream_truncated`; the signal's reason on abort
 */
export async function readReplyJson(reply: UpstreamReply, idleMs: number): Promise<unknown> {
  let text: string
  try {
    text = await readReplyText(reply, { limitBytes: jsonBodyLimitBytes, idleMs })
  } catch (error) {
    throw toBodyFault(error)
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'its answer is not JSON' }, { cause })
  }
}
