import { inspectAuthFolder } from '../auth/inspect-permissions.ts'
import { recordPlace } from './account.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { LoadedSettings } from './settings.ts'

/**
 * Before requests are served with stored logins: whether they are kept as the configuration asks.
 * @throws CommandFailure `failed` where others can reach one and `auth.strict-permissions` is on; RecordStoreError
 * `keychain` where `auth.store: keychain` finds none
 */
export async function requireLoginsKept(context: CommandContext, settings: LoadedSettings): Promise<void> {
  const { dir, rules, keychain } = recordPlace(context, settings)
  if (rules.strictPermissions) {
    const findings = await inspectAuthFolder(dir)
    if (findings.length > 0) {
      const lines = findings.map(({ detail, fix }) => `  ${detail}. Run: ${fix}\n`)
      const message = `Stored logins are not private (auth.strict-permissions):\n${lines.join('')}`
      throw new CommandFailure(exitCode.failed, message.trimEnd())
    }
  }
  // A locked one may be unlocked later, and is told where a login is needed; one that is not there stays away.
  if (rules.store === 'keychain') await keychain.get('trial')
}
