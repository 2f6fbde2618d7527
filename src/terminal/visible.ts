/**
 * The text with control characters shown as `\u001b`-style escapes instead of being obeyed by the terminal, and line
 * breaks among them. For everything a server or a file said: it must not move the cursor, recolour or fake a line.
 */
export function visible(text: string): string {
  // Control characters, the marks that change the direction of text or cannot be seen, and halves of a character.
  return text.replaceAll(
    /[\p{Cc}\p{Cs}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}

/** Longer than any line of ours. Characters. */
const longestLine = 600

/**
 * A message of ours that repeats what others wrote: its line breaks stay, other control characters are shown as by
 * `visible`, and a line that is far too long loses its middle.
 */
export function visibleLines(message: string): string {
  return message
    .split('\n')
    .map((line) => shortened(visible(line), longestLine))
    .join('\n')
}

/** The text, its middle left out where it has more than `longest` characters. */
function shortened(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest / 2)}…${text.slice(-longest / 2)}`
}
