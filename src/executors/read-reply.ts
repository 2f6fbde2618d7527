import { Fault } from '../errors.ts'
import type { UpstreamBody } from './executor.ts'
import { toBodyFault } from './network-fault.ts'

const errorBodyLimitBytes = 64 * 1024
const jsonBodyLimitBytes = 64 * 1024 * 1024

interface ReadReplyOptions {
  readonly limitBytes: number
  /** The longest silence between two chunks. Ms. */
  readonly idleMs: number
}

/**
 * A whole reply body as text.
 * @throws Fault `upstream_unusable` over the limit, `upstream_silent` (idle); what undici reports when the body breaks
 */
function readReplyText(body: UpstreamBody, { limitBytes, idleMs }: ReadReplyOptions): Promise<string> {
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

/** The body of an error reply; '' for one that does not arrive whole, which still has its status. Never rejects. */
export function readErrorText(body: UpstreamBody, idleMs: number): Promise<string> {
  return readReplyText(body, { limitBytes: errorBodyLimitBytes, idleMs }).catch(() => '')
}

/**
 * A whole reply body as JSON, unvalidated.
 * @throws Fault `upstream_unusable`, `upstream_silent` (idle), `upstream_truncated`; the signal's reason on abort
 */
export async function readReplyJson(body: UpstreamBody, idleMs: number): Promise<unknown> {
  let text: string
  try {
    text = await readReplyText(body, { limitBytes: jsonBodyLimitBytes, idleMs })
  } catch (error) {
    throw toBodyFault(error)
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'its answer is not JSON' }, { cause })
  }
}
