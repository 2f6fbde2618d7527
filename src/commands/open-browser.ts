import { spawn } from 'node:child_process'

export interface BrowserEnvironment {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What the tools of a desktop need; everything else, tokens among it, stays out of the child. */
const passedVariables = [
  'BROWSER',
  'DBUS_SESSION_BUS_ADDRESS',
  'DISPLAY',
  'HOME',
  'LANG',
  'PATH',
  'SystemRoot',
  'USERPROFILE',
  'WAYLAND_DISPLAY',
  'WSL_INTEROP',
  'XAUTHORITY',
  'XDG_CURRENT_DESKTOP',
  'XDG_DATA_DIRS',
  'XDG_RUNTIME_DIR',
]

/** The environment for a tool of the desktop. */
export function desktopVariables(env: BrowserEnvironment['env']): Record<string, string | undefined> {
  return Object.fromEntries(passedVariables.map((name) => [name, env[name]]))
}

/** Whoever sees this terminal sits at another machine. */
export function isRemote(env: BrowserEnvironment['env']): boolean {
  return Boolean(env['SSH_CONNECTION'] || env['SSH_TTY'])
}

/**
 * The command that opens a web address on this machine's own screen, or undefined where there is none: over SSH the
 * browser would open on the wrong desk, and a Linux session without a display has nothing to open it in.
 */
export function browserCommand({ platform, env }: BrowserEnvironment): readonly [string, ...string[]] | undefined {
  if (isRemote(env)) return undefined
  if (platform === 'darwin') return ['open']
  // Not `cmd /c start`: it would interpret `&` in the address.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? ['xdg-open'] : undefined
}

/**
 * Opens the address, if there is a browser to open it in. Never waits, never fails: the caller has printed the address.
 * @returns whether an opener was started
 */
export function openBrowser(url: string, environment: BrowserEnvironment): boolean {
  const command = browserCommand(environment)
  // Only web addresses: an opener also starts programs for other schemes and for files.
  if (command === undefined || !/^https?:$/.test(new URL(url).protocol)) return false
  const [file, ...args] = command
  const env = desktopVariables(environment.env)
  const child = spawn(file, [...args, url], { detached: true, stdio: 'ignore', env })
  child.on('error', () => {})
  child.unref()
  // There is none where the opener does not exist.
  return child.pid !== undefined
}
