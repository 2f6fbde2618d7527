const lineEnd = /\r\n|\r|\n/

/** An unnamed event. Several lines become several `data:` lines, which readers join with LF. */
export function encodeData(text: string): string {
  // JSON is nearly always one line, and searching is far cheaper than splitting.
  return hasLineEnd(text) ? `data: ${text.split(lineEnd).join('\ndata: ')}\n\n` : `data: ${text}\n\n`
}

/** A named event. */
export function encodeEvent(event: string, text: string): string {
  return `event: ${event}\n${encodeData(text)}`
}

/** A named event with the output of `JSON.stringify`, which is always one line. */
export function encodeJsonEvent(event: string, json: string): string {
  return `event: ${event}\ndata: ${json}\n\n`
}

/** A comment: readers ignore it, but it keeps the connection from being idle. */
export function encodeComment(text: string): string {
  return hasLineEnd(text) ? `: ${text.split(lineEnd).join('\n: ')}\n\n` : `: ${text}\n\n`
}

function hasLineEnd(text: string): boolean {
  return text.includes('\n') || text.includes('\r')
}
