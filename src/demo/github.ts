import type { HeaderMap } from './outcome.ts'
import type { IssuedCopilotToken } from './tokens.ts'

/** GitHub user name of the only account. */
export const DEMO_LOGIN = 'demo-user'

/** The account's subscription, as the token reply, the token and `/copilot_internal/user` name it. */
export const DEMO_SKU = 'monthly_subscriber_quota'

/** Body of `GET /user`. */
export function githubUser(login: string) {
  return { login, id: 1, type: 'User', name: 'Demo' }
}

/** `endpoints` of the token reply and of the account. All of them are on one server. */
export function endpointsOf(url: string, apiUrl = url): HeaderMap {
  return { api: apiUrl, proxy: url, telemetry: url, 'origin-tracker': url }
}

/** Body of `GET /copilot_internal/v2/token` (docs/copilot-wire.md, "Token exchange"). */
export function tokenReply({ token, expiresAtSeconds }: IssuedCopilotToken, url: string) {
  return {
    token,
    expires_at: expiresAtSeconds,
    refresh_in: 1500,
    sku: DEMO_SKU,
    individual: true,
    endpoints: endpointsOf(url),
    annotations_enabled: true,
    chat_enabled: true,
    copilotignore_enabled: false,
    public_suggestions: 'enabled',
    telemetry: 'disabled',
    enterprise_list: null,
    organization_list: [],
    limited_user_quotas: null,
    limited_user_reset_date: null,
  }
}
