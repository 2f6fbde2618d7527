import { styleText } from 'node:util'

/** Standard output or standard error. */
export interface Output {
  /** A closed reader is not an error. */
  readonly write: (text: string) => void
  /** Whether the reader is known to have left; only a write detects that. */
  readonly isClosed?: () => boolean
  /** Whether all text has left this process for anything but the null device. */
  readonly isDelivered?: () => Promise<boolean>
  /** Characters per line; Infinity for files and pipes. */
  readonly columns: number
  readonly isTerminal: boolean
  readonly hasColors: boolean
  readonly style: Style
}

export function redacted(output: Output, redact: (text: string) => string): Output {
  return { ...output, write: (text) => output.write(redact(text)) }
}

/** Each returns its text unchanged where colours are off. */
export interface Style {
  readonly plain: (text: string) => string
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly yellow: (text: string) => string
  readonly green: (text: string) => string
}

export function createStyle(colors: boolean): Style {
  const paint = (format: Exclude<keyof Style, 'plain'>) => (text: string) =>
    colors && text !== '' ? styleText(format, text, { validateStream: false }) : text
  return {
    plain: (text) => text,
    bold: paint('bold'),
    dim: paint('dim'),
    red: paint('red'),
    yellow: paint('yellow'),
    green: paint('green'),
  }
}

/** Whether to colour a stream: a capable terminal without NO_COLOR (https://no-color.org). */
export function wantsColors(stream: {
  readonly isTty: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}): boolean {
  return stream.isTty && stream.env['TERM'] !== 'dumb' && !stream.env['NO_COLOR']
}
