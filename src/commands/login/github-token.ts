import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { pollForToken, runWebFlow, startDeviceFlow } from '../../auth/copilot/login.ts'
import type { DeviceFlowOptions } from '../../auth/copilot/login.ts'
import type { Config } from '../../config/schema.ts'
import { githubTimeoutMs } from '../shared/accounts.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { showAddress, showCode, browserWaitMs, loginEnded, loginFailed, loginInterrupted } from './prompts.ts'

/** Bounds the input; tokens have some forty characters. */
const maxTokenLineLength = 4096

/**
 * Shows a code to enter at GitHub and waits for the login.
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
  if (started.kind === 'failed') throw loginFailed(`Could not start the login. ${started.detail}.`)

  const { code } = started
  context.secrets.note(code.deviceCode)
  const stopWaiting = await showCode(context, code, { issuer: 'GitHub', mayOpenBrowser })
  const answer = await pollForToken(deps, options, code, signal).finally(stopWaiting)
  switch (answer.kind) {
    case 'authorized':
      return answer.githubToken
    case 'expired':
      throw loginFailed('The code expired. Get a new one: copilot-proxy login')
    case 'denied':
      throw loginFailed('The login was cancelled at GitHub.')
    default:
      throw loginEnded(answer)
  }
}

/**
 * Sends the person to GitHub in a browser on this machine and waits for the redirect.
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
    showAddress(context, url, mayOpenBrowser)
    stdout.write('Waiting for GitHub. Press Ctrl-C to cancel.\n')
  }
  const { authUrl, tokenUrl, clientId, scope, redirectPort } = oauth
  const answer = await runWebFlow(
    { fetch, timeoutMs: githubTimeoutMs, randomBytes, onUrl },
    { authUrl, tokenUrl, clientId, scope, redirectPort, waitMs: browserWaitMs },
    signal,
  )
  switch (answer.kind) {
    case 'authorized':
      return answer.githubToken
    case 'denied':
      throw loginFailed('The login was cancelled at GitHub.')
    case 'ports_taken':
      throw loginFailed(`Port ${redirectPort} is in use. Set copilot-oauth.redirect-port to a free one.`)
    default:
      throw loginEnded(answer)
  }
}

/**
 * Reads the first non-empty line of standard input; every user of the machine could read a command line.
 * @throws CommandFailure `usage` for text that cannot be a token, `interrupted`
 */
export async function readToken({ stdin, signal }: CommandContext): Promise<string> {
  // A read from stdin cannot be cancelled, so an interrupt abandons it; the process ends right after.
  const interrupted = once(signal, 'abort').then((): never => {
    throw loginInterrupted()
  })
  const token = (await Promise.race([readLine(stdin), interrupted])).trim()
  if (token === '') throw new CommandFailure(exitCode.usage, 'No token on standard input.')
  if (!/^[\x21-\x7E]+$/.test(token) || token.length > maxTokenLineLength) {
    throw new CommandFailure(exitCode.usage, 'Standard input is not a token: expected one line without spaces.')
  }
  if (token.startsWith('ghp_')) {
    throw new CommandFailure(
      exitCode.usage,
      'GitHub does not accept classic personal access tokens (ghp_…) for Copilot. Use a fine-grained one (github_pat_…) with the permission Copilot Requests, or log in with a code: copilot-proxy login',
    )
  }
  return token
}

async function readLine(stdin: CommandContext['stdin']): Promise<string> {
  let text = ''
  for await (const chunk of stdin) {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    // A here-document or a careless copy may begin with empty lines.
    text = text.trimStart()
    const end = text.indexOf('\n')
    if (end !== -1) return text.slice(0, end)
    if (text.length > maxTokenLineLength) return text
  }
  return text
}
