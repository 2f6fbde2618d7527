const LINE_END = 0x0a
const SPACE = /[ \t\n\r]*/y
const LITERAL = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
// All characters from the space on, except the quote and the backslash.
const PLAIN = /[ !#-[\]-\uffff]*/y

/**
 * The offset of the first syntax error in a JSON text: `text.length` if the text ends too early, undefined if it is valid.
 * Run after `JSON.parse` has thrown: V8's message lacks the position of some errors, and quotes the body, which must not
 * reach a log.
 */
export function jsonFaultAt(text: string): number | undefined {
  const closers: string[] = []
  let at = skip(SPACE, text, 0)
  let expects: 'value' | 'value-or-close' | 'key' | 'key-or-close' | 'comma-or-close' = 'value'
  for (;;) {
    const char = text[at]
    if (expects.endsWith('close') && char !== undefined && char === closers.at(-1)) {
      closers.pop()
      at += 1
      expects = 'comma-or-close'
    } else if (expects === 'comma-or-close') {
      if (char !== ',') return at
      at += 1
      expects = closers.at(-1) === '}' ? 'key' : 'value'
    } else if (expects.startsWith('key')) {
      if (char !== '"') return at
      const key = stringEnd(text, at)
      if (!key.ok) return key.at
      at = skip(SPACE, text, key.at)
      if (text[at] !== ':') return at
      at += 1
      expects = 'value'
    } else if (char === '{' || char === '[') {
      closers.push(char === '{' ? '}' : ']')
      at += 1
      expects = char === '{' ? 'key-or-close' : 'value-or-close'
    } else if (char === '"') {
      const string = stringEnd(text, at)
      if (!string.ok) return string.at
      at = string.at
      expects = 'comma-or-close'
    } else {
      const end = skip(LITERAL, text, at)
      if (end === at) return at
      at = end
      expects = 'comma-or-close'
    }
    at = skip(SPACE, text, at)
    if (closers.length === 0) return at === text.length ? undefined : at
  }
}

/** Line and column of an offset, both from 1. A line ends at `\n`. */
export function lineAndColumn(text: string, at: number): { readonly line: number; readonly column: number } {
  let line = 1
  let lineStart = 0
  // A loop over characters: `indexOf` per line takes four times as long for a text of mostly line ends.
  for (let next = 0; next < at; next += 1) {
    if (text.charCodeAt(next) !== LINE_END) continue
    line += 1
    lineStart = next + 1
  }
  return { line, column: at - lineStart + 1 }
}

function stringEnd(text: string, opening: number): { readonly ok: boolean; readonly at: number } {
  let at = opening + 1
  for (;;) {
    at = skip(PLAIN, text, at)
    if (text[at] === '"') return { ok: true, at: at + 1 }
    const end = skip(ESCAPE, text, at)
    if (end === at) return { ok: false, at }
    at = end
  }
}

/** The end of the sticky pattern's match at `at`, or `at` itself. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}
