/** Response headers, names in lower case. */
export type HeaderMap = Readonly<Record<string, string>>

/** A reply sent in one piece. */
export interface WholeReply {
  readonly kind: 'whole'
  readonly status: number
  readonly headers: HeaderMap
  readonly body: string | Uint8Array
}

/** A reply sent in pieces. Each piece is one write, so a test can choose the chunk boundaries. */
export interface StreamReply {
  readonly kind: 'stream'
  readonly status: number
  readonly headers: HeaderMap
  readonly pieces: readonly (string | Uint8Array)[]
  /** Wait before each piece. 0 waits for one turn of the event loop. Ms. */
  readonly delayMs: number
  /** The end after the last piece: a clean end, a destroyed socket, or silence until the client disconnects. */
  readonly ending: 'end' | 'cut' | 'hold'
}

/** How a request is answered. `silent` never sends headers; `drop` destroys the socket instead of answering. */
export type Outcome = WholeReply | StreamReply | { readonly kind: 'silent' } | { readonly kind: 'drop' }

export function jsonReply(status: number, value: unknown, headers: HeaderMap = {}): WholeReply {
  return {
    kind: 'whole',
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  }
}

/** A text body with a final line feed, as the Copilot API writes it (docs/copilot-wire.md, "Errors"). */
export function textReply(status: number, line: string, headers: HeaderMap = {}): WholeReply {
  return {
    kind: 'whole',
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
    body: `${line}\n`,
  }
}

export function htmlReply(status: number, title: string, headers: HeaderMap = {}): WholeReply {
  return {
    kind: 'whole',
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', ...headers },
    body: `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`,
  }
}

/** An event stream of ready-made pieces without delays and with a clean end, unless `change` says otherwise. */
export function streamReply(
  pieces: readonly (string | Uint8Array)[],
  change: Partial<Omit<StreamReply, 'kind' | 'pieces'>> = {},
): StreamReply {
  return {
    kind: 'stream',
    status: 200,
    pieces,
    delayMs: 0,
    ending: 'end',
    ...change,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', ...change.headers },
  }
}
