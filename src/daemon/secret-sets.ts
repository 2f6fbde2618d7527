import { secretValues } from '../config/secrets.ts'
import type { Config } from '../config/schema.ts'
import { createKnownSecrets, type KnownSecrets } from '../redaction/known-secrets.ts'

/**
 * The credentials of a daemon, in three sets, one for each kind of text that they are removed from. What a caller can read has no
 * key of a caller removed: it contains such a key only if a caller wrote it, and its removal would confirm a guess.
 */
export interface SecretSets {
  /** For the log: every credential. */
  readonly ofLog: KnownSecrets
  /** For the texts of providers and models: the credentials that are sent to providers, and the daemon's own tokens. */
  readonly ofProviders: KnownSecrets
  /** For the texts of MCP servers and tool providers: also the credentials of MCP servers. */
  readonly ofForeignTools: KnownSecrets
  /** Takes the credentials of a configuration in place of those of the one before. */
  readonly holdConfig: (config: Config) => void
  /** Remembers credentials of logins. */
  readonly noteLogin: KnownSecrets['note']
  /** Remembers tokens that this daemon has made, which are too long to be guessed. */
  readonly holdOwn: KnownSecrets['hold']
}

export function createSecretSets(ofLog: KnownSecrets, githubToken: string | undefined): SecretSets {
  const ofForeignTools = createKnownSecrets()
  const ofProviders = createKnownSecrets()
  const sets = [ofLog, ofForeignTools, ofProviders]
  return {
    ofLog,
    ofForeignTools,
    ofProviders,
    holdConfig(config) {
      const withoutKeys = { ...config, server: { ...config.server, apiKeys: [] } }
      ofLog.hold('daemon', githubToken, ...secretValues(config))
      ofForeignTools.hold('daemon', githubToken, ...secretValues(withoutKeys))
      ofProviders.hold('daemon', githubToken, ...secretValues({ ...withoutKeys, mcpServers: {} }))
    },
    noteLogin(...values) {
      for (const set of sets) set.note(...values)
    },
    holdOwn(holder, ...values) {
      for (const set of sets) set.hold(holder, ...values)
    },
  }
}
