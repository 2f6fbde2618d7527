/** Response headers, names in lower case. */
export type HeaderMap = Readonly<Record<string, string>>

/** A reply sent in one piece. */
export interface WholeReply {
  readonly kind: 'whole'
  readonly status: number
  readonly headers: HeaderMap
  readonly body: string | Uint8Array
}

/** A reply sent piece by piece; each piece is one write, so a test can place chunk boundaries where it wants them. */
export interface StreamReply {
  readonly kind: 'stream'
  readonly status: number
  readonly headers: HeaderMap
  readonly pieces: readonly (string | Uint8Array)[]
  /** Wait before each piece, ms; 0 lets the event loop turn once between pieces. */
  readonly delayMs: number
  /** After the last piece: a clean end, a destroyed socket, or silence until the client leaves. */
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

/** A text body as the Copilot API writes it: with a line feed at its end (docs/copilot-wire.md, "Errors"). */
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

/** An event stream of ready-made pieces that arrive without delay and end cleanly, unless `change` says otherwise. */
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
