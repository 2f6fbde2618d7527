import { StringDecoder } from 'node:string_decoder'

/** Maximum length of a logged line. The remainder is dropped. Characters. */
const maxLine = 1000

/** Maximum length of a line before redaction. Larger than `maxLine`, so that a credential is found before the cut. Characters. */
const maxRead = 4 * maxLine

/** Maximum number of lines in `windowMs`. Further lines are only counted. */
const maxLines = 50
const windowMs = 10_000

/** Splits the output of a program into lines, and passes on a limited number of them. */
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

/** Maximum length of the last output that is kept, before redaction. Characters. */
const maxKept = 4000
/** Maximum number and length of the last lines. */
const lastLines = 3
const maxLastLine = 300

/** Keeps the end of the output of a program, which often says why the program failed. */
export function createLastLines(redact: (text: string) => string) {
  const decoder = new StringDecoder('utf8')
  let kept = ''
  return {
    add(chunk: Buffer): void {
      const all = kept + decoder.write(chunk)
      // Drops an incomplete line: without its beginning, a credential would not be found.
      kept = all.length <= maxKept ? all : all.slice(-maxKept).replace(/^[^\n]*\n?/, '')
    },
    /** Returns '' if there was no output. */
    text(): string {
      const lines = redact(kept)
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
      return lines
        .slice(-lastLines)
        .map((line) => line.slice(0, maxLastLine))
        .join(' / ')
    },
  }
}
