export interface PathRoot {
  /** Absolute paths of the root: its real path, and the path that opened it. */
  readonly roots: readonly string[]
  readonly platform: NodeJS.Platform
}

export type NormalPath =
  | { readonly ok: true; readonly path: string }
  /** `reason` continues a sentence that begins with "The path … ". */
  | { readonly ok: false; readonly reason: string }

/** PATH_MAX of Linux. */
const maxPathLength = 4096

/** Names in the built-in rules of a policy. Another spelling could bypass those rules and reach the same file. */
const protectedNames = new Set(['.git', 'node_modules', '.agent-policy.yaml'])

/** Characters that break log lines. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const controlCharacter = /[\0-\x1f\x7f-\x9f\u2028\u2029]/

/**
 * Characters that HFS+ ignores in names (git's `next_hfs_char`). Joiners are among them, which belong to names in Persian or with
 * emoji, and marks that reorder a text.
 */
// oxlint-disable-next-line no-misleading-character-class -- joiners are what it looks for
const hiddenCharacter = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** `%2e` `%2f` `%5c` `%00`: a program that decodes such a name gets another path. */
const encodedSeparator = /%(?:2e|2f|5c|00)/i

/** `PROGRA~1`, `GIT~1.TXT`: NTFS creates such short names for files with longer ones. */
const shortName = /^[^.~]{1,6}~\d{1,6}(?:\.[^.]{1,3})?$/

/** Windows opens a device for these names, whatever follows the first dot. */
const deviceName = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?$/i

/**
 * Returns the normal form of a path: relative to the root, with `/`, '' for the root itself. Refuses paths outside the root, and
 * names that some file system treats as another one. Does not access the disk. `existingPath` decides about Unicode forms and
 * hidden characters, because a name with them is right if it exists.
 */
export function normalPath(path: string, { roots, platform }: PathRoot): NormalPath {
  if (path.length > maxPathLength) return refused(`is longer than ${maxPathLength} characters`)
  if (!path.isWellFormed()) return refused('is not valid Unicode')
  if (controlCharacter.test(path)) return refused('contains a control character')
  if (path.includes('\\')) return refused('contains a backslash. Separate folders with /')
  const relative = belowRoot(path, roots, platform)
  if (relative === undefined) return refused('is outside the workspace')

  const segments: string[] = []
  for (const segment of relative.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') {
      if (segments.pop() === undefined) return refused('is outside the workspace')
      continue
    }
    const reason = refuseName(segment, platform)
    if (reason !== undefined) return refused(reason)
    segments.push(segment)
  }
  // `~$report.docx` is a lock file of Word and not a home directory.
  if (/^~(?!\$)/.test(segments[0] ?? '')) return refused('starts with ~. Use a path relative to the workspace')
  if (/^[a-z]:/i.test(segments[0] ?? '')) return refused('starts with a drive letter')
  return { ok: true, path: segments.join('/') }
}

/** Returns the part of an absolute path below a root, a relative path unchanged, or undefined outside the roots. */
function belowRoot(path: string, roots: readonly string[], platform: NodeJS.Platform): string | undefined {
  const hasDrive = /^[a-z]:/i.test(path)
  if (!path.startsWith('/') && !hasDrive) return path
  // Windows ignores case. A drive without a slash means the drive's current folder.
  const fold = (text: string): string => (platform === 'win32' ? text.replaceAll('\\', '/').toLowerCase() : text)
  const folded = fold(path)
  for (const root of roots) {
    const prefix = fold(root).replace(/\/+$/, '')
    if (folded === prefix || folded.startsWith(`${prefix}/`)) return path.slice(prefix.length)
  }
  return undefined
}

function refuseName(given: string, platform: NodeJS.Platform): string | undefined {
  const name = given.replaceAll(hiddenCharacter, '')
  if (name === '' || name === '.' || name === '..') return 'has a name of invisible characters'
  if (encodedSeparator.test(name)) return 'contains a percent-encoded dot or separator'
  if (/[. ]$/.test(name)) return 'has a name that ends with a dot or a space'
  // On NTFS, `name:stream` and `name::$INDEX_ALLOCATION` are the file `name`. Elsewhere, a colon is an ordinary character.
  if (platform === 'win32' ? name.includes(':') : /::|:\$/.test(name)) return 'names a stream of a file'
  if (shortName.test(name)) return 'has a name in the short form of Windows'
  if (platform === 'win32' && /[<>"|?*]/.test(name)) return 'has a character that Windows does not allow'
  if (platform === 'win32' && deviceName.test(name)) return 'names a device'
  const folded = foldCase(name)
  if (folded !== given && protectedNames.has(folded)) return `is another spelling of ${folded}`
  return undefined
}

export function hasHiddenCharacter(name: string): boolean {
  return name.search(hiddenCharacter) !== -1
}

/** Converts to upper case first, which also folds letters such as the long s, whose lower case is itself. */
export function foldCase(name: string): string {
  return name.normalize('NFKC').toUpperCase().toLowerCase()
}

/**
 * Returns the target of a link relative to the root, or undefined if it is outside. No segment of `folder` is a link, so `..`
 * means its parent.
 */
export function linkTarget(folder: readonly string[], target: string, roots: readonly string[]): string | undefined {
  const below = target.startsWith('/') ? belowRoot(target, roots, 'linux') : target
  if (below === undefined) return undefined
  const segments = target.startsWith('/') ? [] : [...folder]
  for (const segment of below.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') segments.push(segment)
    else if (segments.pop() === undefined) return undefined
  }
  return segments.join('/')
}

function refused(reason: string): NormalPath {
  return { ok: false, reason }
}
