/** Counts added and removed lines. Uses the line counts of each hunk header, because a line of a file may look like a header. */
export function countLines(diff: string): { readonly added: number; readonly removed: number } {
  let [added, removed, oldLeft, newLeft] = [0, 0, 0, 0]
  for (const line of diff.split('\n')) {
    if (oldLeft <= 0 && newLeft <= 0) {
      const header = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
      if (header === null) continue
      oldLeft = Number(header[1] ?? 1)
      newLeft = Number(header[2] ?? 1)
    } else if (line.startsWith('+')) {
      added += 1
      newLeft -= 1
    } else if (line.startsWith('-')) {
      removed += 1
      oldLeft -= 1
    } else if (!line.startsWith('\\')) {
      oldLeft -= 1
      newLeft -= 1
    }
  }
  return { added, removed }
}
