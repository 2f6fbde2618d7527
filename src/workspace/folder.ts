import type { FoundLines, LineRange } from './read-lines.ts'
import type { Sandbox } from './sandbox/sandbox.ts'

/** The bytes of a file with their hash, and the file's size and mode. */
export interface FileContent {
  readonly bytes: Buffer
  /** SHA-256 of the whole file in lower-case hex. */
  readonly sha256: string
  /** Size of the whole file. Bytes. */
  readonly size: number
  /** Permission bits, e.g. 0o644. */
  readonly mode: number
  /** Present if the bytes are newer text of an editor, which is not saved. */
  readonly unsaved?: UnsavedText
}

/** What replaces a file that an editor has changed and not saved. */
interface UnsavedText {
  readonly disk: FileContent
  /** Whether the editor takes a new text. */
  readonly mayReplace: boolean
}

export interface ReadLimits {
  readonly maxBytes: number
  readonly signal?: AbortSignal
  /** For `readStart`. */
  readonly lines?: WantedLines | undefined
  /**
   * Called with the path of the opened file, relative to the root and without links, before its content is read.
   * @throws an error to refuse the file
   */
  readonly admit?: (path: string) => Promise<void>
}

/** Lines to read of a file that is larger than `ReadLimits.maxBytes`. */
interface WantedLines extends LineRange {
  /** Called with the parts of the file up to these lines. @throws an error to refuse the file */
  readonly check: (part: Buffer) => void
}

/** The start of a file. */
export interface FileStart extends Omit<FileContent, 'sha256'> {
  /** Undefined for a file that is larger than the limit. */
  readonly sha256: string | undefined
  /** The lines that were wanted, in place of the start, if the file is larger than the limit. */
  readonly found?: FoundLines | undefined
}

/** What one call that meets many files may read. It reads the rules once and does not see later changes. */
export interface Reading {
  /** Globs that exclude folders and files from ripgrep, which otherwise reads them in vain. */
  readonly excludes: readonly string[]
  /** Whether a list must not have the path. Quick, but incomplete: `hiddenIn` decides. */
  readonly isHidden: (path: string) => boolean
  /** Returns whether a list must not have a path in this folder ('' for the root). A secret may be listed. */
  readonly hiddenIn: (folder: string) => Promise<(path: string) => boolean>
  /** Whether a search may show text of the file. */
  readonly maySearch: (path: string) => Promise<boolean>
}

/**
 * A workspace's folder on disk. Its functions accept paths with `/` that are relative to the root, or absolute inside it. They
 * never read or write outside the root: not through `..`, prefixes, links, races, or names that a file system treats as equal.
 * Reading follows links that stay inside the root. Writing and removing follow no link, because the policy applies to paths.
 * No function reads, lists or changes a file that belongs to copilot-proxy itself (own-places.ts): it fails with `denied`.
 */
export interface Folder {
  /** The root's real path. */
  readonly root: string
  /** Encloses the programs that start in this folder. */
  readonly sandbox: Sandbox
  /**
   * Returns the normal form of a path: relative to the root, with `/`, '' for the root itself. Does not access the disk.
   * @throws ToolError `denied` for a path outside the root, or a name that some file system treats as another one
   */
  readonly relativePath: (path: string) => string
  /**
   * Returns the normal form of the path under which a file exists: the name may have another Unicode form. Functions that read find
   * it themselves; those that write accept no other path.
   * @throws ToolError `denied` as `relativePath`, and for a new name that looks like another one
   */
  readonly existingPath: (path: string) => Promise<string>
  /** @throws ToolError `denied`; `failed` if the file is missing, not regular or unreadable; `too_large` */
  readonly readFile: (path: string, limits: ReadLimits) => Promise<FileContent>
  /** Reads a file like `readFile`. Returns the first `maxBytes` of a larger file, or the wanted lines, without a hash. */
  readonly readStart: (path: string, limits: ReadLimits) => Promise<FileStart>
  /** Returns the rules of reading for a list or a search. */
  readonly reading: () => Promise<Reading>
  /** @throws ToolError `denied` for a path that belongs to copilot-proxy itself, or whose folder does */
  readonly refuseOwn: (path: string) => Promise<void>
  /**
   * Replaces or creates a file atomically: readers see the old or the new bytes, and other hard links keep the old ones. Keeps
   * the mode of an existing file unless `mode` is stated. Creates missing folders. The caller must have authorised the write.
   * @throws ToolError `denied`; `failed` (a read-only file, no space); `conflict` if the file does not have the hash
   * `ifSha256` (undefined: no check; null: the file must not exist)
   */
  readonly writeFile: (
    path: string,
    bytes: Uint8Array,
    options?: { readonly ifSha256?: string | null | undefined; readonly mode?: number | undefined },
  ) => Promise<void>
  /** @throws the error of `writeFile` for the state of the disk: a segment that is a link, a folder, a read-only file */
  readonly checkWritable: (path: string) => Promise<void>
  /** Returns the missing folders of a file's path, outermost first. Relative to the root. */
  readonly missingFolders: (path: string) => Promise<readonly string[]>
  /** Removes a folder if it is empty; otherwise does nothing. */
  readonly removeEmptyFolder: (path: string) => Promise<void>
  /** @throws the errors of `writeFile` */
  readonly removeFile: (path: string, options?: { readonly ifSha256?: string | undefined }) => Promise<void>
}
