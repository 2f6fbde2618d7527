import type { z } from 'zod'
import { CommandFailure, exitCode, otherVersion } from './command.ts'
import type { CommandContext } from './command.ts'
import { daemonHeaders, findDaemon, findOwnerToken } from './find-daemon.ts'
import type { LoadedSettings } from './settings.ts'
import { DaemonGone, RouteRefused } from './view.ts'

/** A daemon, and the token that makes a command its owner. */
export interface OwnedDaemon {
  readonly url: string
  readonly token: string
}

/** A daemon on a busy machine may take longer than most commands wait. Ms. */
const answerTimeoutMs = 5000

/**
 * The running daemon of this user.
 * @throws CommandFailure `failed` if none runs, or it has another home
 */
export async function findOwnedDaemon(context: CommandContext, settings: LoadedSettings): Promise<OwnedDaemon> {
  const { url, health } = await findDaemon(context, settings, { timeoutMs: answerTimeoutMs })
  if (health === undefined) {
    throw new CommandFailure(exitCode.failed, 'copilot-proxy is not running. Run: copilot-proxy start')
  }
  const token = await findOwnerToken(context, settings, url)
  if (token !== undefined) return { url, token }
  const message =
    `${settings.dataDir} has no token of the copilot-proxy at ${url}, which is of another version or uses another ` +
    'COPILOT_PROXY_HOME. Run: copilot-proxy restart'
  throw new CommandFailure(exitCode.failed, message)
}

/**
 * Sends a request to the daemon as its owner, and returns the body, checked against its schema.
 * @throws RouteRefused, DaemonGone, CommandFailure; the signal's reason on abort
 */
export async function postAsOwner<Schema extends z.ZodType>(
  context: CommandContext,
  { url, token }: OwnedDaemon,
  path: string,
  schema: Schema,
  { body, timeoutMs = answerTimeoutMs }: { readonly body?: object; readonly timeoutMs?: number } = {},
): Promise<z.output<Schema>> {
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
      throw new DaemonGone(url, { cause })
    })
  const answer: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw new RouteRefused({ status: response.status, body: answer })
  const { data, error } = schema.safeParse(answer)
  if (error !== undefined) throw otherVersion(error)
  return data
}
