import { createHash } from 'node:crypto'
import { Fault } from '../../errors.ts'
import { isHeaderSafe } from '../http-json.ts'
import type { CodexAccount, CodexCredential, CodexCredentialSource, CodexLoginStatus } from './credentials.ts'

/** `codex.api-key`: the same credential for ever, because nobody but the user can replace a key. */
export function createApiKeySource(apiKey: string): CodexCredentialSource {
  const credential: CodexCredential = { kind: 'api-key', value: apiKey }
  // A digest tells keys apart and nothing about them.
  const account: CodexAccount = { id: `codex-api-key-${digest(apiKey).slice(0, 12)}`, label: 'OpenAI API key' }
  const listeners = new Set<(account: CodexAccount | undefined) => void>()
  let revoked: string | undefined

  const status = (): CodexLoginStatus => {
    const known = { source: 'api-key', recordId: account.id } as const
    if (!isHeaderSafe(apiKey)) {
      const detail = 'codex.api-key holds no usable key: there are no spaces, line breaks or accents in one'
      return { state: 'unreadable', detail, fix: 'Set codex.api-key to a key that is valid', ...known }
    }
    if (revoked === undefined) return { state: 'ok', detail: 'Using the API key of codex.api-key', fix: '', ...known }
    return { state: 'login_required', detail: revoked, fix: 'Set codex.api-key to a key that is valid', ...known }
  }

  const give = async (signal: AbortSignal): Promise<CodexCredential> => {
    signal.throwIfAborted()
    const { state, detail, fix } = status()
    if (state === 'ok') return credential
    throw new Fault({ kind: 'codex_unavailable', detail, fix })
  }

  // After whoever creates the source has had the time to listen.
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

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
