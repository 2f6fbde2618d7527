import { randomBytes } from 'node:crypto'
import { runCodexBrowserLogin } from '../auth/codex/browser-login.ts'
import { finishCodexDeviceLogin, startCodexDeviceLogin } from '../auth/codex/device-login.ts'
import type { LoginTokens } from '../auth/codex/token-endpoint.ts'
import type { Config } from '../config/schema.ts'
import type { CommandContext } from './context.ts'
import { loginFailed, loginInterrupted } from './login-failure.ts'
import { showCode } from './login/show-code.ts'
import { browserCommand, openBrowser } from './open-browser.ts'

/** For one exchange with OpenAI, headers and body. Ms. */
const timeoutMs = 30_000
/** How long a person has to finish the browser login. Ms. */
const browserWaitMs = 10 * 60_000

const withCode = 'copilot-proxy login codex --device'

/**
 * Sends the person to ChatGPT in a browser on this machine and waits for the way back.
 * @param ports on this machine that OpenAI may send the browser back to
 * @throws CommandFailure `failed`, `interrupted`
 */
export async function askCodexInBrowser(
  context: CommandContext,
  { issuer, clientId, originator }: Config['codex'],
  { mayOpenBrowser, ports }: { readonly mayOpenBrowser: boolean; readonly ports: readonly number[] },
): Promise<LoginTokens> {
  const { fetch, signal, stdout } = context
  const onUrl = (url: string): void => {
    const opened = mayOpenBrowser && openBrowser(url, context)
    stdout.write(
      `${opened ? 'Your browser should show this address now; if it does not, open it yourself' : 'Open this address in a browser on this machine'}:\n\n  ${url}\n\n`,
    )
    if (browserCommand(context) === undefined) {
      stdout.write(`No browser on this machine, or connected over SSH? Log in with a code instead: ${withCode}\n`)
    }
    stdout.write('Waiting for OpenAI. Ctrl-C stops the login.\n')
  }
  const answer = await runCodexBrowserLogin(
    { fetch, timeoutMs, randomBytes, onUrl },
    { issuer, clientId, originator, ports, waitMs: browserWaitMs },
    signal,
  )
  switch (answer.kind) {
    case 'authorized':
      return answer.tokens
    case 'denied':
      throw loginFailed(
        answer.detail === '' ? 'The login was cancelled at OpenAI.' : `OpenAI refused the login: ${answer.detail}.`,
      )
    case 'timed_out':
      throw loginFailed('Nobody finished the login in the browser within 10 minutes.')
    case 'ports_taken':
      throw loginFailed(
        `${ports.length === 1 ? 'Port' : 'Ports'} ${ports.join(' and ')}, the only ones that OpenAI sends the browser ` +
          `back to, are in use, perhaps by another login. End that one, or log in with a code: ${withCode}`,
        '\n',
      )
    case 'failed':
      throw loginFailed(`The login failed. ${answer.detail}.`)
    case 'aborted':
      throw loginInterrupted()
  }
}

/**
 * Shows a code to type at OpenAI and waits until the person has done so.
 * @throws CommandFailure `failed`, `interrupted`
 */
export async function askCodexWithCode(
  context: CommandContext,
  { issuer, clientId }: Config['codex'],
  { mayOpenBrowser }: { readonly mayOpenBrowser: boolean },
): Promise<LoginTokens> {
  const { fetch, now, sleep, signal } = context
  const deps = { fetch, now, sleep, timeoutMs }
  const started = await startCodexDeviceLogin(deps, { issuer, clientId }, signal)
  switch (started.kind) {
    case 'started':
      break
    case 'not_offered':
      throw loginFailed(
        `${new URL(issuer).host} offers no login with a code, or the workspace does not allow it. ` +
          'On a machine with a browser: copilot-proxy login codex',
        '\n',
      )
    case 'failed':
      throw loginFailed(`The login could not start. ${started.detail}.`)
    case 'aborted':
      throw loginInterrupted()
  }

  const { code } = started
  context.secrets.note(code.deviceAuthId)
  const caution = 'Such codes are used for phishing: only enter one that you asked for yourself, and give it to nobody.'
  const stopWaiting = await showCode(context, code, { issuer: 'OpenAI', mayOpenBrowser, caution })
  const answer = await finishCodexDeviceLogin(deps, { issuer, clientId }, code, signal).finally(stopWaiting)
  switch (answer.kind) {
    case 'authorized':
      return answer.tokens
    case 'expired':
      throw loginFailed(
        `The code has expired.${answer.detail === '' ? '' : ` ${answer.detail}.`} For a new one: ${withCode}`,
        '\n',
      )
    case 'failed':
      throw loginFailed(`The login failed. ${answer.detail}.`)
    case 'aborted':
      throw loginInterrupted()
  }
}
