/** A body that arrives in parts. It is redacted as a whole, because a secret may be divided among parts. */
export interface BodyText {
  readonly add: (part: string) => void
  /** Characters that are kept. */
  readonly size: () => number
  /** Redacts the body, the first time; later parts are ignored. `isCut`: the body was longer than the limit. */
  readonly finish: () => { readonly text: string; readonly isCut: boolean }
}

/**
 * Characters beyond the limit that are kept until the end: a secret that begins before the limit is then whole. The pieces
 * of a streamed answer are events of a few hundred characters.
 */
const margin = 64 * 1024

/** @param limit characters that are kept of the body */
export function createBodyText(limit: number, redactBody: (text: string) => string): BodyText {
  let text = ''
  let isCut = false
  let isFinished = false
  return {
    add(part) {
      if (isFinished) return
      const room = limit + margin - text.length
      if (part.length > room) isCut = true
      text += part.slice(0, room)
    },
    size: () => text.length,
    finish() {
      if (isFinished) return { text, isCut }
      isFinished = true
      // A secret that the end of the kept text cuts would not be found. It is shorter than the margin.
      const redacted = isCut ? redactBody(text).slice(0, -margin) : redactBody(text)
      isCut ||= redacted.length > limit
      // A copy, because a slice would keep the long text in memory.
      text = isCut ? Buffer.from(redacted.slice(0, limit)).toString() : redacted
      return { text, isCut }
    },
  }
}
