import { createApiKeySource } from './api-key-source.ts'
import { createCliLoginSource } from './cli-login.ts'
import type { CodexCredentialSource } from './credentials.ts'
import { createCodexLoginSource, type CodexLoginDeps } from './login-source.ts'

export interface CodexCredentialsDeps extends CodexLoginDeps {
  /** Resolves in any case. */
  readonly sleep: (ms: number) => Promise<void>
}

export interface CodexCredentialsOptions {
  /** `codex.api-key`; '' when not set. */
  readonly apiKey: string
  /** `codex.use-cli-login`. */
  readonly useCliLogin: boolean
  /** `codex.issuer`. */
  readonly issuer: string
  /** `codex.client-id`. */
  readonly clientId: string
  /** `$CODEX_HOME`, by default `~/.codex`; as a path. */
  readonly codexHome: string
}

/** The login that the configuration asks for: the API key where there is one, else the CLI's, else the stored one. */
export function createCodexCredentials(
  deps: CodexCredentialsDeps,
  { apiKey, useCliLogin, issuer, clientId, codexHome }: CodexCredentialsOptions,
): CodexCredentialSource {
  if (apiKey !== '') return createApiKeySource(apiKey)
  return useCliLogin ? createCliLoginSource(deps, { codexHome }) : createCodexLoginSource(deps, { issuer, clientId })
}
