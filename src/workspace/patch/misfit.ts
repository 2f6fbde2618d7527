import type { Conflict } from '../tool-error.ts'
import { linesToFile, type FileLines, type Searchable } from './file-lines.ts'
import { disguisesBetween, withoutDisguise } from './look-alikes.ts'
import { nearestLines } from './nearest-lines.ts'
import type { Pace } from './pace.ts'
import type { Hunk, Line } from './file-patch.ts'

/** Maximum number and size of the lines of patch and file that a conflict shows. */
const SHOWN_LINES = 20
const SHOWN_LINE_BYTES = 400

/** A hunk that does not match. `reason` is a sentence for the caller. */
export interface Misfit {
  readonly reason: string
  readonly conflict: Conflict
}

export function misfit(file: FileLines, hunk: Hunk, path: string, reason: string): Misfit {
  // For a line after the end of the file, show the last lines.
  const stated = hunk.statedIndex ?? 0
  const index = stated < file.count ? stated : Math.max(0, file.count - hunk.old.length)
  return {
    reason,
    conflict: {
      path,
      ...(hunk.statedIndex === undefined ? {} : { line: index + 1 }),
      expected: shownLines(hunk.old),
      found: shownLines(file.slice(index, index + Math.max(1, Math.min(hunk.old.length, SHOWN_LINES)))),
    },
  }
}

/** Returns the first lines as text, without their newlines, for a conflict. */
export function shownLines(lines: readonly Line[]): readonly string[] {
  return lines.slice(0, SHOWN_LINES).map((line) => {
    const text = line.replace(/\n$/, '')
    const shown = text.length > SHOWN_LINE_BYTES ? `${text.slice(0, SHOWN_LINE_BYTES)}…` : text
    return Buffer.from(shown, 'latin1').toString()
  })
}

/** Returns the lines of a file without what a reader does not see. */
export async function withoutDisguises(file: FileLines, pace: Pace): Promise<FileLines> {
  const lines: Line[] = []
  for (let index = 0; index < file.count; index += 1) {
    if (pace.isDue()) await pace.rest()
    lines.push(plainLine(file.slice(index, index + 1)[0] ?? ''))
  }
  return linesToFile(lines, pace)
}

function plainLine(line: Line): Line {
  return Buffer.from(`${withoutDisguise(toText(line))}\n`).toString('latin1')
}

function toText(line: Line): string {
  return Buffer.from(line.replace(/\r?\n$/, ''), 'latin1').toString()
}

/** What the caller has sent, as a word of a sentence. */
export type Sent = 'patch' | 'old text'

/**
 * Returns why a hunk does not match if the only place that looks like it differs in what a reader does not see.
 * @param plain the file without what a reader does not see
 */
export async function lookAlike(
  file: FileLines,
  plain: Searchable,
  hunk: Hunk,
  path: string,
  pace: Pace,
  sent: Sent = 'patch',
): Promise<Misfit | undefined> {
  const lines = hunk.old.map(plainLine)
  if (lines.every((line) => line === '\n')) return undefined
  const { statedIndex: stated = -1 } = hunk
  const isStated = plain.file.slice(stated, stated + lines.length).join('') === lines.join('')
  const [found, other] = isStated && stated >= 0 ? [stated] : ((await plain.find(lines)) ?? [])
  if (found === undefined || other !== undefined) return undefined
  await pace.step()
  const names = new Set<string>()
  let first: string | undefined
  for (const [index, line] of hunk.old.entries()) {
    const [wanted, there] = [line, file.slice(found + index, found + index + 1)[0] ?? ''].map(toText)
    if (wanted === undefined || there === undefined || wanted === there) continue
    for (const name of disguisesBetween(wanted, there)) names.add(name)
    first ??= `line ${found + index + 1} has ${firstDifference(there, wanted)} where the ${sent} has ${firstDifference(wanted, there)}`
  }
  if (first === undefined) return undefined
  const reason = `The ${sent} differs only in ${[...names].join(' and ')} from ${path}: ${first}.`
  return misfit(file, { ...hunk, statedIndex: found }, path, reason)
}

/**
 * Returns a misfit with the lines of the file that are nearest to those of a hunk without a line number.
 * @param plain the file without what a reader does not see
 */
export async function nearestMisfit(
  file: FileLines,
  plain: FileLines,
  hunk: Hunk,
  path: string,
  reason: string,
  pace: Pace,
): Promise<Misfit> {
  const nearest = await nearestLines(plain, hunk.old.map(plainLine), pace)
  if (nearest === undefined) return misfit(file, hunk, path, reason)
  const last = Math.min(file.count, nearest + hunk.old.length)
  const lines = last === nearest + 1 ? `line is line ${last}` : `lines are ${nearest + 1} to ${last}`
  return misfit(file, { ...hunk, statedIndex: nearest }, path, `${reason} The nearest ${lines}.`)
}

/** Returns the first character that another text does not have at its place, as U+0041. */
function firstDifference(text: string, other: string): string {
  const characters = Array.from(text)
  const others = Array.from(other)
  const character = characters.find((each, index) => each !== others[index])
  if (character === undefined) return 'its end'
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
