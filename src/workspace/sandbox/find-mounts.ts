import { access, constants, lstat, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { execPath } from 'node:process'
import type { FoundPlaces } from '../policy/own-places.ts'
import { rootsSecrets, systemFolders, type Mount } from './bubblewrap-arguments.ts'
import { toolchainPaths } from './toolchains.ts'

interface Surroundings {
  /** The root of the workspace. */
  readonly root: string
  /** The home folder; undefined without one. */
  readonly home: string | undefined
  /** `workspace.sandbox-folders`, absolute. */
  readonly folders: readonly string[]
  /** Programs that must be visible. */
  readonly programs: readonly string[]
  readonly own: FoundPlaces
  readonly isRoot: boolean
}

/** Returns what a command sees besides the system and its workspace, and what is hidden from it. */
export async function findMounts(around: Surroundings): Promise<readonly Mount[]> {
  const { root, home, own, isRoot } = around
  const homeMounts =
    home === undefined || isAt(root, home) || isSystem(home) ? [] : [{ kind: 'private', path: home } as const]
  const readable = await findReadable(around)
  const isWide = home !== undefined && isAt(root, home)
  const sockets = await findSockets(
    (path) => isSystem(path) || readable.some((folder) => isAt(folder, path)) || (isWide && isAt(root, path)),
  )
  const hidden = await Promise.all(
    own.paths.map((path) => hiddenPlace(path, root, own.folders.includes(path), readable)),
  )
  const secrets = isRoot
    ? await Promise.all(rootsSecrets.map(async (mount) => ((await exists(mount.path)) ? [mount] : [])))
    : []
  const closed = await findClosed()
  return [
    ...homeMounts,
    ...(await Promise.all(readable.map(async (path) => ({ kind: 'read', path, from: await realpath(path) }) as const))),
    ...sockets.map((path) => ({ kind: 'hidden file', path }) as const),
    ...hidden.flat(),
    ...secrets.flat(),
    ...closed,
  ]
}

async function isOpenToUs(path: string, isFolder: boolean): Promise<boolean> {
  const wanted = isFolder ? [constants.R_OK, constants.X_OK] : [constants.R_OK]
  const found = await Promise.all(
    wanted.map((mode) =>
      access(path, mode).then(
        () => true,
        () => false,
      ),
    ),
  )
  return found.includes(true)
}

/** Limits of the search in /etc. */
const closedLimits = { depth: 4, folders: 1000, mounts: 100 } as const

let knownClosed: { readonly atMs: number; readonly mounts: Promise<readonly Mount[]> } | undefined

/**
 * Returns what is in /etc and closed to other users, and not to this one: root owns it and reads it without any capability, and a
 * user may read it as a member of a group.
 */
function findClosed(): Promise<readonly Mount[]> {
  if (knownClosed === undefined || performance.now() - knownClosed.atMs > freshMs) {
    knownClosed = { atMs: performance.now(), mounts: searchClosed() }
  }
  return knownClosed.mounts
}

async function searchClosed(): Promise<readonly Mount[]> {
  const mounts: Mount[] = []
  const queue = [{ folder: '/etc', depth: 1 }]
  for (const { folder, depth } of queue) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    const paths = entries.filter((entry) => entry.isFile() || entry.isDirectory()).map(({ name }) => join(folder, name))
    const found = await Promise.all(paths.map((path) => lstat(path).catch(() => undefined)))
    for (const [at, path] of paths.entries()) {
      const stats = found[at]
      if (stats === undefined || mounts.length >= closedLimits.mounts) continue
      const isFolder = stats.isDirectory()
      if ((stats.mode & (isFolder ? 0o005 : 0o004)) === 0) {
        if (!(await isOpenToUs(path, isFolder))) continue
        mounts.push({ kind: isFolder ? 'hidden folder' : 'hidden file', path })
      } else if (isFolder && depth < closedLimits.depth && queue.length < closedLimits.folders) {
        queue.push({ folder: path, depth: depth + 1 })
      }
    }
  }
  return mounts
}

/** Toolchains are sought again after this time. Ms. */
const freshMs = 10_000

const known = new Map<string, { readonly atMs: number; readonly paths: Promise<readonly string[]> }>()

