/**
 * The text with control characters shown as `\u001b`-style escapes instead of being obeyed by the terminal, and line
 * breaks among them. For everything a server or a file said: it must not move the cursor, recolour or fake a line.
 */
export function visible(text: string): string {
  // Control characters, and the marks that reverse the direction of text.
  return text.replaceAll(
    /[\p{Cc}\u2028-\u202E\u2066-\u2069]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}
