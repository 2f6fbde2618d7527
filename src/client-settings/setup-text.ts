import type { EntryFormat } from './client-entries.ts'
import type { Target } from './target.ts'

/**
 * A file as setup leaves it; undefined where that has to be done by hand.
 * @param before the file as it was before the first setup; entries that are not needed now are as they are there
 */
export function setUpText(format: EntryFormat, text: string, before: string, target: Target): string | undefined {
  const present = format.read(text)
  const original = format.read(before)
  if (present === undefined || original === undefined) return undefined
  return format.write(text, { ...original, ...format.wanted(target, original) })
}

export type Undone =
  /** All that has changed since is what setup changed: the file as it was. */
  | { readonly kind: 'exact'; readonly text: string }
  /** Other things have changed too; they stay. */
  | { readonly kind: 'entries'; readonly text: string }
  | { readonly kind: 'by-hand' }

/** @param before the file as it was before the first setup; '' where there was none */
export function undoText(format: EntryFormat, text: string, before: string): Undone {
  const present = format.read(text)
  const original = format.read(before)
  if (present === undefined || original === undefined) return { kind: 'by-hand' }
  if (format.write(before, present) === text) return { kind: 'exact', text: before }
  const reverted = format.write(text, original)
  return reverted === undefined ? { kind: 'by-hand' } : { kind: 'entries', text: reverted }
}
