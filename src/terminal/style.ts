/** Words for emphasis; each returns its text unchanged when colours are off. */
export interface Style {
  readonly plain: (text: string) => string
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly yellow: (text: string) => string
  readonly green: (text: string) => string
}

function paint(colors: boolean, open: number, close: number): (text: string) => string {
  return (text) => (colors && text !== '' ? `\u001B[${open}m${text}\u001B[${close}m` : text)
}

export function createStyle(colors: boolean): Style {
  return {
    plain: (text) => text,
    bold: paint(colors, 1, 22),
    dim: paint(colors, 2, 22),
    red: paint(colors, 31, 39),
    yellow: paint(colors, 33, 39),
    green: paint(colors, 32, 39),
  }
}

/** Whether escape codes belong on a stream: a capable terminal, and nobody said no (https://no-color.org). */
export function wantsColors(stream: {
  readonly isTty: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}): boolean {
  return stream.isTty && stream.env['TERM'] !== 'dumb' && !stream.env['NO_COLOR']
}
