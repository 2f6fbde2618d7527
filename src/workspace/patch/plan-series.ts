import type { FileContent } from '../folder.ts'
import { ToolError } from '../tool-error.ts'
import { toFileLines } from './file-lines.ts'
import type { Change } from './journal.ts'
import type { Pace } from './pace.ts'
import type { FilePatch } from './file-patch.ts'
import { compareLines, type FileDiff } from './render-diff.ts'

/** What a patch does. Nothing is written yet. */
export interface Plan {
  readonly changes: readonly Change[]
  readonly diffs: readonly FileDiff[]
}

/** The files to which a patch refers. */
export interface PatchedFiles {
  /** Returns null if there is no file. */
  readonly read: (path: string) => Promise<FileContent | null>
  /** @throws ToolError `too_large` if the files take too much memory with this many bytes more */
  readonly add: (bytes: number) => void
  /** The paths whose hash the caller has stated. */
  readonly bases: ReadonlySet<string>
}

/** Maximum size of the files that the parts of a series read and make, one after the other. Bytes. */
const MAX_SERIES_BYTES = 256 * 1024 * 1024

/** A file after some parts of a series. */
interface SeriesFile {
  readonly content: FileContent | null
  /** The mode that the series states. */
  readonly mode: number | undefined
}

/** Where the content of a file comes from. */
interface Origin {
  readonly kind: 'rename' | 'copy'
  readonly from: string
}

/** Plans parts that refer to the files as the parts before them leave them. @throws ToolError of `planPart`; `too_large` */
export async function planSeries(
  parts: readonly FilePatch[],
  files: PatchedFiles,
  planPart: (part: FilePatch, files: PatchedFiles) => Promise<Plan>,
  pace: Pace,
): Promise<Plan> {
  const current = new Map<string, SeriesFile>()
  const origins = new Map<string, Origin>()
  let workBytes = 0
  const work = (bytes: number): void => {
    workBytes += bytes
    if (workBytes > MAX_SERIES_BYTES) {
      throw new ToolError({ kind: 'too_large', detail: 'The patch changes large files too often. Send it in parts.' })
    }
  }
  const read = async (path: string): Promise<FileContent | null> => {
    const known = current.get(path)
    return known === undefined ? files.read(path) : known.content
  }
  for (const part of parts) {
    const { changes, diffs } = await planPart(part, { ...files, read, add: work })
    for (const { path, before, after } of changes) {
      work(before?.size ?? 0)
      const mode = after === null ? undefined : (after.mode ?? current.get(path)?.mode)
      current.set(path, { content: contentOf(after, mode ?? before?.mode), mode })
    }
    for (const { kind, from, to } of diffs) {
      if (kind === 'create' || kind === 'delete') origins.delete(to)
      if (kind !== 'rename' && kind !== 'copy') continue
      origins.set(to, { kind: origins.get(from)?.kind ?? kind, from: origins.get(from)?.from ?? from })
      if (kind === 'rename') origins.delete(from)
    }
  }
  return sum(current, origins, files, pace)
}

function contentOf(after: Change['after'], mode = 0o644): FileContent | null {
  return after === null ? null : { bytes: after.bytes, sha256: after.sha256, size: after.bytes.length, mode }
}

/** Compares the files after the series with those before it. */
async function sum(
  current: ReadonlyMap<string, SeriesFile>,
  origins: ReadonlyMap<string, Origin>,
  { read, add }: PatchedFiles,
  pace: Pace,
): Promise<Plan> {
  const changes: Change[] = []
  const diffs: FileDiff[] = []
  const moved = new Set<string>()
  for (const [path, { content, mode }] of current) {
    const before = await read(path)
    if (before === null && content === null) continue
    const isModeKept = before !== null && mode === before.mode
    const after = content && { bytes: content.bytes, sha256: content.sha256, mode: isModeKept ? undefined : mode }
    add(content?.size ?? 0)
    changes.push({ path, before, after })
    const origin = origins.get(path)
    if (origin === undefined || before !== null || content === null || moved.has(origin.from)) continue
    const isGone = current.get(origin.from)?.content === null
    if (isGone && origin.kind === 'copy') continue
    // A renamed file whose old name got a new file is a copy, beside the change of the file of the old name.
    const kind = isGone ? 'rename' : 'copy'
    if (isGone) moved.add(origin.from)
    diffs.push(await diffBetween(kind, [origin.from, path], [await read(origin.from), content], mode, pace))
  }
  const shown = new Set([...diffs.map(({ to }) => to), ...moved])
  for (const { path, before, after } of changes) {
    if (shown.has(path)) continue
    const kind = before === null ? 'create' : after === null ? 'delete' : 'modify'
    diffs.push(await diffBetween(kind, [path, path], [before, after], after?.mode, pace))
  }
  return { changes, diffs }
}

async function diffBetween(
  kind: FileDiff['kind'],
  [from, to]: readonly [string, string],
  [before, after]: readonly [FileContent | null, Pick<FileContent, 'bytes'> | null],
  mode: number | undefined,
  pace: Pace,
): Promise<FileDiff> {
  const file = await toFileLines(before?.bytes ?? Buffer.alloc(0), pace)
  const changed = await toFileLines(after?.bytes ?? Buffer.alloc(0), pace)
  const edits = await compareLines(file, changed, pace)
  return { kind, from, to, oldMode: before?.mode, newMode: mode ?? before?.mode, file, edits }
}
