import { StringDecoder } from 'node:string_decoder'

/** Characters of a line; the remainder is left out. */
const maxLine = 1000

/** Lines in `windowMs`; further ones are counted. */
const maxLines = 50
const windowMs = 10_000

/** Cuts what a program writes into lines, and passes on a bounded number of them. */
export function createLogLines(write: (line: string) => void, now: () => number): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8')
  let partial = ''
  let windowFrom = now()
  let written = 0
  let leftOut = 0

  function writeLine(line: string): void {
    if (now() - windowFrom > windowMs) {
      if (leftOut > 0) write(`(${leftOut} lines were left out)`)
      windowFrom = now()
      written = 0
      leftOut = 0
    }
    written += 1
    if (written <= maxLines) write(line.length > maxLine ? `${line.slice(0, maxLine)}…` : line)
    else leftOut += 1
  }

  return (chunk) => {
    const lines = (partial + decoder.write(chunk)).split('\n')
    // One character more shows that the line was cut.
    partial = (lines.pop() ?? '').slice(0, maxLine + 1)
    for (const line of lines) if (line.trim() !== '') writeLine(line.trimEnd())
  }
}
