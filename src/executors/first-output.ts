import { Fault } from '../errors.ts'
import { createSseDecoder } from '../sse/decode.ts'
import type { SseDecoder, SseEvent } from '../sse/decode.ts'
import type { FirstEvent } from '../upstream-errors/error-body.ts'
import type { UpstreamBody } from './executor.ts'
import { toBodyFault } from './network-fault.ts'

export interface FirstOutputOptions<Refusal> {
  /** Called with each event in order, until one is no prelude. */
  readonly judge: (event: SseEvent) => FirstEvent<Refusal>
  /** The longest silence between two chunks. Ms. */
  readonly idleMs: number
  /** The stream is released after this long, whatever it contains, because its caller gets nothing meanwhile. Ms. */
  readonly mostHeldMs: number
  /** The stream is released beyond this size. Bytes. */
  readonly mostHeldBytes: number
  /** The request's. */
  readonly signal: AbortSignal
}

export type FirstOutput<Refusal> = { readonly kind: 'output' } | { readonly kind: 'refused'; readonly refusal: Refusal }

/**
 * Holds an event stream back until its first output, so that a failure inside a 200 can still become a status. After
 * `output` the body delivers every byte from the first on to its next reader.
 * @throws Fault `upstream_silent` (idle), `upstream_truncated`, `upstream_unusable`; the signal's reason on abort
 */
export function untilFirstOutput<Refusal>(
  body: UpstreamBody,
  { judge, idleMs, mostHeldMs, mostHeldBytes, signal }: FirstOutputOptions<Refusal>,
): Promise<FirstOutput<Refusal>> {
  return new Promise((resolve, reject) => {
    /** Undefined once it is decided. */
    let decoder: SseDecoder | undefined = createSseDecoder()
    const held: Uint8Array[] = []
    let heldBytes = 0

    const silence = setTimeout(() => {
      giveUp(new Fault({ kind: 'upstream_silent', phase: 'idle', afterMs: idleMs }))
    }, idleMs)
    const patience = setTimeout(handOn, mostHeldMs)

    function decide(): void {
      decoder = undefined
      clearTimeout(silence)
      clearTimeout(patience)
    }

    function giveUp(error: unknown): void {
      decide()
      body.destroy()
      reject(error)
    }

    function handOn(): void {
      decide()
      body.putBack(held)
      resolve({ kind: 'output' })
    }

    /** @returns false while everything was prelude */
    function look(events: readonly SseEvent[]): boolean {
      for (const event of events) {
        const found = judge(event)
        if (found === 'prelude') continue
        if (found === 'output') handOn()
        else {
          decide()
          body.finish()
          resolve({ kind: 'refused', refusal: found.refusal })
        }
        return true
      }
      return false
    }

    body.read({
      data(chunk) {
        if (decoder === undefined) return
        held.push(chunk)
        silence.refresh()
        heldBytes += chunk.length
        try {
          if (!look(decoder.push(chunk)) && heldBytes > mostHeldBytes) handOn()
        } catch (error) {
          giveUp(error)
        }
      },
      end() {
        if (decoder === undefined) return
        try {
          // The last event may lack its blank line.
          if (!look(decoder.end())) giveUp(new Fault({ kind: 'upstream_truncated' }))
        } catch (error) {
          giveUp(error)
        }
      },
      fail(error) {
        if (decoder === undefined) return
        giveUp(signal.aborted ? signal.reason : toBodyFault(error))
      },
    })
  })
}
