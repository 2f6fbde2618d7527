/** Extracts a freeform tool's text from the JSON arguments of the function that stands for it, piece by piece. */
export interface CustomInput {
  /** All pieces so far, until the text begins. */
  raw: string
  /** Relative to the text's quotes. */
  position: 'before' | 'inside' | 'after'
  /** The start of an escape that a piece cut in two. */
  escape: string
}

/** `{"input":"` with any space. Arguments of another shape are passed on unchanged. */
const OPENING = /^\s*\{\s*"input"\s*:\s*"/

/** Longer than any opening: beyond it, pieces are collected without a search. Characters. */
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
  return { raw: '', position: 'before', escape: '' }
}

/** Reads the next piece of arguments. Returns the text that it adds. */
export function stepCustomInput(input: CustomInput, piece: string): string {
  switch (input.position) {
    case 'before': {
      input.raw += piece
      const opening = input.raw.length <= longestOpening + piece.length ? OPENING.exec(input.raw) : null
      if (opening === null) return ''
      const remainder = input.raw.slice(opening[0].length)
      input.raw = ''
      input.position = 'inside'
      return unescape(input, remainder)
    }
    case 'inside':
      return unescape(input, piece)
    case 'after':
      return ''
  }
}

/** Ends a call. Returns its arguments if they never had the expected shape: they are the text then. */
export function endCustomInput(input: CustomInput): string {
  return input.position === 'before' ? input.raw : ''
}

/** Decodes JSON string text up to its closing quote. A piece may end inside an escape. */
function unescape(input: CustomInput, piece: string): string {
  const text = input.escape + piece
  input.escape = ''
  let out = ''
  let from = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (char === '"') {
      input.position = 'after'
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
