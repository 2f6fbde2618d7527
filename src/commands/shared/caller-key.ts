import { anyKey } from '../../client-settings/target.ts'
import { parseApiKeyEntry } from '../../config/api-keys.ts'
import { callerKeyVariable } from '../../config/environment.ts'
import type { Config } from '../../config/schema.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'

export interface CallerKey {
  readonly key: string
  /** False: the daemon accepts any text as a key. */
  readonly isAsked: boolean
}

/**
 * The key that a client on this machine sends; undefined where the configuration holds only hashes of keys. The key is
 * registered as a secret.
 */
export function findCallerKey({ env, secrets }: CommandContext, { server }: Config): CallerKey | undefined {
  const plain = server.apiKeys.map(parseApiKeyEntry).find((entry) => entry?.form === 'plain')
  // Also without a key in this configuration: the running daemon may use another one.
  const key = env[callerKeyVariable] || plain?.key
  if (key === undefined) return server.apiKeys.length === 0 ? { key: anyKey, isAsked: false } : undefined
  secrets.note(key)
  return { key, isAsked: true }
}

/** @throws CommandFailure `failed` */
export function requireCallerKey(context: CommandContext, config: Config): CallerKey {
  const callerKey = findCallerKey(context, config)
  if (callerKey !== undefined) return callerKey
  throw new CommandFailure(
    exitCode.failed,
    'copilot-proxy asks for a key, and its configuration holds keys only as hashes. Set ' +
      `${callerKeyVariable} to one of them, or make one: export ${callerKeyVariable}=$(copilot-proxy key add)`,
  )
}
