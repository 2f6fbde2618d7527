import type { Folder } from '../folder.ts'
import { unsavedNotes } from '../open-files.ts'
import { failed, ToolError } from '../tool-error.ts'
import { formatChanges, type Unformatted } from './format-changes.ts'
import type { IntendedFile } from '../../api/run.ts'
import { intendedFiles, type DiffSection } from './intended-files.ts'
import type { Change, Journal, JournalEntry } from './journal.ts'
import { createPace, type Pace } from './pace.ts'
import type { FilePatch } from './file-patch.ts'
import { parsePatch } from './parse-patch.ts'
import { planChanges, type StatedHashes } from './plan-changes.ts'
import type { Plan } from './plan-series.ts'
import { renderDiff } from './render-diff.ts'

export interface PatchDeps {
  readonly folder: Folder
  readonly journal: Journal
  /** `workspace.max-file-mb`. Bytes. */
  readonly maxFileBytes: number
}

export interface PatchContext {
  /** Called once, after everything is computed and before the first change. @throws ToolError */
  readonly authorize: (intent: {
    readonly writes: readonly string[]
    readonly files: readonly IntendedFile[]
    readonly diff: string
    readonly notes?: readonly string[]
  }) => Promise<void>
  /** Called first, so that a refusal comes before a conflict. Asks no person. @throws ToolError */
  readonly permit: (intent: { readonly writes: readonly string[] }) => Promise<void>
  readonly signal: AbortSignal
}

export interface ApplyPatchContext extends PatchContext {
  /** Formats a text and organises its imports, for `ApplyPatchArgs.format`. @throws ToolError */
  readonly format: (path: string, text: string) => Promise<string>
}

export interface ApplyPatchArgs {
  readonly unifiedDiff: string
  /** Has no effect: every patch is verified. The tool bus specifies this argument. */
  readonly verify?: true | undefined
  /**
   * SHA-256 in hex of the file that the patch was made for, or a record by path for several files. `null`: no such file.
   */
  readonly baseSha256?: StatedHashes
  /** Formats the patched files and organises their imports before writing them. */
  readonly format?: boolean | undefined
  /** Computes the result and changes nothing. Needs no authorisation, unless `format` runs a program. */
  readonly dryRun?: boolean | undefined
}

export interface PatchResult {
  readonly ok: true
  /** Id of the journal entry, for `undoChanges`. Absent if nothing was changed. */
  readonly id?: string
  /** `before` and `after` are SHA-256 in hex; null if there is no file. A rename lists both paths. */
  readonly files: readonly { readonly path: string; readonly before: string | null; readonly after: string | null }[]
  /** Always empty, because a conflict is an error. The tool bus specifies this field. */
  readonly conflicts: readonly []
  /** What a `dryRun` of an undo would do, as a unified diff. */
  readonly diff?: string
  /** Ids of the changes that are undone, or would be, the newest first. */
  readonly undoes?: readonly string[]
  /** Present if `format` was requested. */
  readonly unformatted?: readonly Unformatted[]
}

/**
 * Applies a unified diff or a V4A patch to all of its files or to none.
 * @throws ToolError `conflict` if the patch does not match; also all other kinds
 */
export async function applyPatch(
  deps: PatchDeps,
  args: ApplyPatchArgs,
  context: ApplyPatchContext,
): Promise<PatchResult> {
  const pace = createPace(context.signal)
  const patches = await parsePatch(args.unifiedDiff, pace)
  const normal: FilePatch[] = []
  for (const { withTimes, ...withoutTimes } of patches) {
    const patch = withTimes !== undefined && (await hasFile(deps.folder, withTimes)) ? withTimes : withoutTimes
    const [from, to] = await Promise.all([patch.from, patch.to].map(deps.folder.existingPath))
    normal.push({ ...patch, from: from ?? '', to: to ?? '' })
  }
  const paths = [...new Set(normal.flatMap(({ from, to }) => [from, to]))]
  const plan = (): Promise<Plan> => planChanges(deps, normal, args.baseSha256, pace, context.signal)
  return applyProposal(deps, { paths, writes: writesOf(normal), plan }, args, context, pace)
}

