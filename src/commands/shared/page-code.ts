import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { pageAddress } from '../../page/page-address.ts'
import type { CommandContext } from './command.ts'
import { askRoute } from './view.ts'
import type { KeyedAddress } from './view.ts'

/**
 * Returns an address that opens the daemon's page as the owner, once.
 * @throws CommandFailure `failed` if the daemon does not answer or refuses; the signal's reason on abort
 */
export async function requestPageAddress(context: CommandContext, daemon: KeyedAddress): Promise<string> {
  // The code comes from here, so that no answer of the daemon contains a credential.
  const code = randomBytes(32).toString('base64url')
  await askRoute(context, daemon, '/page/codes', z.undefined(), { method: 'POST', body: { code } })
  return pageAddress(daemon.url, code)
}
