import { randomBytes } from 'node:crypto'
import { pollForToken, startDeviceFlow } from '../auth/device-flow.ts'
import type { DeviceFlowOptions } from '../auth/device-flow.ts'
import { runWebFlow } from '../auth/web-flow.ts'
import type { Config } from '../config/schema.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import { githubTimeoutMs } from './account.ts'
import { showCode } from './login/show-code.ts'
import { loginFailed, loginInterrupted } from './login-failure.ts'
import { openBrowser } from './open-browser.ts'

/** How long a person has to finish the browser login. Ms. */
const webWaitMs = 10 * 60_000
/** Tokens have some forty characters; a stream that goes on and on is not one. */
const maxTokenLineLength = 4096

/**
 * Shows a code to type at GitHub and waits until the person has done so.
 * @returns the GitHub token
 * @throws CommandFailure `failed`, `interrupted`
 */
export async function askWithCode(
  context: CommandContext,
  options: DeviceFlowOptions,
  mayOpenBrowser: boolean,
): Promise<string> {
  const { fetch, now, sleep, signal } = context
  const deps = { fetch, now, sleep, timeoutMs: githubTimeoutMs }
  const started = await startDeviceFlow(deps, options, signal)
  if (started.kind === 'aborted') throw loginInterrupted()
  if (started.kind === 'failed') throw loginFailed(`The login could not start. ${started.detail}.`)

  const { code } = started
  context.secrets.note(code.deviceCode)
  const stopWaiting = await showCode(context, code, { issuer: 'GitHub', mayOpenBrowser })
  const answer = await pollForToken(deps, options, code, signal).finally(stopWaiting)
  switch (answer.kind) {
    case 'authorized':
      return answer.githubToken
    case 'expired':
      throw loginFailed('The code has expired. Run copilot-proxy login again for a new one.')
    case 'denied':
      throw loginFailed('The login was cancelled at GitHub.')
    case 'failed':
      throw loginFailed(`The login failed. ${answer.detail}.`)
    case 'aborted':
      throw loginInterrupted()
  }
}

/**
 * Sends the person to GitHub in a browser on this machine and waits for the way back.
 * @returns the GitHub token
 * @throws CommandFailure `failed`, `interrupted`
 */
export async function askInBrowser(
  context: CommandContext,
  oauth: Config['copilotOauth'],
  mayOpenBrowser: boolean,
): Promise<string> {
  const { fetch, signal, stdout } = context
  const onUrl = (url: string): void => {
    const opened = mayOpenBrowser && openBrowser(url, context)
    stdout.write(
      `${opened ? 'Your browser should show this address now; if it does not, open it yourself' : 'Open this address in a browser on this machine'}:\n\n  ${url}\n\n`,
    )
    stdout.write('Waiting for GitHub. Ctrl-C stops the login.\n')
  }
  const { authUrl, tokenUrl, clientId, scope, redirectPort } = oauth
  const answer = await runWebFlow(
    { fetch, timeoutMs: githubTimeoutMs, randomBytes, onUrl },
    { authUrl, tokenUrl, clientId, scope, redirectPort, waitMs: webWaitMs },
    signal,
  )
  switch (answer.kind) {
    case 'authorized':
      return answer.githubToken
    case 'denied':
      throw loginFailed('The login was cancelled at GitHub.')
    case 'timed_out':
      throw loginFailed('Nobody finished the login in the browser within 10 minutes.')
    case 'port_taken':
      throw loginFailed(
        `Port ${answer.port}, which GitHub would send the browser back to, is in use (copilot-oauth.redirect-port).`,
      )
    case 'failed':
      throw loginFailed(`The login failed. ${answer.detail}.`)
    case 'aborted':
      throw loginInterrupted()
  }
}

/**
 * Reads the first line of standard input that is not empty. From there and not from the command line, which every user of the machine can see.
 * @throws CommandFailure `usage` when it is not a token that could work, `interrupted`
 */
export async function readToken({ stdin, signal }: CommandContext): Promise<string> {
  const token = (await firstLine(stdin, signal)).trim()
  if (token === '') throw new CommandFailure(exitCode.usage, 'Standard input held no token.')
  if (!/^[\x21-\x7E]+$/.test(token) || token.length > maxTokenLineLength) {
    throw new CommandFailure(exitCode.usage, 'What came on standard input is not a token: one line, no spaces.')
  }
  if (token.startsWith('ghp_')) {
    throw new CommandFailure(
      exitCode.usage,
      'That is a classic personal access token, which GitHub does not accept for Copilot. A fine-grained one (github_pat_…) with the permission Copilot Requests works; or log in with a code: copilot-proxy login',
    )
  }
  return token
}

async function firstLine(stdin: CommandContext['stdin'], signal: AbortSignal): Promise<string> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(loginInterrupted())
  signal.addEventListener('abort', onAbort, { once: true })
  // The input cannot be told to give up waiting, so an interrupt leaves it behind; the process ends right after.
  const line = readLine(stdin)
  line.catch(() => {})
  try {
    return await Promise.race([line, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

async function readLine(stdin: CommandContext['stdin']): Promise<string> {
  let text = ''
  for await (const chunk of stdin) {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    // Empty lines ahead of the token, as a here-document or a careless copy has them.
    text = text.trimStart()
    const end = text.indexOf('\n')
    if (end !== -1) return text.slice(0, end)
    if (text.length > maxTokenLineLength) return text
  }
  return text
}
