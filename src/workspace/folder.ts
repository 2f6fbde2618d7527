/** The bytes of a file with their hash, and the file's size and mode. */
export interface FileContent {
  readonly bytes: Buffer
  /** SHA-256 of the whole file in lower-case hex. */
  readonly sha256: string
  /** Size of the whole file. Bytes. */
  readonly size: number
  /** Permission bits, e.g. 0o644. */
  readonly mode: number
}

/**
 * A workspace's folder on disk. Its functions accept paths with `/` that are relative to the root, or absolute inside it. They
 * never read or write outside the root: not through `..`, prefixes, links, races, or names that a file system treats as equal.
 * Reading follows links that stay inside the root. Writing and removing follow no link, because the policy applies to paths.
 */
export interface Folder {
  /** The root's real path. */
  readonly root: string
  /**
   * Returns the normal form of a path: relative to the root, with `/`, '' for the root itself. Does not access the disk.
   * @throws ToolError `denied` for a path outside the root, or a name that some file system treats as another one
   */
  readonly relativePath: (path: string) => string
  /** @throws ToolError `denied`; `failed` if the file is missing, not regular or unreadable; `too_large` */
  readonly readFile: (
    path: string,
    limits: { readonly maxBytes: number; readonly signal?: AbortSignal },
  ) => Promise<FileContent>
  /** Reads a file like `readFile`. Returns the first `maxBytes` of a larger file, without a hash. */
  readonly readStart: (
    path: string,
    limits: { readonly maxBytes: number; readonly signal?: AbortSignal },
  ) => Promise<Omit<FileContent, 'sha256'> & { readonly sha256: string | undefined }>
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