/** A change that is not computed yet. */
interface Proposal {
  /** The files that it may read and change. */
  readonly paths: readonly string[]
  /** The files that it certainly changes. */
  readonly writes: readonly string[]
  /** Computes it, while no other change of these files runs. @throws ToolError */
  readonly plan: () => Promise<Plan>
}

/** Plans, formats, authorises and commits a change. @throws ToolError, those of `plan` too */
export async function applyProposal(
  deps: PatchDeps,
  { paths, writes, plan }: Proposal,
  args: Pick<ApplyPatchArgs, 'format' | 'dryRun'>,
  context: ApplyPatchContext,
  pace: Pace,
): Promise<PatchResult> {
  if (args.dryRun !== true) await context.permit({ writes })
  return deps.journal.withPaths(paths, context.signal, async () => {
    const planned = await plan()
    const { maxFileBytes } = deps
    const formatting = { format: context.format, maxFileBytes }
    const { changes, diffs, unformatted } =
      args.format === true
        ? await formatChanges(planned.changes, planned.diffs, formatting, pace)
        : { ...planned, unformatted: undefined }
    const sections: DiffSection[] = []
    for (const diff of diffs) sections.push({ ...diff, text: await renderDiff(diff, pace) })
    const result = await finish(deps, changes.filter(isEffective), sections, args, context)
    return unformatted === undefined ? result : { ...result, unformatted }
  })
}

async function hasFile(folder: Folder, { from, to }: FilePatch): Promise<boolean> {
  const isThere = (path: string): Promise<boolean> =>
    folder.readStart(path, { maxBytes: 0 }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof ToolError) return false
        throw error
      },
    )
  return (await isThere(from)) || (await isThere(to))
}

/** Returns the paths that the patch certainly writes. For a patch from `x.orig` to `x`, `resolveName` chooses the path later. */
function writesOf(patches: readonly FilePatch[]): readonly string[] {
  return patches.flatMap(({ kind, from, to }) => {
    if (kind === 'modify') return from === to ? [to] : []
    return kind === 'rename' ? [from, to] : [kind === 'delete' ? from : to]
  })
}

/** Writes changes of which everything is computed, or only describes them. */
export async function finish(
  deps: PatchDeps,
  changes: readonly Change[],
  sections: readonly DiffSection[],
  options: {
    readonly dryRun?: boolean | undefined
    readonly undoes?: readonly JournalEntry[] | undefined
    readonly undoesNewest?: boolean
  },
  { authorize, signal }: PatchContext,
): Promise<PatchResult> {
  const readOnly = changes.find(({ before }) => before !== null && (before.mode & 0o200) === 0)
  if (readOnly !== undefined) throw failed(`${readOnly.path} is read-only. No file was changed.`)
  const { dryRun, undoes, undoesNewest } = options
  const diff = sections.map(({ text }) => text).join('')
  const result = {
    ok: true as const,
    files: changes.map(({ path, before, after }) => ({
      path,
      before: before?.sha256 ?? null,
      after: after?.sha256 ?? null,
    })),
    conflicts: [] as const,
    ...(undoes !== undefined && { undoes: undoes.map(({ id }) => id), ...(dryRun === true && { diff }) }),
  }
  if (dryRun === true || changes.length === 0) return result
  const notes = unsavedNotes(changes)
  await authorize({
    writes: changes.map(({ path }) => path),
    files: intendedFiles(changes, sections),
    diff,
    ...(notes.length > 0 && { notes }),
  })
  const id = await deps.journal.commit(changes, { signal, undoes, undoesNewest })
  return { ...result, id }
}

function isEffective({ before, after }: Change): boolean {
  return before?.sha256 !== after?.sha256 || after?.mode !== undefined
}
