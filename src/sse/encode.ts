const lineEnd = /\r\n|\r|\n/

/** An unnamed event. Text of several lines becomes several `data:` lines, which every reader joins again with LF. */
export function encodeData(text: string): string {
  // A search for one character is far cheaper than a split, and JSON texts are nearly always one line.
  return hasLineEnd(text) ? `data: ${text.split(lineEnd).join('\ndata: ')}\n\n` : `data: ${text}\n\n`
}

/** A named event; `text` as in `encodeData`. */
export function encodeEvent(event: string, text: string): string {
  return `event: ${event}\n${encodeData(text)}`
}

/** A named event of what `JSON.stringify` wrote, which is one line: it need not be searched for more. */
export function encodeJsonEvent(event: string, json: string): string {
  return `event: ${event}\ndata: ${json}\n\n`
}

/** A comment: readers ignore it, and a connection that carries one is not idle. */
export function encodeComment(text: string): string {
  return hasLineEnd(text) ? `: ${text.split(lineEnd).join('\n: ')}\n\n` : `: ${text}\n\n`
}

function hasLineEnd(text: string): boolean {
  return text.includes('\n') || text.includes('\r')
}
