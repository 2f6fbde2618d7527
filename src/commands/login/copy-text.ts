import { spawn } from 'node:child_process'
import { desktopVariables, isRemote } from '../open-browser.ts'
import type { BrowserEnvironment } from '../open-browser.ts'

/** A login is not held up for longer by a tool that hangs, all of them together. Ms. */
const patienceMs = 1000

type Tool = readonly [file: string, ...args: string[]]

/**
 * What puts text onto the clipboard of the desk somebody sits at, in the order of trying; none over SSH, where it would
 * be the wrong desk.
 */
export function clipboardTools({ platform, env }: BrowserEnvironment): readonly Tool[] {
  if (isRemote(env)) return []
  if (platform === 'darwin') return [['pbcopy']]
  // Under WSL the desk is that of Windows.
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
 * Copies the text where that is possible. It goes through standard input: a command line is for every user to see.
 * @returns whether a tool says that it did; never fails, and never takes long
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
    // Some stay behind to hand the text out; a Ctrl-C at this terminal is not for them.
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
    // Not `close`: what stays behind keeps the pipes.
    child.once('exit', (code) => finish(code === 0))
    // One that does not read is told by how it ends.
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}
