import { findAnchors, firstAfter } from './anchors.ts'
import { linesToFile, searchable, type Edit, type FileLines, type Searchable } from './file-lines.ts'
import { editsKeepingEnds, hasMixedEnds, usualEnd, withoutCr } from './line-ends.ts'
import { lookAlike, misfit, nearestMisfit, withoutDisguises, type Misfit } from './misfit.ts'
import type { Pace } from './pace.ts'
import type { Hunk, Line } from './file-patch.ts'

/** UTF-8's byte order mark, one character per byte. */
const BOM = '\u00EF\u00BB\u00BF'

/** Maximum number of hunks of a file that do not match. Further hunks are not checked. */
const MAX_MISFITS = 50

export interface FitOptions {
  readonly path: string
  /** Whether the caller stated the file's correct hash, so that its line numbers can be trusted. */
  readonly isBaseKnown: boolean
}

/** The lines of a hunk, adapted to a file. */
type Form = Pick<Hunk, 'old' | 'new'>

/**
 * Finds the place of each hunk in the file before the patch: the line that the hunk states, or else the only place with these
 * lines. There is no fuzz: all context and removed lines must match.
 */
export async function fitHunks(
  file: FileLines,
  hunks: readonly Hunk[],
  options: FitOptions,
  pace: Pace,
): Promise<{ readonly edits: readonly Edit[]; readonly misfits: readonly Misfit[] }> {
  const misfits: Misfit[] = []
  const placed: { readonly hunk: Hunk; readonly edit: Edit }[] = []
  const exact = searchable(file, pace)
  const mixed = hasMixedEnds(file)
    ? { end: usualEnd(file), bare: searchable(await withoutCr(file, pace), pace) }
    : undefined
  let plain: Promise<Searchable> | undefined
  const fit = async (hunk: Hunk): Promise<Place | NoPlace> => {
    if (hunk.old.length === 0) return placeOfInsertion(file, hunk, options, mixed?.end, pace)
    if (mixed === undefined || lineEndOf(hunk) === undefined) return findPlace(exact, hunk, options, pace)
    const place = await findPlace(mixed.bare, { ...hunk, ...withLineEnd(hunk, '\n') }, options, pace)
    return 'reason' in place ? place : withMixedEnds(file, place, mixed.end, pace)
  }
  const explain = async (hunk: Hunk, { reason, isNowhere = false }: NoPlace): Promise<Misfit> => {
    if (!isNowhere) return misfit(file, hunk, options.path, reason)
    plain ??= withoutDisguises(file, pace).then((lines) => searchable(lines, pace))
    const alike = await lookAlike(file, await plain, hunk, options.path, pace)
    if (alike !== undefined) return alike
    if (hunk.statedIndex !== undefined) return misfit(file, hunk, options.path, reason)
    return nearestMisfit(file, (await plain).file, hunk, options.path, reason, pace)
  }
  for (const hunk of hunks) {
    if (pace.isDue()) await pace.rest()
    if (misfits.length >= MAX_MISFITS) break
    const place = await fit(hunk)
    if ('reason' in place) {
      misfits.push(await explain(hunk, place))
      continue
    }
    const edit = toEdit(place.index, place.form)
    if (edit.end > edit.start || edit.lines.length > 0) placed.push({ hunk, edit })
  }
  placed.sort((a, b) => a.edit.start - b.edit.start || a.edit.end - b.edit.end)
  for (const [index, { hunk, edit }] of placed.entries()) {
    const previous = placed[index - 1]?.edit
    if (
      misfits.length < MAX_MISFITS &&
      previous !== undefined &&
      (edit.start < previous.end || edit.start === previous.start)
    ) {
      const reason = `Two hunks of the patch change the same lines of ${options.path}, near line ${edit.start + 1}.`
      misfits.push(misfit(file, { ...hunk, statedIndex: edit.start }, options.path, reason))
    }
  }
  return { edits: placed.map(({ edit }) => edit), misfits }
}

