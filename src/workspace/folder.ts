/** The bytes of a file and what identifies them. */
export interface FileContent {
  readonly bytes: Buffer
  /** Lower-case hex of the whole file. */
  readonly sha256: string
  /** Of the whole file. Bytes. */
  readonly size: number
  /** Permission bits, e.g. 0o644. */
  readonly mode: number
}

/**
 * A workspace's folder on disk. Every path that enters is relative to the root (or absolute inside it), with `/`; nothing
 * outside the root is read or written, through `..`, prefixes, links, races, or names that a file system folds together.
 * Reading follows links that stay inside the root; writing and removing follow none, because a policy judges paths.
 */
export interface Folder {
  /** The root's real path. */
  readonly root: string
  /**
   * The normal form of a caller's path: relative to the root, with `/`, '' for the root itself. Touches no file.
   * @throws ToolError `denied` for a path outside the root or a name that some file system reads as another
   */
  readonly relativePath: (path: string) => string
  /** @throws ToolError `denied`; `failed` if it is missing, no regular file or unreadable; `too_large` */
  readonly readFile: (
    path: string,
    limits: { readonly maxBytes: number; readonly signal?: AbortSignal },
  ) => Promise<FileContent>
  /** As `readFile`, but of a larger file it gives the first `maxBytes`, without a hash. */
  readonly readStart: (
    path: string,
    limits: { readonly maxBytes: number; readonly signal?: AbortSignal },
  ) => Promise<Omit<FileContent, 'sha256'> & { readonly sha256: string | undefined }>
  /**
   * Replaces or creates a file whole: readers see the old bytes or the new, and other hard links keep the old ones. Keeps
   * the mode of an existing file unless `mode` is stated; creates missing folders. Whoever calls it has had the write
   * authorised.
   * @throws ToolError `denied`; `failed` (a read-only file, no space); `conflict` if `ifSha256` is stated and the file's
   * bytes have another hash (undefined: no check; null: the file must not exist)
   */
  readonly writeFile: (
    path: string,
    bytes: Uint8Array,
    options?: { readonly ifSha256?: string | null | undefined; readonly mode?: number | undefined },
  ) => Promise<void>
  /** @throws as `writeFile` would for what is on the disk: a link on the way, a folder, a read-only file */
  readonly checkWritable: (path: string) => Promise<void>
  /** The folders on the way to a file that do not exist, the outermost first. Relative to the root. */
  readonly missingFolders: (path: string) => Promise<readonly string[]>
  /** Removes a folder if it is empty. */
  readonly removeEmptyFolder: (path: string) => Promise<void>
  /** @throws as `writeFile` */
  readonly removeFile: (path: string, options?: { readonly ifSha256?: string | undefined }) => Promise<void>
}
