import { posix, win32 } from 'node:path'
import type { PlatformPath } from 'node:path'
import type { Environment } from './environment.ts'

export interface Paths {
  readonly configFile: string
  /** Account records, below `dataDir`. */
  readonly authDir: string
  readonly dataDir: string
}

/** The environment does not determine where files belong. The message names the variable to set. */
export class PathsError extends Error {
  override readonly name = 'PathsError'
}

/**
 * Absolute paths: a login must not depend on the working directory. `COPILOT_PROXY_HOME` puts everything into one folder;
 * otherwise the XDG base directories apply, whose relative values are ignored (XDG Base Directory Specification 0.8).
 * Creates nothing.
 * @param home returns the user's folder; called only if needed
 * @throws PathsError for a relative `COPILOT_PROXY_HOME`, or if a home is needed and missing
 */
export function resolvePaths(
  env: Environment,
  home: () => string | undefined,
  platform: NodeJS.Platform = 'linux',
): Paths {
  const path = platform === 'win32' ? win32 : posix
  const ownHome = ownHomeIn(env, path)
  if (ownHome !== undefined) {
    return { configFile: path.join(ownHome, 'config.yaml'), authDir: path.join(ownHome, 'auth'), dataDir: ownHome }
  }
  const dataDir = baseFolder(env['XDG_DATA_HOME'], ['.local', 'share'], home, path)
  return {
    configFile: path.join(baseFolder(env['XDG_CONFIG_HOME'], ['.config'], home, path), 'config.yaml'),
    authDir: path.join(dataDir, 'auth'),
    dataDir,
  }
}

/**
 * The folder for the log and the state of a background daemon. Not part of `resolvePaths`, so that only its users need a home.
 * @throws as `resolvePaths`
 */
export function resolveStateDir(
  env: Environment,
  home: () => string | undefined,
  platform: NodeJS.Platform = 'linux',
): string {
  const path = platform === 'win32' ? win32 : posix
  const ownHome = ownHomeIn(env, path)
  if (ownHome !== undefined) return path.join(ownHome, 'state')
  return baseFolder(env['XDG_STATE_HOME'], ['.local', 'state'], home, path)
}

/**
 * The folder of this program's compiled code, which bin/copilot-proxy.cjs chooses.
 * @throws as `resolvePaths`
 */
function resolveCacheDir(env: Environment, home: () => string | undefined, platform: NodeJS.Platform): string {
  const path = platform === 'win32' ? win32 : posix
  const ownHome = ownHomeIn(env, path)
  if (ownHome !== undefined) return path.join(ownHome, 'cache')
  return baseFolder(env['XDG_CACHE_HOME'], ['.cache'], home, path)
}

/** Where tool providers look for the token of the gateway. @throws what `home` throws */
export function resolveTokenDir(env: Environment, home: () => string, platform: NodeJS.Platform = 'linux'): string {
  const path = platform === 'win32' ? win32 : posix
  const given = env['COPILOT_HOME']
  const folder = given !== undefined && path.isAbsolute(given) ? given : path.join(home(), '.copilot')
  return path.join(folder, 'extensions', 'tap')
}

/** Absolute paths that belong to this program or hold its logins. They may not exist. */
export interface OwnPaths {
  readonly folders: readonly string[]
  /** Files outside these folders. */
  readonly files: readonly string[]
}

/**
 * The folders of configuration, data, state and cache, and the folder of the gateway's token. Also those that would apply
 * without `COPILOT_PROXY_HOME`: another daemon of this user may use them. Omits what needs a home if there is none.
 */
export function resolveOwnFolders(
  env: Environment,
  home: () => string,
  platform: NodeJS.Platform = 'linux',
): readonly string[] {
  const path = platform === 'win32' ? win32 : posix
  const withoutOwnHome = { ...env, COPILOT_PROXY_HOME: undefined }
  const folders = [env, withoutOwnHome].flatMap((each) => [
    () => path.dirname(resolvePaths(each, home, platform).configFile),
    () => resolvePaths(each, home, platform).dataDir,
    () => resolveStateDir(each, home, platform),
    () => resolveCacheDir(each, home, platform),
  ])
  const found = [...folders, () => resolveTokenDir(env, home, platform)].flatMap((find) => {
    try {
      return [find()]
    } catch {
      return []
    }
  })
  return [...new Set(found)]
}

function ownHomeIn(env: Environment, path: PlatformPath): string | undefined {
  const ownHome = env['COPILOT_PROXY_HOME']
  if (ownHome === undefined || ownHome === '') return undefined
  if (path.isAbsolute(ownHome)) return ownHome
  throw new PathsError('COPILOT_PROXY_HOME must be an absolute path.')
}

function baseFolder(
  value: string | undefined,
  fallback: readonly string[],
  home: () => string | undefined,
  path: PlatformPath,
): string {
  if (value !== undefined && path.isAbsolute(value)) return path.join(value, 'copilot-proxy')
  const userHome = home()
  // `HOME=` is empty.
  if (userHome !== undefined && path.isAbsolute(userHome)) return path.join(userHome, ...fallback, 'copilot-proxy')
  throw new PathsError('You have no home folder. Set HOME or COPILOT_PROXY_HOME to an absolute path.')
}