/** Returns the toolchains and folders that exist, also under their real names: the sandbox has no links to them. */
function findFolders(home: string | undefined, folders: readonly string[]): Promise<readonly string[]> {
  const key = JSON.stringify([home, folders])
  const before = known.get(key)
  if (before !== undefined && performance.now() - before.atMs < freshMs) return before.paths
  const toolchains = home === undefined ? [] : toolchainPaths.map((path) => join(home, path))
  const paths = withoutCredentials(toolchains).then((safe) => realPathsOf([...safe, ...folders, ...ownNode()]))
  known.clear()
  known.set(key, { atMs: performance.now(), paths })
  return paths
}

/** What the settings of git look like if a login or a token is in them. */
const gitCredential = /:\/\/[^\s/@"]+@|extraheader|password|token/i

/** Leaves out settings of git with a credential. Commands then have no name for the author of a commit. */
async function withoutCredentials(paths: readonly string[]): Promise<readonly string[]> {
  const kept = await Promise.all(
    paths.map(async (path) => {
      if (!/[/.]git(?:config|\/config)$/.test(path)) return path
      const text = await readFile(path, 'utf8').catch(() => '')
      return gitCredential.test(text) ? [] : path
    }),
  )
  return kept.flat()
}

async function realPathsOf(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const real = await realpath(path).catch(() => undefined)
      return real === undefined ? [] : [real, path]
    }),
  )
  return [...new Set(found.flat())]
}

async function findReadable({ root, home, folders, programs, own }: Surroundings): Promise<readonly string[]> {
  const [shared, started] = await Promise.all([findFolders(home, folders), realPathsOf(programs)])
  // A program of the workspace stays writable. A toolchain stays read-only if the workspace is around it.
  const wanted = [...shared, ...started.filter((path) => !isAt(root, path))].filter(
    (path) => path !== root && !isSystem(path) && path !== '/' && !own.covers(path) && !(home && isAt(path, home)),
  )
  // What is in a readable folder is seen with it. A mount at a link in it would be made at the target of the link.
  return wanted.filter((path) => !wanted.some((folder) => folder !== path && isAt(folder, path)))
}

/** npm and npx are beside the Node.js that runs this program. The single file of copilot-proxy has none. */
function ownNode(): readonly string[] {
  const folder = dirname(execPath)
  return basename(execPath) === 'node' && basename(folder) === 'bin' ? [dirname(folder)] : []
}

/**
 * Returns the mounts that hide a place of this program. A folder that is missing is hidden too if a command could create it, e.g.
 * with a configuration that starts programs.
 */
async function hiddenPlace(
  path: string,
  root: string,
  isFolder: boolean,
  readable: readonly string[],
): Promise<readonly Mount[]> {
  const isBelowRoot = path !== root && isAt(root, path)
  const isSeen = isBelowRoot || isSystem(path) || readable.some((folder) => isAt(folder, path))
  const stats = await stat(path).catch(() => undefined)
  if (!isSeen || (stats === undefined && !(isFolder && isBelowRoot))) return []
  const kind = (stats?.isDirectory() ?? isFolder) ? 'hidden folder' : 'hidden file'
  return [{ kind, path }, ...(isBelowRoot ? pinsBetween(root, path) : [])]
}

/** The sockets that commands would see. Connecting to one needs no writable mount. */
async function findSockets(isSeen: (path: string) => boolean): Promise<readonly string[]> {
  const table = await readFile('/proc/net/unix', 'utf8').catch(() => '')
  const paths = new Set(table.split('\n').map((line) => line.split(/\s+/).slice(7).join(' ')))
  const seen = [...paths].filter((path) => path.startsWith('/') && isSeen(path))
  const there = await Promise.all(seen.map(async (path) => ((await exists(path)) ? [path] : [])))
  return there.flat()
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}

function isSystem(path: string): boolean {
  return systemFolders.some((folder) => isAt(folder, path))
}

/** Whether a path is the folder itself or below it. */
export function isAt(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

/** Returns the folders between two paths. A folder that is a mount point cannot be renamed, so no copy takes its place. */
export function pinsBetween(root: string, path: string): readonly Mount[] {
  const folder = dirname(path)
  return folder === root || !isAt(root, folder) ? [] : [{ kind: 'pin', path: folder }, ...pinsBetween(root, folder)]
}
