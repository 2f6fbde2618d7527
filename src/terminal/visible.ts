/**
 * Shows control characters and line breaks as `\u001b`-style escapes. For text from servers and files, which must not
 * move the cursor, change colours or fake a line.
 */
export function visible(text: string): string {
  // Control characters, bidirectional and invisible formatting characters, and unpaired surrogates.
  return text.replaceAll(
    /[\p{Cc}\p{Cs}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
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
