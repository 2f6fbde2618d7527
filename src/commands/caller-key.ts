import { anyKey } from '../client-settings/target.ts'
import { parseApiKeyEntry } from '../config/api-key-entry.ts'
import { callerKeyVariable } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'

export interface CallerKey {
  readonly key: string
  /** Whether the daemon asks for it; otherwise any text will do. */
  readonly isAsked: boolean
}

/**
 * The key with which a client of this user's calls the daemon; undefined where only hashes of keys are known. Noted as
 * something not to be told.
 */
export function findCallerKey({ env, secrets }: CommandContext, { server }: Config): CallerKey | undefined {
  const plain = server.apiKeys.map(parseApiKeyEntry).find((entry) => entry?.form === 'plain')
  // Also where this configuration has none: the daemon may have been started with another.
  const key = env[callerKeyVariable] || plain?.key
  if (key === undefined) return server.apiKeys.length === 0 ? { key: anyKey, isAsked: false } : undefined
  secrets.note(key)
  return { key, isAsked: true }
}

/** @throws CommandFailure `failed` */
export function requireCallerKey(context: CommandContext, config: Config): CallerKey {
  const found = findCallerKey(context, config)
  if (found !== undefined) return found
  throw new CommandFailure(
    exitCode.failed,
    'copilot-proxy asks for a key, and its configuration holds keys only as hashes. Set ' +
      `${callerKeyVariable} to one of them, or make one: export ${callerKeyVariable}=$(copilot-proxy key add)`,
  )
}
