/** The text in a plain frame with room around it, indented; ASCII, so that every terminal and font shows it. */
export function formatBox(text: string): string {
  const edge = `  +${'-'.repeat(text.length + 8)}+\n`
  const space = `  |${' '.repeat(text.length + 8)}|\n`
  return `${edge}${space}  |    ${text}    |\n${space}${edge}`
}

/** A bar such as `[######----]` for a share between 0 and 1; values outside are drawn as the nearer end. */
export function formatBar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return `[${'#'.repeat(filled)}${'-'.repeat(width - filled)}]`
}
