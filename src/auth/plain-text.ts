/** Longest text of upstream's that is shown to a person or written to the log. Characters. */
const MAX_LENGTH = 300

// C0, DEL, C1 and the bidirectional controls: they could repaint a terminal or reorder what a person reads.
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu

/**
 * Upstream's words as one harmless line: control characters become spaces, `secrets` are blotted out (an upstream
 * may reflect what it was sent), and the length is bounded.
 */
export function toPlainLine(text: string, secrets: readonly string[] = []): string {
  let line = text
  for (const secret of secrets) {
    if (secret !== '') line = line.replaceAll(secret, '[redacted]')
  }
  line = line.replaceAll(UNPRINTABLE, ' ').trim()
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line
}
