import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { pageAddress } from '../../page/page-address.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import { daemonHeaders } from './find-daemon.ts'

const answerTimeoutMs = 5000

const refusal = z.object({ error: z.object({ code: z.string(), message: z.string() }) })

/**
 * Returns an address that opens the daemon's page as the owner, once; undefined if the daemon has no workspace.
 * @throws CommandFailure `failed` if the daemon does not answer or refuses; the signal's reason on abort
 */
export async function requestPageAddress(
  context: CommandContext,
  { url, token }: { readonly url: string; readonly token: string },
): Promise<string | undefined> {
  // The code comes from here, so that no answer of the daemon contains a credential.
  const code = randomBytes(32).toString('base64url')
  const response = await context
    .fetch(`${url}/page/codes`, {
      method: 'POST',
      headers: { ...daemonHeaders(context, token), 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
      redirect: 'error',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(answerTimeoutMs)]),
    })
    .catch((cause: unknown) => {
      context.signal.throwIfAborted()
      throw new CommandFailure(exitCode.failed, `copilot-proxy at ${url} does not answer. Run: copilot-proxy restart`, {
        cause,
      })
    })
  if (response.ok) return pageAddress(url, code)
  const error = refusal.safeParse(await response.json().catch(() => undefined)).data?.error
  if (error?.code === 'no_workspace') return undefined
  throw new CommandFailure(exitCode.failed, error?.message ?? `copilot-proxy answered with status ${response.status}.`)
}
