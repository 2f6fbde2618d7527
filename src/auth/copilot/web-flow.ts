import { describeRefusal, parseJsonOrForm, accessTokenReply } from './wire.ts'
import { authorizeInBrowser, type AuthorizationResult } from '../callback-listener.ts'
import { describeWebPage, isHeaderSafe, sendRequest, type RequestDeps } from '../http-json.ts'

/** Path of the redirect address; registered with the OAuth app, so it does not change. */
const CALLBACK_PATH = '/callback'

export interface WebFlowDeps extends RequestDeps {
  /** Cryptographically strong; 32 bytes are asked for at a time. */
  readonly randomBytes: (size: number) => Uint8Array
  /** Called once, when the listener is up: open or show this address. */
  readonly onUrl: (url: string) => void
}

export interface WebFlowOptions {
  readonly authUrl: string
  readonly tokenUrl: string
  readonly clientId: string
  /** Space separated. */
  readonly scope: string
  /** Port on 127.0.0.1 that the browser comes back to; 0 takes a free one. */
  readonly redirectPort: number
  /** The person's time limit, in all. */
  readonly waitMs: number
}

export type WebFlowOutcome =
  | { readonly kind: 'authorized'; readonly githubToken: string }
  /** The person pressed Cancel. */
  | { readonly kind: 'denied' }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'port_taken'; readonly port: number }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** Login through a browser on this machine. Aborting `signal` closes the listener at once. */
export async function runWebFlow(
  deps: WebFlowDeps,
  options: WebFlowOptions,
  signal: AbortSignal,
): Promise<WebFlowOutcome> {
  const result = await authorizeInBrowser(
    {
      ...deps,
      authorizeUrl: options.authUrl,
      clientId: options.clientId,
      scope: options.scope,
      verifierBytes: 32,
      ports: [options.redirectPort],
      host: '127.0.0.1',
      path: CALLBACK_PATH,
      site: 'GitHub',
      waitMs: options.waitMs,
    },
    signal,
  )
  return result.kind === 'code' ? redeemCode(deps, options, result, signal) : toOutcome(result, options)
}

function toOutcome(
  result: Exclude<AuthorizationResult, { kind: 'code' }>,
  { redirectPort }: WebFlowOptions,
): WebFlowOutcome {
  if (result.kind === 'ports_taken') return { kind: 'port_taken', port: redirectPort }
  if (result.kind !== 'error') return result
  return result.error === 'access_denied'
    ? { kind: 'denied' }
    : { kind: 'failed', detail: describeRefusal({ error: result.error, error_description: result.description }) }
}

async function redeemCode(
  deps: WebFlowDeps,
  options: WebFlowOptions,
  grant: { readonly code: string; readonly verifier: string; readonly redirectUri: string },
  signal: AbortSignal,
): Promise<WebFlowOutcome> {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: options.clientId,
    code: grant.code,
    redirect_uri: grant.redirectUri,
    code_verifier: grant.verifier,
  })
  const outcome = await sendRequest(
    deps,
    options.tokenUrl,
    {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    },
    signal,
  )
  if (outcome.kind === 'aborted') return outcome
  if (outcome.kind !== 'reply') return { kind: 'failed', detail: outcome.detail }
  const reply = accessTokenReply.safeParse(parseJsonOrForm(outcome.text))
  if (reply.success && reply.data.error) return { kind: 'failed', detail: describeRefusal(reply.data) }
  if (reply.success && reply.data.access_token && isHeaderSafe(reply.data.access_token)) {
    return { kind: 'authorized', githubToken: reply.data.access_token }
  }
  const detail = describeWebPage(outcome) ?? `The token endpoint answered ${outcome.status} without a usable token`
  return { kind: 'failed', detail }
}