interface Place {
  readonly index: number
  readonly form: Form
}

interface NoPlace {
  /** A sentence that states why a hunk has no place. */
  readonly reason: string
  /** Whether its lines are not in the file. */
  readonly isNowhere?: boolean
}

/** More places of the lines of one hunk are not compared with its anchors. */
const MAX_PLACES = 1000

async function findPlace(
  { file, find }: Searchable,
  hunk: Hunk,
  { path }: FitOptions,
  pace: Pace,
): Promise<Place | NoPlace> {
  const { statedIndex, anchors = [], isAtEnd = false } = hunk
  if (statedIndex !== undefined) {
    for (const form of formsOf(file, hunk)) {
      const from = file.offset(statedIndex)
      const block = form.old.join('')
      const isHere =
        from + block.length === file.offset(statedIndex + form.old.length) && file.text.startsWith(block, from)
      if (isHere) return { index: statedIndex, form }
    }
  }
  const stated = statedIndex === undefined ? '' : ` at line ${statedIndex + 1}`
  const places: Place[] = []
  for (const form of formsOf(file, hunk)) {
    const found = await find(form.old, anchors.length > 0 || isAtEnd ? MAX_PLACES : undefined)
    if (found === undefined) return { reason: `Too many line numbers of the patch are wrong in ${path}.` }
    places.push(...found.map((index) => ({ index, form })))
  }
  if (places.length === 0) {
    const where = statedIndex === undefined ? '' : `${stated} or anywhere else`
    return { reason: `The patch does not match ${path}${where}.`, isNowhere: true }
  }
  const [place, other] = places.length === 1 ? places : await narrow(file, places, hunk, pace)
  if (place !== undefined && other === undefined) return place
  const [first, second] = places.map(({ index }) => index + 1).toSorted((a, b) => a - b)
  const header = statedIndex === undefined ? '' : ', but not at the line in its header'
  return { reason: `A hunk matches ${path} at lines ${first} and ${second}${header}. Add more lines of context.` }
}

/** Keeps the places at the end of the file, or the first one after each line to which the anchors lead. */
async function narrow(file: FileLines, places: readonly Place[], hunk: Hunk, pace: Pace): Promise<readonly Place[]> {
  const { anchors = [], isAtEnd = false } = hunk
  if (isAtEnd) return places.filter(({ index, form }) => index + form.old.length === file.count)
  if (anchors.length === 0) return places
  const starts = await findAnchors(file, anchors, pace)
  const indexes = places.map(({ index }) => index).toSorted((a, b) => a - b)
  const kept = new Set(firstAfter(starts, indexes))
  return places.filter(({ index }) => kept.has(index))
}

/**
 * A hunk without old lines matches anywhere, so its place must be reliable: the file is empty, has the stated hash, or the anchors
 * lead to one line.
 */
async function placeOfInsertion(
  file: FileLines,
  hunk: Hunk,
  { path, isBaseKnown }: FitOptions,
  usual: '\n' | '\r\n' | undefined,
  pace: Pace,
): Promise<Place | NoPlace> {
  if (file.count === 0) return { index: 0, form: hunk }
  const index = isBaseKnown && hunk.statedIndex !== undefined ? hunk.statedIndex : await anchoredEnd(file, hunk, pace)
  const isAfterOpenLine = index === file.count && !file.text.endsWith('\n')
  if (index === undefined || index > file.count || isAfterOpenLine) {
    return { reason: `A hunk adds lines to ${path} without context. Add lines of context, or send baseSha256.` }
  }
  const neighbour = file.slice(Math.max(0, index - 1), index + 1)[0] ?? ''
  const isCrlf = usual === undefined ? neighbour.endsWith('\r\n') : usual === '\r\n'
  return { index, form: isCrlf && lineEndOf(hunk) === '\n' ? withLineEnd(hunk, '\r\n') : hunk }
}

