/** A line with its terminator, one character per byte, so that files that are not UTF-8 keep their bytes. */
export type Line = string

/** Adjacent lines and their replacement. */
export interface Hunk {
  /** The index in the file, from 0, at which `old` should begin. Undefined if the patch does not state it. */
  readonly statedIndex: number | undefined
  readonly old: readonly Line[]
  readonly new: readonly Line[]
  /** Lines that come before the hunk, without the spaces around them. They tell places with the same lines apart. */
  readonly anchors?: readonly string[]
  /** Whether the hunk ends with the last line of the file. */
  readonly isAtEnd?: boolean
}

/** The part of a patch about one file. */
export interface FilePatch {
  readonly kind: 'modify' | 'create' | 'delete' | 'rename' | 'copy'
  /** The existing file. For `modify`, it differs from `to` if the patch names the old file e.g. `x.orig`. */
  readonly from: string
  readonly to: string
  /** Undefined if the patch does not change it. */
  readonly isExecutable: boolean | undefined
  readonly hunks: readonly Hunk[]
  /** Whether the file is removed whatever it has. */
  readonly isWhole?: boolean
  /** The same part for files whose names end with what was read as a time. It is meant if one of them exists. */
  readonly withTimes?: FilePatch | undefined
}
