import { posix, win32 } from 'node:path'
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
  const ownHome = env['COPILOT_PROXY_HOME']
  if (ownHome !== undefined && ownHome !== '') {
    if (!path.isAbsolute(ownHome)) {
      throw new PathsError('COPILOT_PROXY_HOME must be an absolute path, one that does not depend on where you are.')
    }
    return { configFile: path.join(ownHome, 'config.yaml'), authDir: path.join(ownHome, 'auth'), dataDir: ownHome }
  }
  const inHome = (...names: readonly string[]) => {
    const userHome = home()
    // `HOME=` makes it empty.
    if (userHome !== undefined && path.isAbsolute(userHome)) return path.join(userHome, ...names)
    throw new PathsError('This user has no home folder: set HOME, or COPILOT_PROXY_HOME, to an absolute path.')
  }
  const base = (value: string | undefined, ...fallback: readonly string[]) =>
    path.join(value !== undefined && path.isAbsolute(value) ? value : inHome(...fallback), 'copilot-proxy')
  const dataDir = base(env['XDG_DATA_HOME'], '.local', 'share')
  return {
    configFile: path.join(base(env['XDG_CONFIG_HOME'], '.config'), 'config.yaml'),
    authDir: path.join(dataDir, 'auth'),
    dataDir,
  }
}
