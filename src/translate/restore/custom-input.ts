/** Reads the text of a freeform tool out of the arguments of the function it was wrapped in, piece by piece. */
export interface CustomInput {
  /** What has come so far, kept until the text begins; everything, where it never does. */
  raw: string
  /** `before` the text, `inside` it, `after` its closing quote. */
  where: 'before' | 'inside' | 'after'
  /** The beginning of an escape whose rest is still to come. */
  escape: string
}

/** `{"input":"` with whatever space. Other shapes are not what was asked for and go on whole. */
const OPENING = /^\s*\{\s*"input"\s*:\s*"/

/** Longer than any opening; beyond it the pieces are only collected. Characters. */
const longestOpening = 256

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

export function startCustomInput(): CustomInput {
  return { raw: '', where: 'before', escape: '' }
}

/** The next piece of arguments to the text it adds. */
export function stepCustomInput(input: CustomInput, piece: string): string {
  switch (input.where) {
    case 'before': {
      input.raw += piece
      const opening = input.raw.length <= longestOpening + piece.length ? OPENING.exec(input.raw) : null
      if (opening === null) return ''
      const rest = input.raw.slice(opening[0].length)
      input.raw = ''
      input.where = 'inside'
      return unescape(input, rest)
    }
    case 'inside':
      return unescape(input, piece)
    case 'after':
      return ''
  }
}

/** The call is complete: what never had the expected shape is the text as it stands. */
export function endCustomInput(input: CustomInput): string {
  return input.where === 'before' ? input.raw : ''
}

/** JSON string text up to its closing quote. An escape may be cut anywhere between two pieces. */
function unescape(input: CustomInput, piece: string): string {
  const text = input.escape + piece
  input.escape = ''
  let out = ''
  let from = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (char === '"') {
      input.where = 'after'
      return out + text.slice(from, at)
    }
    if (char !== '\\') continue
    out += text.slice(from, at)
    const kind = text[at + 1]
    const length = kind === 'u' ? 6 : 2
    if (at + length > text.length) {
      input.escape = text.slice(at)
      return out
    }
    out += kind === 'u' ? codeUnit(text.slice(at + 2, at + 6)) : (ESCAPES[kind ?? ''] ?? kind ?? '')
    at += length - 1
    from = at + 1
  }
  return out + text.slice(from)
}

function codeUnit(hex: string): string {
  const code = Number.parseInt(hex, 16)
  return Number.isNaN(code) ? '' : String.fromCharCode(code)
}
