import { createCliLoginSource } from './cli-login.ts'
import type { CodexCredentialSource, CodexAccount, CodexCredential, CodexLoginStatus } from './credentials.ts'
import { createCodexLoginSource, type CodexLoginDeps } from './login-source.ts'
import { hash } from 'node:crypto'
import type { Config } from '../../config/schema.ts'
import { Fault } from '../../errors.ts'
import { isHeaderSafe } from '../http-json.ts'

export interface CodexCredentialsDeps extends CodexLoginDeps {
  /** Resolves in any case. */
  readonly sleep: (ms: number) => Promise<void>
}

export interface CodexCredentialsOptions extends Pick<Config['codex'], 'apiKey' | 'issuer' | 'useCliLogin'> {
  /** The path `$CODEX_HOME`, by default `~/.codex`. */
  readonly codexHome: string
  /** The OAuth client that a stored login belongs to. */
  readonly clientId: string
}

/** The configured login: the API key if there is one, otherwise the CLI's login, otherwise the stored one. */
export function createCodexCredentials(
  deps: CodexCredentialsDeps,
  { apiKey, useCliLogin, issuer, clientId, codexHome }: CodexCredentialsOptions,
): CodexCredentialSource {
  if (apiKey !== '') return createApiKeySource(apiKey)
  return useCliLogin ? createCliLoginSource(deps, { codexHome }) : createCodexLoginSource(deps, { issuer, clientId })
}

/** The source for `codex.api-key`. A key is never renewed, because only the user can replace it. */
export function createApiKeySource(apiKey: string): CodexCredentialSource {
  const credential: CodexCredential = { kind: 'api-key', value: apiKey }
  // A digest distinguishes keys without revealing them.
  const account: CodexAccount = { id: `codex-api-key-${hash('sha256', apiKey).slice(0, 12)}`, label: 'OpenAI API key' }
  const listeners = new Set<(account: CodexAccount | undefined) => void>()
  let revoked: string | undefined

  const status = (): CodexLoginStatus => {
    const known = { source: 'api-key', recordId: account.id } as const
    if (!isHeaderSafe(apiKey)) {
      const detail = 'codex.api-key is not a valid key: keys have no spaces, line breaks or accented letters'
      return { state: 'unreadable', detail, fix: 'Set codex.api-key to a valid key', ...known }
    }
    if (revoked === undefined) return { state: 'ok', detail: 'Using the API key of codex.api-key', fix: '', ...known }
    return { state: 'login_required', detail: revoked, fix: 'Set codex.api-key to a valid key', ...known }
  }

  const give = async (signal: AbortSignal): Promise<CodexCredential> => {
    signal.throwIfAborted()
    const { state, detail, fix } = status()
    if (state === 'ok') return credential
    throw new Fault({ kind: 'codex_unavailable', detail, fix })
  }

  // Called later, so that the creator of the source can add a listener first.
  queueMicrotask(() => {
    if (status().state !== 'ok') return
    for (const listener of listeners) listener(account)
  })

  return {
    kind: 'api-key',
    get: give,
    replace: (_rejected, signal) => give(signal),
    markAccepted() {},
    refused: (message) =>
      new Fault({
        kind: 'upstream_status',
        status: 401,
        message: `OpenAI refuses the API key in codex.api-key: ${message}`,
        code: 'invalid_api_key',
      }),
    markRevoked(rejected, detail) {
      if (rejected === apiKey) revoked = detail
    },
    status,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: async () => {},
  }
}
