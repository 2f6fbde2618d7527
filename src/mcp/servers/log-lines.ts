import { StringDecoder } from 'node:string_decoder'

/** Characters of a line; the remainder is left out. */
const maxLine = 1000

/** Characters of a line that are read: a credential must be found before the line is cut in the middle of it. */
const maxRead = 4 * maxLine

/** Lines in `windowMs`; further ones are counted. */
const maxLines = 50
const windowMs = 10_000

/** Cuts what a program writes into lines, and passes on a bounded number of them. */
export function createLogLines({
  write,
  redact,
  now,
}: {
  readonly write: (line: string) => void
  readonly redact: (text: string) => string
  readonly now: () => number
}): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8')
  let partial = ''
  let windowFrom = now()
  let written = 0
  let leftOut = 0

  function writeLine(raw: string): void {
    if (now() - windowFrom > windowMs) {
      if (leftOut > 0) write(`(${leftOut} lines were left out)`)
      windowFrom = now()
      written = 0
      leftOut = 0
    }
    written += 1
    if (written > maxLines) {
      leftOut += 1
      return
    }
    const line = redact(raw.slice(0, maxRead))
    write(line.length > maxLine ? `${line.slice(0, maxLine)}…` : line)
  }

  return (chunk) => {
    const lines = (partial + decoder.write(chunk)).split('\n')
    partial = (lines.pop() ?? '').slice(0, maxRead)
    for (const line of lines) if (line.trim() !== '') writeLine(line.trimEnd())
  }
}
