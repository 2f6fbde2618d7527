/** Names the command that undoes the changes which a line of a summary lists. */
export function withUndoCommand(line: string, runId: string): string {
  const [, ids] = /^To undo: (\S+(?:, \S+)*)\.$/.exec(line) ?? []
  if (ids === undefined) return line
  return `To undo: copilot-proxy undo ${ids.includes(',') ? runId.slice(0, 8) : ids}`
}
