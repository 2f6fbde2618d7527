import { ToolError } from './tool-error.ts'

/** Much longer than any command that a person would read before an approval. Characters. */
const maxLength = 10_000

/** Characters that are operators of a shell wherever they are outside quotes. */
const operators = new Set([';', '|', '&', '<', '>', '(', ')', '{', '}', '$', '`', '*', '?', '['])

/** Refused also within quotes, because a person cannot see these characters or takes them for a space or line end. */
const invisible = /(?![ \t])[\p{Cc}\p{Cf}\p{Z}]/u

/**
 * Splits a command line into words by the quoting rules of a POSIX shell. No shell runs the command, so this refuses all other
 * syntax of a shell.
 * @throws ToolError `denied`
 */
export function splitCommand(text: string): readonly string[] {
  if (text.length > maxLength) throw refused(`is longer than ${maxLength} characters.`)
  const hidden = text.isWellFormed() ? invisible.exec(text)?.[0] : '\ud800'
  if (hidden !== undefined) throw refused(`contains ${nameOf(hidden)}. Write it with visible characters on one line.`)

  const words: string[] = []
  /** Undefined between words; '' for a word of two quotes. */
  let word: string | undefined
  let at = 0
  while (at < text.length) {
    const character = text.charAt(at)
    at += 1
    if (character === ' ' || character === '\t') {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (character === "'") {
      const end = text.indexOf("'", at)
      if (end === -1) throw refused("has an unmatched '.")
      word = (word ?? '') + text.slice(at, end)
      at = end + 1
    } else if (character === '"') {
      const quoted = readDoubleQuotes(text, at)
      word = (word ?? '') + quoted.text
      at = quoted.end
    } else if (character === '\\') {
      if (at === text.length) throw refused('ends with a backslash.')
      word = (word ?? '') + text.charAt(at)
      at += 1
    } else {
      if (isSpecial(character, word)) throw special(character)
      const isFirst = character === '=' && words.length === 0 && word?.includes('=') === false
      if (isFirst && /^[a-z_]\w*\+?$/i.test(word ?? '')) {
        throw refused(`sets the variable ${word}. Commands get a fixed environment.`)
      }
      word = (word ?? '') + character
    }
  }
  if (word !== undefined) words.push(word)
  if (words[0] === undefined || words[0] === '') throw refused('names no program.')
  return words
}

/** Returns a command line that `splitCommand` splits into these words. */
export function joinCommand(argv: readonly string[]): string {
  return argv.map(quoteWord).join(' ')
}

/** Returns a word as `splitCommand` reads it. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** `~`, `#` and `!` are special only at some places of a word: `HEAD~1` and `a#b` are ordinary words. */
function isSpecial(character: string, word: string | undefined): boolean {
  if (operators.has(character)) return true
  if (character === '~') return word === undefined || word.endsWith('=') || word.endsWith(':')
  return word === undefined && (character === '#' || character === '!')
}

/** @param at the index after the opening quote */
function readDoubleQuotes(text: string, at: number): { readonly text: string; readonly end: number } {
  let read = ''
  for (let end = at; end < text.length; end += 1) {
    const character = text.charAt(end)
    const next = text.charAt(end + 1)
    if (character === '"') return { text: read, end: end + 1 }
    if (character === '$' || character === '`') throw special(character)
    // Within double quotes, a backslash escapes only these characters.
    if (character === '\\' && next !== '' && '"\\$`'.includes(next)) {
      read += next
      end += 1
    } else read += character
  }
  throw refused('has an unmatched ".')
}

function special(character: string): ToolError {
  return refused(
    `contains ${JSON.stringify(character)}, which only a shell understands, and there is no shell. ` +
      'Run one program at a time; to pass the character as text, put it in single quotes.',
  )
}

function nameOf(character: string): string {
  if (character === '\n') return 'a line break'
  if (character === '\0') return 'a NUL character'
  return `the invisible character U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

function refused(predicate: string): ToolError {
  return new ToolError({ kind: 'denied', detail: `The command ${predicate}` })
}
