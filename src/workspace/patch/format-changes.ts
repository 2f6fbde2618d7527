import { toText } from '../read-text.ts'
import { ToolError } from '../tool-error.ts'
import { toFileLines } from './file-lines.ts'
import type { Change } from './journal.ts'
import type { Pace } from './pace.ts'
import { compareLines, type FileDiff } from './render-diff.ts'
import { sha256Of } from './sha256.ts'

/** A patched file that could not be formatted, so it has the text of the patch. */
export interface Unformatted {
  readonly path: string
  readonly reason: string
}

export interface Formatting {
  /** Returns the formatted text of a file. @throws ToolError */
  readonly format: (path: string, text: string) => Promise<string>
  readonly maxFileBytes: number
}

/** After this time for files that could not be formatted, the other files are not formatted. Ms. */
const maxLostMs = 5000

const tooSlow = 'The attempts to format other files of the patch took too long.'

/**
 * Formats the files whose lines a patch changes, before anything is written. Keeps the patched text of a file that cannot be
 * formatted.
 * @throws ToolError `cancelled`, `timed_out`
 */
export async function formatChanges(
  changes: readonly Change[],
  diffs: readonly FileDiff[],
  formatting: Formatting,
  pace: Pace,
): Promise<{
  readonly changes: readonly Change[]
  readonly diffs: readonly FileDiff[]
  readonly unformatted: readonly Unformatted[]
}> {
  const byPath = new Map(changes.map((change) => [change.path, change]))
  const formatted = new Map<string, Buffer>()
  const unformatted: Unformatted[] = []
  /** Time for files that could not be formatted. */
  let lostMs = 0
  let failures = 0
  const one: Formatting = {
    ...formatting,
    format: async (path, text) => {
      if (lostMs > maxLostMs) throw new ToolError({ kind: 'failed', detail: tooSlow })
      return formatting.format(path, text)
    },
  }
  const newDiffs: FileDiff[] = []
  for (const diff of diffs) {
    const { after } = byPath.get(diff.to) ?? {}
    const hasNewLines = diff.edits.length > 0 && diff.kind !== 'delete'
    const startedMs = performance.now()
    const bytes = hasNewLines && after ? await formatOne(diff.to, after.bytes, one, unformatted) : undefined
    if (unformatted.length > failures) lostMs += performance.now() - startedMs
    failures = unformatted.length
    if (bytes === undefined) {
      newDiffs.push(diff)
      continue
    }
    formatted.set(diff.to, bytes)
    newDiffs.push({ ...diff, edits: await compareLines(diff.file, await toFileLines(bytes, pace), pace) })
  }
  const newChanges: Change[] = []
  for (const change of changes) {
    const bytes = formatted.get(change.path)
    if (bytes === undefined || change.after === null) newChanges.push(change)
    else newChanges.push({ ...change, after: { ...change.after, bytes, sha256: await sha256Of(bytes, pace) } })
  }
  return { changes: newChanges, diffs: newDiffs, unformatted }
}

/** Returns undefined if formatting does not change the text. */
async function formatOne(
  path: string,
  bytes: Buffer,
  { format, maxFileBytes }: Formatting,
  unformatted: Unformatted[],
): Promise<Buffer | undefined> {
  try {
    const text = toText(bytes, path)
    const formatted = await format(path, text)
    if (formatted === text) return undefined
    const formattedBytes = Buffer.from(formatted)
    if (formattedBytes.length <= maxFileBytes) return formattedBytes
    unformatted.push({ path, reason: `${JSON.stringify(path)} would become too large.` })
  } catch (error) {
    const isOver = !(error instanceof ToolError) || ['cancelled', 'timed_out'].includes(error.failure.kind)
    if (isOver) throw error
    unformatted.push({ path, reason: error.message })
  }
  return undefined
}
