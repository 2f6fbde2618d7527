import type { RequestDeps } from '../http-json.ts'
import { redeemCode, type CodeRedemption, type LoginTokens } from './token-endpoint.ts'

export type RedeemedLogin =
  | { readonly kind: 'authorized'; readonly tokens: LoginTokens }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** The last step of both logins. A code that was sent once may be spent, so no failure is worth another try. */
export async function redeemLogin(
  deps: RequestDeps,
  redemption: CodeRedemption,
  signal: AbortSignal,
): Promise<RedeemedLogin> {
  const outcome = await redeemCode(deps, redemption, signal)
  switch (outcome.kind) {
    case 'ok':
      return { kind: 'authorized', tokens: outcome.tokens }
    case 'permanent':
    case 'transient':
      return { kind: 'failed', detail: outcome.detail }
    case 'aborted':
      return outcome
  }
}
