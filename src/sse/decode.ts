import { createParser } from 'eventsource-parser'
import { Fault } from '../errors.ts'

/** `event` is '' for an unnamed event. */
export interface SseEvent {
  readonly event: string
  readonly data: string
}

export interface SseDecoderOptions {
  /** Counted in decoded characters, of which there are never more than bytes. Default 16 MiB. */
  readonly maxEventBytes?: number
}

export interface SseDecoder {
  /**
   * Takes bytes, cut anywhere, and returns the events that they complete.
   * @throws Fault `upstream_unusable` when an event is longer than `maxEventBytes`
   */
  readonly push: (chunk: Uint8Array) => readonly SseEvent[]
  /** Returns a pending event, even without its closing blank line. */
  readonly end: () => readonly SseEvent[]
}

const keepAliveNames: ReadonlySet<string> = new Set(['ping', 'keepalive'])
const keepAliveData = /^\{\s*"type":\s*"(?:ping|keepalive)"/

/** Whether an event says only that the connection is alive. Anthropic and OpenAI send such events while a model thinks. */
export function isKeepAlive({ event, data }: SseEvent): boolean {
  return event === '' ? keepAliveData.test(data) : keepAliveNames.has(event)
}

const LF = 10
const CR = 13
const SPACE = 32

/**
 * Decodes one stream. Accepts LF, CR and CRLF, a byte order mark, comments, several `data:` lines, indented fields, fields
 * without a space, and invalid UTF-8 (U+FFFD). Bare JSON, on one line or many, is an event too: upstream appends
 * `{"error":…}` to a failing stream (docs/copilot-wire.md, quirk 16), or answers with a JSON body instead of a stream.
 */
export function createSseDecoder({ maxEventBytes = 16 * 1024 * 1024 }: SseDecoderOptions = {}): SseDecoder {
  const pieces = createTextPieces()
  let events: SseEvent[] = []
  // Feed whole lines only: the parser drops the remainder of an unknown line that is cut. Join fragments once, so that a
  // long line in small chunks takes linear time.
  let cutLine: string[] = []
  let cutLength = 0
  let afterReturn = false
  // Lines of a bare JSON object. The next event ends it.
  let bareLines: string[] = []
  let bareLength = 0

  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent: ({ event = '', data }) => {
      if (bareLength > 0) endBare()
      events.push({ event, data })
    },
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw tooLong(maxEventBytes)
      if (error.type === 'unknown-field' && error.line !== undefined) takeBare(error.line)
    },
  })

  function takeBare(line: string): void {
    if (bareLength === 0) {
      if (!line.trimStart().startsWith('{')) return
      if (isWhole(line)) {
        events.push({ event: '', data: line })
        return
      }
    }
    bareLines.push(line)
    bareLength += line.length + 1
    if (bareLength > maxEventBytes) throw tooLong(maxEventBytes)
  }

  function endBare(): void {
    events.push({ event: '', data: bareLines.join('\n') })
    bareLines = []
    bareLength = 0
  }

  function feed(text: string): void {
    const lines = wholeLinesLength(text)
    if (lines > 0) {
      const whole = lines === text.length ? text : text.slice(0, lines)
      feedLines(cutLength === 0 ? whole : cutLine.join('') + whole)
      cutLine = []
      cutLength = 0
    }
    if (lines === text.length) return
    cutLine.push(lines === 0 ? text : text.slice(lines))
    cutLength += text.length - lines
    if (cutLength > maxEventBytes) throw tooLong(maxEventBytes)
  }

  function feedLines(text: string): void {
    const isIndented = text.includes('\n ') || (text.charCodeAt(0) === SPACE && !afterReturn)
    parser.feed(isIndented ? withoutIndent(text, afterReturn) : text)
    afterReturn = text.charCodeAt(text.length - 1) === CR
  }

  function take(): readonly SseEvent[] {
    const taken = events
    events = []
    return taken
  }

  return {
    push(chunk) {
      feed(pieces.push(chunk))
      return take()
    },
    end() {
      // Supply the final line end and blank line. After a lone CR, the first LF only completes a CRLF.
      feed(`${pieces.end()}\n\n\n`)
      if (bareLength > 0) endBare()
      return take()
    },
  }
}

interface TextPieces {
  readonly push: (chunk: Uint8Array) => string
  /** What a cut character left. */
  readonly end: () => string
}

/**
 * Decodes UTF-8 that is cut anywhere. Only a chunk that ends within a character, or could, needs a decoder with a state:
 * it takes 2 KB and four times as long as `toString` (Node 24.21).
 */
function createTextPieces(): TextPieces {
  /** Undefined while no character is cut. */
  let cut: InstanceType<typeof TextDecoder> | undefined
  return {
    push(chunk) {
      const last = chunk.at(-1)
      if (last === undefined) return ''
      const isAscii = last < 0x80
      if (cut === undefined && isAscii) return toBuffer(chunk).toString('utf8')
      // The parser drops a byte order mark. Node's decoder would drop one in the middle too, if the first chunk ends
      // within a character (Node 24.21).
      cut ??= new TextDecoder('utf-8', { ignoreBOM: true })
      const text = cut.decode(chunk, { stream: true })
      if (isAscii) cut = undefined
      return text
    },
    end: () => cut?.decode() ?? '',
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Up to and including the last line end. */
function wholeLinesLength(text: string): number {
  // Usually, upstream writes whole events.
  const last = text.charCodeAt(text.length - 1)
  if (last === LF || last === CR) return text.length
  return Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
}

/** After LF only: no known upstream indents and uses CR, and a second search would cost every chunk. */
const indentedField = /(^|\n) [ \t]*(?=(?:data|event):)/g

/** Trims indents as GitHub's own client does. */
function withoutIndent(lines: string, afterReturn: boolean): string {
  return lines.replaceAll(indentedField, (match, start: string) => (start === '' && afterReturn ? match : start))
}

function isWhole(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function tooLong(maxEventBytes: number): Fault {
  return new Fault({
    kind: 'upstream_unusable',
    detail: `it sent an event of more than ${maxEventBytes} bytes`,
  })
}
