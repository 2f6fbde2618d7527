import { realpath } from 'node:fs/promises'
import { parse, sep } from 'node:path'
import { denied } from '../tool-error.ts'
import type { OwnPlaces } from './own-places.ts'

interface RootRules {
  /** Returns the user's home folder. May throw. */
  readonly homeDir: () => string
  readonly ownPlaces: OwnPlaces
  /** `allow-home` of the workspace. */
  readonly allowsHome: boolean
}

/**
 * Refuses a workspace that would give tools far more than a project: the home folder, a folder around it or around this
 * program's own folders. Its own folders are refused even with `allow-home`.
 * @param root a real path
 * @throws ToolError `denied`
 */
export async function checkRoot(root: string, { homeDir, ownPlaces, allowsHome }: RootRules): Promise<void> {
  const places = await ownPlaces.find()
  if (places.covers(root)) {
    throw denied(`${root} cannot be a workspace: it belongs to copilot-proxy, with its configuration, logins or data.`)
  }
  const reason = allowsHome ? undefined : wideness(root, await realHome(homeDir), places.folders)
  if (reason === undefined) return
  throw denied(
    `${root} ${reason}, so it is not opened as a workspace. Use the folder of a project, e.g. with --workspace ~/code/app. ` +
      `To open it nevertheless, add { path: ${JSON.stringify(root)}, allow-home: true } to workspaces in the configuration.`,
  )
}

function wideness(root: string, home: string | undefined, ownFolders: readonly string[]): string | undefined {
  if (root === home) return 'is your home folder'
  if (root === parse(root).root) return 'is the root of the file system'
  if (home !== undefined && isAround(root, home)) return 'contains your home folder'
  const own = ownFolders.find((folder) => isAround(root, folder))
  return own && `contains ${own}, a folder of copilot-proxy itself`
}

function isAround(root: string, path: string): boolean {
  return path.startsWith(root.endsWith(sep) ? root : root + sep)
}

/** The real path of the home folder; undefined if there is none. */
export async function realHome(homeDir: () => string): Promise<string | undefined> {
  try {
    return await realpath(homeDir())
  } catch {
    return undefined
  }
}
