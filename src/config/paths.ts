import { posix, win32 } from 'node:path'
import type { Environment } from './environment.ts'

export interface Paths {
  readonly configFile: string
  /** Account records; a folder below `dataDir`. */
  readonly authDir: string
  readonly dataDir: string
}

/**
 * Where files live. `COPILOT_PROXY_HOME` puts everything into one folder; otherwise the XDG base directories apply, in
 * which a relative path is to be ignored (XDG Base Directory Specification 0.8). Creates nothing.
 */
export function resolvePaths(env: Environment, homedir: string, platform: NodeJS.Platform = 'linux'): Paths {
  const path = platform === 'win32' ? win32 : posix
  const home = env['COPILOT_PROXY_HOME']
  if (home !== undefined && home !== '') {
    return { configFile: path.join(home, 'config.yaml'), authDir: path.join(home, 'auth'), dataDir: home }
  }
  const base = (value: string | undefined, ...fallback: readonly string[]) =>
    path.join(value !== undefined && path.isAbsolute(value) ? value : path.join(homedir, ...fallback), 'copilot-proxy')
  const dataDir = base(env['XDG_DATA_HOME'], '.local', 'share')
  return {
    configFile: path.join(base(env['XDG_CONFIG_HOME'], '.config'), 'config.yaml'),
    authDir: path.join(dataDir, 'auth'),
    dataDir,
  }
}
