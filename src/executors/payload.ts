import { Readable } from 'node:stream'

/** A request body as undici is given it, with the headers that go with it. */
export interface Payload {
  readonly body: string | Buffer | Readable | null
  readonly headers: Readonly<Record<string, string>>
}

/** Bodies up to here are handed over whole, which costs less. Bytes; about what else a held stream takes. */
const mostHeld = 16 * 1024

/**
 * undici holds on to the body it was given until the answer is over, which would keep megabytes of history in memory for
 * as long as a model writes. Of a stream that was read there is nothing left. Its length is stated, because upstream
 * gives up on bodies of unknown length (docs/copilot-wire.md, "Errors", 408).
 */
export function toPayload(body: string | Buffer | null): Payload {
  if (!Buffer.isBuffer(body) || body.length <= mostHeld) return { body, headers: {} }
  return { body: streamOnce(body), headers: { 'content-length': String(body.length) } }
}

function streamOnce(bytes: Buffer): Readable {
  let rest: Buffer | null = bytes
  return new Readable({
    read() {
      this.push(rest)
      rest = null
    },
  })
}
