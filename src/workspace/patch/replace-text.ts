import { ToolError } from '../tool-error.ts'
import { applyProposal, type ApplyPatchContext, type PatchDeps, type PatchResult } from './apply-patch.ts'
import { searchable, toFileLines, type FileLines } from './file-lines.ts'
import { withEndsOf } from './line-ends.ts'
import { lookAlike, nearestMisfit, shownLines, withoutDisguises, type Misfit } from './misfit.ts'
import { createPace, type Pace } from './pace.ts'
import { conflictOf } from './plan-changes.ts'
import type { Hunk } from './file-patch.ts'
import type { Plan } from './plan-series.ts'
import { compareLines } from './render-diff.ts'
import { sha256Of } from './sha256.ts'

export interface ReplaceTextArgs {
  readonly path: string
  readonly oldText: string
  readonly newText: string
  /** Replaces each occurrence. Otherwise there must be exactly one. */
  readonly all?: boolean | undefined
  readonly format?: boolean | undefined
  readonly dryRun?: boolean | undefined
}

/** Maximum number of occurrences that a conflict shows. */
const maxShown = 10

/**
 * Replaces a text in a file. The change is applied like a patch.
 * @throws ToolError `conflict` if the file has the old text not once; also all other kinds
 */
export async function replaceText(
  deps: PatchDeps,
  args: ReplaceTextArgs,
  context: ApplyPatchContext,
): Promise<PatchResult> {
  if (args.oldText === args.newText) {
    const detail = 'The old and the new text are the same.'
    throw new ToolError({ kind: 'invalid_arguments', path: 'newText', detail })
  }
  const pace = createPace(context.signal)
  const path = await deps.folder.existingPath(args.path)
  const plan = (): Promise<Plan> => planReplacement(deps, { ...args, path }, pace, context.signal)
  return applyProposal(deps, { paths: [path], writes: [path], plan }, args, context, pace)
}

async function planReplacement(
  { folder, maxFileBytes }: PatchDeps,
  { path, oldText, newText, all = false }: ReplaceTextArgs,
  pace: Pace,
  signal: AbortSignal,
): Promise<Plan> {
  const before = await folder.readFile(path, { maxBytes: maxFileBytes, signal })
  if (before.bytes.includes(0)) {
    throw new ToolError({ kind: 'failed', detail: `${path} is a binary file. Only text can be replaced.` })
  }
  const file = await toFileLines(before.bytes, pace)
  const found = await findText(file, { old: toBytes(oldText), new: toBytes(newText) }, pace)
  if (found === undefined) throw conflictOf([await missing(file, oldText, path, pace)])
  const { text, places } = found
  if (places.length > 1 && !all) throw conflictOf([repeated(found, path)])
  const sizeBytes = text.length + places.length * (found.new.length - found.old.length)
  if (sizeBytes > maxFileBytes) {
    const detail = `${path} would become larger than ${maxFileBytes / 1024 / 1024} MB.`
    throw new ToolError({ kind: 'too_large', detail })
  }
  const changed = Buffer.from(
    text.replaceAll(found.old, () => found.new),
    'latin1',
  )
  await pace.step()
  const bytes = found.hasFileEnds ? changed : await withEndsOf(before.bytes, changed)
  const after = { bytes, sha256: await sha256Of(bytes, pace), mode: undefined }
  const edits = await compareLines(file, await toFileLines(bytes, pace), pace)
  const { mode } = before
  return {
    changes: [{ path, before, after }],
    diffs: [{ kind: 'modify', from: path, to: path, oldMode: mode, newMode: mode, file, edits }],
  }
}

/** Texts with one character per byte. */
interface Replacement {
  readonly old: string
  readonly new: string
}

interface Found extends Replacement {
  /** The text of the file in which `old` was found. */
  readonly text: string
  /** Offsets in `text`. */
  readonly places: readonly number[]
  /** Whether `text` has the line ends of the file. Otherwise each line ends with LF. */
  readonly hasFileEnds: boolean
}

/** Looks for a text as it is, or else without regard to CR, because an author does not see the line ends of a file. */
async function findText(file: FileLines, texts: Replacement, pace: Pace): Promise<Found | undefined> {
  const isExact = !file.hasCrlf || `${texts.old}${texts.new}`.includes('\r')
  const places = isExact ? await placesOf(file.text, texts.old, pace) : []
  if (places.length > 0) return { ...texts, text: file.text, places, hasFileEnds: true }
  const text = file.text.replaceAll('\r\n', '\n')
  const bare = { old: texts.old.replaceAll('\r\n', '\n'), new: texts.new.replaceAll('\r\n', '\n') }
  const others = await placesOf(text, bare.old, pace)
  return others.length === 0 ? undefined : { ...bare, text, places: others, hasFileEnds: false }
}

async function placesOf(text: string, old: string, pace: Pace): Promise<readonly number[]> {
  const places: number[] = []
  for (let at = text.indexOf(old); at !== -1; at = text.indexOf(old, at + old.length)) {
    if (pace.isDue()) await pace.rest()
    places.push(at)
  }
  return places
}

/** Returns the nearest lines of a file that does not have the text. */
async function missing(file: FileLines, oldText: string, path: string, pace: Pace): Promise<Misfit> {
  const wanted = await toFileLines(Buffer.from(oldText), pace)
  const old = wanted.slice(0, wanted.count).map((line) => line.replace(/\r?\n$|$/, '\n'))
  const hunk: Hunk = { statedIndex: undefined, old, new: [] }
  const plain = await withoutDisguises(file, pace)
  const alike = await lookAlike(file, searchable(plain, pace), hunk, path, pace, 'old text')
  return alike ?? nearestMisfit(file, plain, hunk, path, `${path} does not have the old text.`, pace)
}

function repeated({ text, places, old }: Found, path: string): Misfit {
  const lines: number[] = []
  let [line, from] = [1, 0]
  for (const at of places.slice(0, maxShown)) {
    line += text.slice(from, at).split('\n').length - 1
    from = at
    lines.push(line)
  }
  const more = places.length > lines.length ? ` and ${places.length - lines.length} more` : ''
  return {
    reason: `${path} has the old text ${places.length} times, at lines ${lines.join(', ')}${more}. Add lines around it, or send "all": true.`,
    conflict: { path, line: lines[0] ?? 1, expected: shownLines(old.split('\n')), found: [] },
  }
}

function toBytes(text: string): string {
  return Buffer.from(text).toString('latin1')
}
