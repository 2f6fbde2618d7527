import { errorBody } from '../../api/error.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import { daemonHeaders, findDaemon, findOwnerToken } from './find-daemon.ts'
import type { LoadedSettings } from './settings.ts'

/** A daemon, and the token that makes a command its owner. */
export interface OwnedDaemon {
  readonly url: string
  readonly token: string
}

/** A daemon on a busy machine may take longer than most commands wait. Ms. */
const answerTimeoutMs = 5000

/**
 * The running daemon of this user.
 * @param start the command that starts one
 * @throws CommandFailure `failed` if none runs, or it has another home
 */
export async function findOwnedDaemon(
  context: CommandContext,
  settings: LoadedSettings,
  start: string,
): Promise<OwnedDaemon> {
  const { url, health } = await findDaemon(context, settings, { timeoutMs: answerTimeoutMs })
  if (health === undefined) {
    throw new CommandFailure(exitCode.failed, `copilot-proxy is not running. Run: ${start}`)
  }
  const token = await findOwnerToken(context, settings, url)
  if (token !== undefined) return { url, token }
  const message =
    `${settings.dataDir} has no token of the copilot-proxy at ${url}, which is of another version or uses another ` +
    'COPILOT_PROXY_HOME. Run: copilot-proxy restart'
  throw new CommandFailure(exitCode.failed, message)
}

export type OwnerReply =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly code: string | undefined; readonly message: string }

/**
 * Sends a request to the daemon as its owner.
 * @throws CommandFailure `failed` if the daemon does not answer; the signal's reason on abort
 */
export async function postAsOwner(
  context: CommandContext,
  { url, token }: OwnedDaemon,
  path: string,
  { body, timeoutMs = answerTimeoutMs }: { readonly body?: object; readonly timeoutMs?: number } = {},
): Promise<OwnerReply> {
  const response = await context
    .fetch(url + path, {
      method: 'POST',
      headers: { ...daemonHeaders(context, token), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs)]),
    })
    .catch((cause: unknown) => {
      context.signal.throwIfAborted()
      throw new CommandFailure(exitCode.failed, `copilot-proxy at ${url} does not answer. Run: copilot-proxy restart`, {
        cause,
      })
    })
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok) return { ok: true, body: answer }
  const error = errorBody.safeParse(answer).data?.error
  const message = error?.message ?? `copilot-proxy answered with status ${response.status}.`
  return { ok: false, code: error?.code ?? undefined, message }
}
