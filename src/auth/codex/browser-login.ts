import { authorizeInBrowser, type AuthorizationResult } from '../callback-listener.ts'
import { toPlainLine, type RequestDeps } from '../http-json.ts'
import { redeemLogin, type LoginTokens } from './token-endpoint.ts'

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
  /** `codex.originator`. */
  readonly originator: string
  /** Tried in this order; `CODEX_REDIRECT_PORTS` for the real issuer. */
  readonly ports: readonly number[]
  /** The person's time limit, in all. */
  readonly waitMs: number
}

export type CodexBrowserOutcome =
  | { readonly kind: 'authorized'; readonly tokens: LoginTokens }
  /** The person or the workspace's rules refused. `detail` is OpenAI's reason, '' if it gives none. */
  | { readonly kind: 'denied'; readonly detail: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'ports_taken' }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** ChatGPT login through a browser on this machine. Aborting `signal` closes the listener at once. */
export async function runCodexBrowserLogin(
  deps: CodexBrowserDeps,
  options: CodexBrowserOptions,
  signal: AbortSignal,
): Promise<CodexBrowserOutcome> {
  const { issuer, clientId } = options
  const result = await authorizeInBrowser(
    {
      ...deps,
      authorizeUrl: `${issuer}/oauth/authorize`,
      clientId,
      scope: SCOPE,
      // Source: docs/codex-wire.md, "Login".
      query: {
        id_token_add_organizations: 'true',
        codex_cli_simplified_flow: 'true',
        originator: options.originator,
      },
      verifierBytes: 64,
      ports: options.ports,
      // As registered: the issuer refuses `127.0.0.1`.
      host: 'localhost',
      path: CALLBACK_PATH,
      site: 'OpenAI',
      waitMs: options.waitMs,
    },
    signal,
  )
  return result.kind === 'code' ? redeemLogin(deps, { ...result, issuer, clientId }, signal) : toOutcome(result)
}

function toOutcome(result: Exclude<AuthorizationResult, { kind: 'code' }>): CodexBrowserOutcome {
  if (result.kind !== 'error') return result
  const { error, description } = result
  return error === 'access_denied'
    ? { kind: 'denied', detail: toPlainLine(description) }
    : { kind: 'failed', detail: `OpenAI said: ${toPlainLine(description || error)}` }
}
