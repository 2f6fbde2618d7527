import { formatBox } from '../../terminal/shapes.ts'
import type { CommandContext } from '../context.ts'
import { openBrowser } from '../open-browser.ts'
import { copyText } from './copy-text.ts'
import { startCountdown } from './countdown.ts'

/** What a person needs for a login with a code. */
export interface LoginCode {
  readonly userCode: string
  readonly verificationUri: string
  readonly expiresAtMs: number
}

export interface ShowCodeOptions {
  /** Whose answer is awaited. */
  readonly issuer: 'GitHub' | 'OpenAI'
  readonly mayOpenBrowser: boolean
  /** A sentence about the code. */
  readonly caution?: string
  readonly copy?: typeof copyText
}

/**
 * Shows where to type which code, and how long it is good for. On a terminal the code is large and copied, so that it
 * is on the clipboard when the browser opens.
 * @returns to be called when the waiting is over
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
    `Open this address in a browser, on any device:\n\n  ${bold(verificationUri)}\n\nand type this code:\n\n${bold(shown)}\n`,
  )
  if (caution !== undefined) stdout.write(`${caution}\n`)
  // Without a person at a terminal it is nobody's clipboard to write to.
  if (stdout.isTerminal && (await copy(userCode, context))) stdout.write('The code is copied to the clipboard.\n')
  if (mayOpenBrowser && openBrowser(verificationUri, context)) {
    stdout.write('Your browser should show the address now; if it does not, open it yourself.\n')
  }
  return startCountdown(stdout, {
    endsAtMs: expiresAtMs,
    now,
    terminal: env['TERM'],
    line: (left) => `Waiting for ${issuer}; the code is good for ${left}. Ctrl-C stops the login.`,
  })
}
