import { realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import type { Config } from '../../config/schema.ts'
import type { Folder } from '../../workspace/folder.ts'
import { openFolder } from '../../workspace/open-folder.ts'
import { checkRoot } from '../../workspace/policy/check-root.ts'
import { createOwnPlaces } from '../../workspace/policy/own-places.ts'
import { ToolError } from '../../workspace/tool-error.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import { findOwnPaths, homeOf, type LoadedSettings } from './settings.ts'

export type Workspace = Config['workspaces'][number]

/**
 * Returns the configured workspace that holds a folder, or else the folder without further settings. Of several, returns the
 * innermost.
 */
export async function findWorkspace(context: CommandContext, { workspaces }: Config, path: string): Promise<Workspace> {
  // A folder that does not exist belongs to no workspace, so that the caller reports it.
  const isFolder = await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  if (!isFolder) return { path }
  const roots = await Promise.all(workspaces.map(({ path: root }) => realPathOf(inHome(context, root))))
  const root = innermost(roots, await realPathOf(path))
  return workspaces.find((_, index) => roots[index] === root) ?? { path }
}

/** Returns the longest of some folders that is a folder or holds it. All are real paths. */
export function innermost(roots: readonly string[], path: string): string | undefined {
  return roots
    .filter((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep))
    .toSorted((one, other) => other.length - one.length)[0]
}

/**
 * Opens the folder of a workspace as the daemon does.
 * @throws CommandFailure `failed` with the reason why it cannot be a workspace
 */
export async function openWorkspaceFolder(
  context: CommandContext,
  { configFile }: Pick<LoadedSettings, 'configFile'>,
  { path, 'allow-home': allowsHome = false }: Workspace,
): Promise<Folder> {
  const ownPlaces = createOwnPlaces(findOwnPaths(context, configFile))
  try {
    const folder = await openFolder(inHome(context, path), { ownPlaces })
    await checkRoot(folder.root, { homeDir: () => homeOf(context), ownPlaces, allowsHome })
    return folder
  } catch (cause) {
    if (cause instanceof ToolError) throw new CommandFailure(exitCode.failed, cause.message, { cause })
    throw cause
  }
}

/** Replaces `~` at the start of a path. */
export function inHome(context: CommandContext, path: string): string {
  return path.replace(/^~(?=$|[/\\])/, () => homeOf(context))
}

/** The path itself if it does not exist. */
export async function realPathOf(path: string): Promise<string> {
  return await realpath(path).catch(() => path)
}
