import { formatBox, plural } from '../../terminal/format.ts'
import type { Output } from '../../terminal/output.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { openBrowser, copyText } from './desktop.ts'

export interface LoginCode {
  readonly userCode: string
  readonly verificationUri: string
  readonly expiresAtMs: number
}

export interface ShowCodeOptions {
  /** Who answers when the login is complete. */
  readonly issuer: 'GitHub' | 'OpenAI'
  readonly mayOpenBrowser: boolean
  /** A warning about the code. */
  readonly caution?: string
  readonly copy?: typeof copyText
}

/**
 * Shows the address, the code and its expiry. On a terminal the code is framed, and copied to the clipboard before the
 * browser opens.
 * @returns ends the countdown
 */
export async function showCode(
  context: CommandContext,
  { userCode, verificationUri, expiresAtMs }: LoginCode,
  { issuer, mayOpenBrowser, caution, copy = copyText }: ShowCodeOptions,
): Promise<() => void> {
  const { stdout, now, env } = context
  const { bold } = stdout.style
  const shown = stdout.isTerminal ? formatBox(userCode) : `  ${userCode}\n`
  stdout.write(
    `Open this address in a browser, on any device:\n\n  ${bold(verificationUri)}\n\nand enter this code:\n\n${bold(shown)}\n`,
  )
  if (caution !== undefined) stdout.write(`${caution}\n`)
  // Without a terminal, the clipboard may belong to nobody.
  if (stdout.isTerminal && (await copy(userCode, context))) stdout.write('The code is in your clipboard.\n')
  if (mayOpenBrowser && openBrowser(verificationUri, context)) {
    stdout.write('Your browser should open the address now. If not, open it yourself.\n')
  }
  return startCountdown(stdout, {
    endsAtMs: expiresAtMs,
    now,
    terminal: env['TERM'],
    line: (left) => `Waiting for ${issuer}. The code expires in ${left}. Press Ctrl-C to cancel.`,
  })
}

/** Prints the address of a browser login, after opening it where possible. */
export function showAddress(context: CommandContext, url: string, mayOpenBrowser: boolean): void {
  const how =
    mayOpenBrowser && openBrowser(url, context)
      ? 'Your browser should open this address now. If not, open it yourself'
      : 'Open this address in a browser on this machine'
  context.stdout.write(`${how}:\n\n  ${url}\n\n`)
}

export interface CountdownOptions {
  /** Ms since epoch. */
  readonly endsAtMs: number
  /** Ms since epoch. */
  readonly now: () => number
  /** The line for the time left: `14:59` if the line is rewritten, `15 minutes` if it is written once. */
  readonly line: (left: string) => string
  /** `TERM`. */
  readonly terminal: string | undefined
  /** Calls `tick` periodically; returns a function that stops it. */
  readonly every?: (ms: number, tick: () => void) => () => void
}

/**
 * Shows the time left: on a terminal a line that is rewritten every second, elsewhere a single line. Rewriting needs
 * no escape codes, only the carriage return.
 * @returns stops it and erases the line; may be called twice
 */
export function startCountdown(
  output: Pick<Output, 'columns' | 'isTerminal' | 'write'>,
  { endsAtMs, now, line, terminal, every = everyMs }: CountdownOptions,
): () => void {
  const secondsLeft = (): number => Math.max(0, Math.ceil((endsAtMs - now()) / 1000))
  let width = line(clock(secondsLeft())).length
  // A line that wraps cannot be rewritten.
  if (!output.isTerminal || terminal === 'dumb' || width >= output.columns) {
    const minutes = Math.max(1, Math.round(secondsLeft() / 60))
    output.write(`${line(plural(minutes, 'minute'))}\n`)
    return () => {}
  }
  const show = (): void => {
    const text = line(clock(secondsLeft()))
    output.write(`\r${text.padEnd(width)}`)
    width = text.length
  }
  show()
  const stopTicking = every(1000, show)
  let isStopped = false
  return () => {
    if (isStopped) return
    isStopped = true
    stopTicking()
    // The terminal may have echoed ^C after it.
    output.write(`\r${' '.repeat(Math.min(width + 2, output.columns - 1))}\r`)
  }
}

/** `14:59`, `0:07`. */
function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

function everyMs(ms: number, tick: () => void): () => void {
  const timer = setInterval(tick, ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** How long a person has to finish a login in the browser. Ms. */
export const browserWaitMs = 10 * 60_000

const nothingStored = 'Nothing was stored.'

export function loginFailed(sentences: string, separator: ' ' | '\n' = ' '): CommandFailure {
  return new CommandFailure(exitCode.failed, `${sentences}${separator}${nothingStored}`)
}

export function loginInterrupted(): CommandFailure {
  return new CommandFailure(exitCode.interrupted, `Interrupted. ${nothingStored}`)
}

/** The failure for an end that every kind of login has. */
export function loginEnded(
  end: { readonly kind: 'failed'; readonly detail: string } | { readonly kind: 'timed_out' | 'aborted' },
): CommandFailure {
  switch (end.kind) {
    case 'failed':
      return loginFailed(`The login failed. ${end.detail}.`)
    case 'timed_out':
      return loginFailed('The login in the browser was not finished within 10 minutes.')
    case 'aborted':
      return loginInterrupted()
  }
}
