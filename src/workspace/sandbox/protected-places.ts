import type { Dirent } from 'node:fs'
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { obeyedOf, secretOf } from '../policy/protected-names.ts'
import type { Mount } from './bubblewrap-arguments.ts'

/** Larger workspaces exist. Their folders nearest to the root are searched. */
const maxFolders = 2000

/** Each needs a mount. The kernel makes a thousand in some ten milliseconds. */
const maxPlaces = 300

/** Programs of packages run only with the commands of the workspace, and honest commands write there: caches of test runners. */
const ordinaryFolders: ReadonlySet<string> = new Set(['node_modules', '.venv'])

export interface ProtectedPlaces {
  readonly mounts: readonly Mount[]
  /** The `.git` folders of the workspace, in which git would obey a file `commondir`. */
  readonly gitFolders: readonly string[]
  /** The files and folders that other programs execute or obey. Relative to the root, with `/`. */
  readonly obeyed: ReadonlySet<string>
}

/**
 * Finds the files that other programs execute or obey, the policies, and the parts of git that it executes or obeys. They are
 * read-only in the sandbox, and the folders around them cannot be renamed: a copy in their place would not be read-only.
 * @param hidesSecrets whether secrets are hidden: the workspace is the home folder
 */
export async function findProtectedPlaces(root: string, hidesSecrets: boolean): Promise<ProtectedPlaces> {
  const mounts: Mount[] = []
  const gitFolders: string[] = []
  const obeyed = new Set<string>()

  function protect(...places: readonly Mount[]): void {
    for (const place of places) {
      if (mounts.length < maxPlaces) mounts.push(place, ...pinsBetween(root, place.path))
    }
  }

  async function visit(folder: string, entry: Dirent): Promise<string | undefined> {
    const path = join(folder, entry.name)
    const name = relative(root, path).split(sep).join('/')
    const inside = entry.isDirectory() ? path : undefined
    if (ordinaryFolders.has(entry.name)) return undefined
    if (entry.name === '.git' && entry.isDirectory()) {
      gitFolders.push(path)
      obeyed.add(name)
      protect({ kind: 'write', path }, ...(await gitMounts(path)))
      return undefined
    }
    const isHidden = hidesSecrets && secretOf(name) !== undefined
    if (!isHidden && obeyedOf(name) === undefined) return inside
    if (!isHidden) obeyed.add(name)
    const target = entry.isSymbolicLink() ? await realpath(path).catch(() => root) : path
    if (!target.startsWith(withSlash(root))) return undefined
    const kind = isHidden ? ((await stat(target)).isDirectory() ? 'hidden folder' : 'hidden file') : 'read'
    protect({ kind, path: target })
    return undefined
  }

  let level = [root]
  for (let count = 0; level.length > 0 && count < maxFolders; count += level.length) {
    const visited = await Promise.all(
      level.slice(0, maxFolders - count).map(async (folder) => {
        const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
        return Promise.all(entries.map((entry) => visit(folder, entry)))
      }),
    )
    level = visited.flat().filter((path) => path !== undefined)
  }
  return {
    mounts,
    gitFolders,
    obeyed,
  }
}

/** Returns mounts for the folders between two paths. A mount point cannot be renamed, and its parent can. */
function pinsBetween(root: string, path: string): readonly Mount[] {
  const folder = dirname(path)
  if (folder === root || !folder.startsWith(withSlash(root))) return []
  return [{ kind: 'write', path: folder }, ...pinsBetween(root, folder)]
}

/** In a git folder, git runs or obeys these. `commondir` and `gitdir` exist in the folders of linked worktrees. */
const obeyedByGit = ['config', 'config.worktree', 'hooks', 'commondir', 'gitdir']

/** Deeper submodules of submodules are rare. */
const maxModuleDepth = 3

/** Returns the mounts that make the obeyed parts of a git folder read-only, and those of its submodules and worktrees. */
async function gitMounts(git: string, depth = 0): Promise<readonly Mount[]> {
  const names = new Set(await readdir(git).catch(() => []))
  const own = obeyedByGit
    .filter((name) => names.has(name))
    .map((name): Mount => ({ kind: 'read', path: join(git, name) }))
  // bubblewrap creates this empty folder, in which a command then finds no way to leave a hook.
  if (names.has('config') && !names.has('hooks')) own.push({ kind: 'hidden folder', path: join(git, 'hooks') })
  const inner = ['worktrees', ...(depth < maxModuleDepth ? ['modules'] : [])].filter((name) => names.has(name))
  const within = await Promise.all(
    inner.map(async (name) => {
      const folders = await readdir(join(git, name), { withFileTypes: true }).catch(() => [])
      return Promise.all(
        folders.filter((each) => each.isDirectory()).map((each) => gitMounts(join(git, name, each.name), depth + 1)),
      )
    }),
  )
  return [...own, ...within.flat(2)]
}

/**
 * Returns the mounts for a workspace that is a linked worktree of git: its `.git` is a file, and the history is outside. git
 * itself must confirm it by a file outside of the workspace that points back, because a repository can bring any `.git`.
 */
export async function findWorktreeMounts(root: string): Promise<readonly Mount[]> {
  const link = join(root, '.git')
  try {
    if (!(await lstat(link)).isFile()) return []
    const git = await realpath(resolve(root, await pointerIn(link, 'gitdir: ')))
    const pointsBack = (await realpath(resolve(git, await pointerIn(join(git, 'gitdir'), '')))) === link
    const common = await realpath(resolve(git, await pointerIn(join(git, 'commondir'), '')))
    const isWorktree = dirname(git) === join(common, 'worktrees') && (await stat(join(common, 'objects'))).isDirectory()
    if (!pointsBack || !isWorktree) return []
    const mounts: Mount[] = [{ kind: 'write', path: common }]
    for (const mount of await gitMounts(common)) mounts.push(mount, ...pinsBetween(common, mount.path))
    return mounts
  } catch {
    return []
  }
}

async function pointerIn(file: string, start: string): Promise<string> {
  const text = (await readFile(file, 'utf8')).trimEnd()
  if (!text.startsWith(start) || text.length > 4096) throw new Error('no pointer of git')
  return text.slice(start.length)
}

function withSlash(path: string): string {
  return path.endsWith(sep) ? path : path + sep
}
