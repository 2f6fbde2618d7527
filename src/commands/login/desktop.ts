import { spawn } from 'node:child_process'

export interface BrowserEnvironment {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Variables that desktop tools need. All others, tokens among them, are withheld. */
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

function desktopVariables(env: BrowserEnvironment['env']): Record<string, string | undefined> {
  return Object.fromEntries(passedVariables.map((name) => [name, env[name]]))
}

/** The person sits at another machine. */
function isRemote(env: BrowserEnvironment['env']): boolean {
  return Boolean(env['SSH_CONNECTION'] || env['SSH_TTY'])
}

/**
 * The command that opens a web address on this machine's screen. Undefined over SSH, where the person sees another
 * screen, and on Linux without a display.
 */
export function browserCommand({ platform, env }: BrowserEnvironment): readonly [string, ...string[]] | undefined {
  if (isRemote(env)) return undefined
  if (platform === 'darwin') return ['open']
  // Not `cmd /c start`: it would interpret `&` in the address.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? ['xdg-open'] : undefined
}

/**
 * Opens the address if a browser is available. Does not wait and does not throw: the caller has printed the address.
 * @returns whether an opener was started
 */
export function openBrowser(url: string, environment: BrowserEnvironment): boolean {
  const command = browserCommand(environment)
  // Only web addresses: openers also start programs for other schemes and for files.
  if (command === undefined || !/^https?:$/.test(new URL(url).protocol)) return false
  const [file, ...args] = command
  const env = desktopVariables(environment.env)
  const child = spawn(file, [...args, url], { detached: true, stdio: 'ignore', env })
  child.on('error', () => {})
  child.unref()
  // The pid is undefined if the opener does not exist.
  return child.pid !== undefined
}

/** The longest delay of a login by clipboard tools that hang, all together. Ms. */
const patienceMs = 1000

type Tool = readonly [file: string, ...args: string[]]

/** Clipboard tools, in the order of trying; none over SSH, where the clipboard is on another machine. */
export function clipboardTools({ platform, env }: BrowserEnvironment): readonly Tool[] {
  if (isRemote(env)) return []
  if (platform === 'darwin') return [['pbcopy']]
  // WSL uses the clipboard of Windows.
  if (platform === 'win32' || env['WSL_INTEROP']) return [['clip.exe']]
  return [
    ...(env['WAYLAND_DISPLAY'] ? [['wl-copy'] as const] : []),
    ...(env['DISPLAY']
      ? ([
          ['xclip', '-selection', 'clipboard'],
          ['xsel', '--clipboard', '--input'],
        ] as const)
      : []),
  ]
}

/**
 * Copies the text, which is passed on standard input: every user of the machine can read a command line.
 * @returns whether a tool reported success; never throws
 */
export async function copyText(
  text: string,
  environment: BrowserEnvironment & { readonly signal: AbortSignal },
  limitMs = patienceMs,
): Promise<boolean> {
  const signal = AbortSignal.any([environment.signal, AbortSignal.timeout(limitMs)])
  for (const tool of clipboardTools(environment)) {
    if (await succeeds(tool, text, environment.env, signal)) return true
  }
  return false
}

function succeeds([file, ...args]: Tool, text: string, env: BrowserEnvironment['env'], signal: AbortSignal) {
  return new Promise<boolean>((resolve) => {
    if (signal.aborted) return resolve(false)
    // Some tools stay alive to serve the clipboard; Ctrl-C must not reach them.
    const child = spawn(file, args, {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: desktopVariables(env),
      windowsHide: true,
    })
    const finish = (ok: boolean): void => {
      signal.removeEventListener('abort', giveUp)
      child.stdin.destroy()
      child.unref()
      resolve(ok)
    }
    const giveUp = (): void => {
      child.kill('SIGKILL')
      finish(false)
    }
    signal.addEventListener('abort', giveUp, { once: true })
    child.once('error', () => finish(false))
    // Not `close`: a tool that stays alive keeps the pipes open.
    child.once('exit', (code) => finish(code === 0))
    // The exit code reports a tool that does not read.
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}