async function anchoredEnd(
  file: FileLines,
  { anchors = [], isAtEnd = false }: Hunk,
  pace: Pace,
): Promise<number | undefined> {
  if (isAtEnd) return file.count
  const [anchor, other] = await findAnchors(file, anchors, pace)
  return anchor === undefined || other !== undefined ? undefined : anchor + 1
}

/** Gives a hunk with LF, which fits the lines of a file without their CR, the ends of the file. */
async function withMixedEnds(file: FileLines, { index, form }: Place, end: '\n' | '\r\n', pace: Pace): Promise<Place> {
  const old = file.slice(index, index + form.old.length)
  const [before, after] = await Promise.all([old, form.new].map((lines) => linesToFile(lines, pace)))
  if (before === undefined || after === undefined) return { index, form }
  const changed: Line[] = []
  let at = 0
  for (const edit of await editsKeepingEnds(before, after, end, pace)) {
    changed.push(...old.slice(at, edit.start), ...edit.lines)
    at = edit.end
  }
  return { index, form: { old, new: [...changed, ...old.slice(at)] } }
}

/**
 * Yields the hunk unchanged, then in forms that an author means who does not see a file's bytes: with the file's line ends,
 * without a last newline that the file lacks, with its byte order mark.
 */
function* formsOf(file: FileLines, hunk: Hunk): Generator<Form> {
  for (const withEnds of formsOfLineEnds(file, hunk)) {
    for (const form of formsOfLastLine(file, withEnds)) {
      yield form
      const [first] = form.old
      if (!file.text.startsWith(BOM) || first === undefined || first.startsWith(BOM)) continue
      yield { old: withBom(form.old), new: withBom(form.new) }
    }
  }
}

function* formsOfLineEnds(file: FileLines, hunk: Hunk): Generator<Form> {
  yield hunk
  const end = lineEndOf(hunk)
  if (end === '\r\n') yield withLineEnd(hunk, '\n')
  if (end === '\n' && file.hasCrlf) yield withLineEnd(hunk, '\r\n')
}

function* formsOfLastLine(file: FileLines, form: Form): Generator<Form> {
  yield form
  if (file.text.endsWith('\n') || form.old.at(-1)?.endsWith('\n') !== true) return
  yield { old: withoutLastNewline(form.old), new: withoutLastNewline(form.new) }
}

/** Returns undefined if the hunk has different line ends, because the patch may change line ends then. */
function lineEndOf(hunk: Form): '\n' | '\r\n' | undefined {
  const lines = [...hunk.old, ...hunk.new].filter((line) => line.endsWith('\n'))
  const crlfs = lines.filter((line) => line.endsWith('\r\n')).length
  if (crlfs === 0) return '\n'
  return crlfs === lines.length ? '\r\n' : undefined
}

function withLineEnd(form: Form, end: '\n' | '\r\n'): Form {
  const convert = (line: Line): Line => line.replace(/\r?\n$/, end)
  return { old: form.old.map(convert), new: form.new.map(convert) }
}

function withoutLastNewline(lines: readonly Line[]): readonly Line[] {
  return lines.map((line, index) => (index === lines.length - 1 ? line.replace(/\r?\n$/, '') : line))
}

function withBom(lines: readonly Line[]): readonly Line[] {
  return lines.map((line, index) => (index === 0 ? `${BOM}${line}` : line))
}

/** Removes unchanged lines from the start and the end of a hunk, so that hunks may share context. */
function toEdit(index: number, form: Form): Edit {
  const shorter = Math.min(form.old.length, form.new.length)
  let head = 0
  while (head < shorter && form.old[head] === form.new[head]) head += 1
  let tail = 0
  while (tail < shorter - head && form.old.at(-1 - tail) === form.new.at(-1 - tail)) tail += 1
  return {
    start: index + head,
    end: index + form.old.length - tail,
    lines: form.new.slice(head, form.new.length - tail),
  }
}
