import { posix, win32 } from 'node:path'
import type { PlatformPath } from 'node:path'
import type { Environment } from './environment.ts'

export interface Paths {
  readonly configFile: string
  /** Account records; a folder below `dataDir`. */
  readonly authDir: string
  readonly dataDir: string
}

/** The environment does not say where files belong. The message is a sentence that names what to set. */
export class PathsError extends Error {
  override readonly name = 'PathsError'
}

/**
 * Where files live, all of it absolute: a login must not end up in whatever folder a command happens to run in.
 * `COPILOT_PROXY_HOME` puts everything into one folder; otherwise the XDG base directories apply, in which a relative
 * path is to be ignored (XDG Base Directory Specification 0.8). Creates nothing.
 * @param home the user's folder, asked for only where it is needed; what it throws is passed on
 * @throws PathsError for a relative `COPILOT_PROXY_HOME`, and where a home is needed and there is none
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
 * Where a background daemon keeps its log and what it tells of itself; by the rules of `resolvePaths`, apart from it so
 * that a home is asked for only by those who need this folder.
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

function ownHomeIn(env: Environment, path: PlatformPath): string | undefined {
  const ownHome = env['COPILOT_PROXY_HOME']
  if (ownHome === undefined || ownHome === '') return undefined
  if (path.isAbsolute(ownHome)) return ownHome
  throw new PathsError('COPILOT_PROXY_HOME must be an absolute path, one that does not depend on where you are.')
}

function baseFolder(
  value: string | undefined,
  fallback: readonly string[],
  home: () => string | undefined,
  path: PlatformPath,
): string {
  if (value !== undefined && path.isAbsolute(value)) return path.join(value, 'copilot-proxy')
  const userHome = home()
  // `HOME=` makes it empty.
  if (userHome !== undefined && path.isAbsolute(userHome)) return path.join(userHome, ...fallback, 'copilot-proxy')
  throw new PathsError('This user has no home folder: set HOME, or COPILOT_PROXY_HOME, to an absolute path.')
}
