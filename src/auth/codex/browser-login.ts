import { createHash } from 'node:crypto'
import { awaitCallback, type CallbackResult } from '../callback-listener.ts'
import type { RequestDeps } from '../http-json.ts'
import { toPlainLine } from '../plain-text.ts'
import { redeemLogin } from './redeem-login.ts'
import type { LoginTokens } from './token-endpoint.ts'

/** The issuer's list of allowed redirects has these two and no other (docs/codex-wire.md, "Login"). */
export const CODEX_REDIRECT_PORTS = [1455, 1457] as const

const CALLBACK_PATH = '/auth/callback'
const SCOPE = 'openid profile email offline_access'

export interface CodexBrowserDeps extends RequestDeps {
  /** Cryptographically strong. */
  readonly randomBytes: (size: number) => Uint8Array
  /** Called once, when the listener is up: open or show this address. */
  readonly onUrl: (url: string) => void
}

export interface CodexBrowserOptions {
  /** `https://auth.openai.com`, no slash at the end. */
  readonly issuer: string
  readonly clientId: string
  /** Who asks, in the words of `codex.originator`. */
  readonly originator: string
  /** Tried in this order; `CODEX_REDIRECT_PORTS` for the real issuer. */
  readonly ports: readonly number[]
  /** How long the person has, in all. */
  readonly waitMs: number
}

export type CodexBrowserOutcome =
  | { readonly kind: 'authorized'; readonly tokens: LoginTokens }
  /** The person, or the workspace's rules, said no. `detail` is OpenAI's reason, '' where it gives none. */
  | { readonly kind: 'denied'; readonly detail: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'ports_taken' }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/**
 * ChatGPT login through a browser on this machine: authorization code with PKCE (RFC 7636, S256) and a loopback
 * redirect (RFC 8252 §7.3). Aborting `signal` closes the listener at once.
 */
export async function runCodexBrowserLogin(
  deps: CodexBrowserDeps,
  options: CodexBrowserOptions,
  signal: AbortSignal,
): Promise<CodexBrowserOutcome> {
  const { issuer, clientId } = options
  const state = toBase64Url(deps.randomBytes(32))
  const verifier = toBase64Url(deps.randomBytes(64))
  let redirectUri = ''
  const result = await awaitCallback(
    {
      ports: options.ports,
      // As registered: the issuer refuses `127.0.0.1`.
      host: 'localhost',
      path: CALLBACK_PATH,
      site: 'OpenAI',
      state,
      waitMs: options.waitMs,
      onListening: (uri) => {
        redirectUri = uri
        deps.onUrl(authorizeUrl(options, { state, verifier, redirectUri }))
      },
    },
    signal,
  )
  return result.kind === 'code'
    ? redeemLogin(deps, { issuer, clientId, code: result.code, verifier, redirectUri }, signal)
    : toOutcome(result)
}

function toOutcome(result: Exclude<CallbackResult, { kind: 'code' }>): CodexBrowserOutcome {
  if (result.kind !== 'error') return result
  const { error, description } = result
  return error === 'access_denied'
    ? { kind: 'denied', detail: toPlainLine(description) }
    : { kind: 'failed', detail: `OpenAI said: ${toPlainLine(description || error)}` }
}

/** Parameters: docs/codex-wire.md, "Login". */
function authorizeUrl(
  { issuer, clientId, originator }: CodexBrowserOptions,
  secrets: { readonly state: string; readonly verifier: string; readonly redirectUri: string },
): string {
  const url = new URL(`${issuer}/oauth/authorize`)
  const query = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: secrets.redirectUri,
    scope: SCOPE,
    code_challenge: createHash('sha256').update(secrets.verifier).digest('base64url'),
    code_challenge_method: 'S256',
    id_token_add_organizations: 'true',
    codex_cli_simplified_flow: 'true',
    state: secrets.state,
    originator,
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}

function toBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
