import { lstat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The ignore files that ripgrep reads, from the weakest to the strongest. */
const names = ['.gitignore', '.ignore', '.rgignore'] as const

/** What makes ripgrep read the ignore files of one repository, although it reads those of all folders above. */
export interface OuterIgnoreFiles {
  readonly args: readonly string[]
  /** Absolute paths of those that hold above the root. In the sandbox, they are missing unless they are mounted. */
  readonly above: readonly string[]
}

/** ripgrep uses `.gitignore` also outside of git repositories. */
const anywhere = '--no-require-git'

/**
 * Finds the ignore files of the folders above a search. Those above the root hold only inside the repository of the root, as in git.
 * @param base the folder of the search, relative to the root
 * @param isEnclosed whether ripgrep sees nothing above the root but `above`
 */
export async function outerIgnoreFiles(root: string, base: string, isEnclosed: boolean): Promise<OuterIgnoreFiles> {
  const folders = foldersFrom(root)
  const isRepository = await Promise.all(folders.map((folder) => exists(join(folder, '.git'))))
  const top = Math.max(isRepository.indexOf(true), 0)
  const inside = folders.slice(1, top + 1)
  const [above, foreign] = await Promise.all([filesIn(inside), filesIn(folders.slice(top + 1))])
  if (isEnclosed || foreign.length === 0) return { args: [anywhere], above }
  // Passed in this way, patterns with a slash are relative to the root. So those of other folders do not hold.
  const own = await filesIn([...inside.toReversed(), ...foldersTo(root, base)])
  if (top === 0) return { args: [anywhere, '--no-ignore-parent', ...passed(base === '' ? [] : own)], above }
  // Without the option, ripgrep stops at the repository, but for its own kinds of ignore files.
  if (foreign.every(isOfGit)) return { args: [], above }
  return { args: ['--no-ignore-dot', ...passed(own.filter((file) => !isOfGit(file)))], above }
}

function passed(files: readonly string[]): readonly string[] {
  return files.map((file) => `--ignore-file=${file}`)
}

function isOfGit(file: string): boolean {
  return file.endsWith('.gitignore')
}

/** Returns a folder and all folders above it. */
function foldersFrom(folder: string): readonly string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [folder, ...foldersFrom(parent)]
}

/** Returns the root and the folders between it and `base`, the root first. */
function foldersTo(root: string, base: string): readonly string[] {
  const segments = base.split('/').filter((segment) => segment !== '')
  return [root, ...segments.slice(0, -1).map((_, index) => join(root, ...segments.slice(0, index + 1)))]
}

/** Returns the ignore files of folders, the strongest last if the outermost folder is first. */
async function filesIn(folders: readonly string[]): Promise<readonly string[]> {
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  const found = await Promise.all(paths.map(async (path) => ((await isFile(path)) ? [path] : [])))
  return found.flat()
}

async function isFile(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined)
  return stats?.isFile() === true
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined
}
