// The page runs its modules as they are, so what both need is there.
import { replaceHidden } from '../page/static/visible-text.js'

/**
 * Shows control characters, line breaks and all characters that the page shows as escapes too, as `\u001b` or `\u{e0041}`.
 * For text from servers and files, which must not move the cursor, change colours, fake a line or hide a letter.
 */
export function visible(text: string): string {
  return replaceHidden(text, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}

/** As `visible`, but line breaks stay. For what a person decides about: nothing is left out. */
export function visibleText(text: string): string {
  return text.split('\n').map(visible).join('\n')
}

/** Longer than any line of this program. Characters. */
const longestLine = 600

/**
 * As `visible`, for our own messages that repeat foreign text: line breaks stay, and overlong lines lose their middle.
 */
export function visibleLines(message: string): string {
  return message
    .split('\n')
    .map((line) => shortened(visible(line), longestLine))
    .join('\n')
}

function shortened(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest / 2)}…${text.slice(-longest / 2)}`
}
