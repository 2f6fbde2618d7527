import { htmlReply, jsonReply } from '../http/outcome.ts'
import type { HeaderMap, Outcome } from '../http/outcome.ts'
import type { CopilotRoute } from './routes.ts'
import type { CopilotSettings, PollAnswer } from './settings.ts'
import type { IssuedCopilotToken, TokenStore } from './tokens.ts'
import { accountUsage, DEMO_SKU, quotaOf } from './usage.ts'

/** The parts of a request that GitHub's routes read. */
interface GithubCall {
  readonly header: (name: string) => string | undefined
  readonly body: string
}

export interface GithubDeps {
  readonly settings: () => CopilotSettings
  readonly tokens: TokenStore
  readonly now: () => number
  /** Base URL of this server. */
  readonly url: string
  /** Answers to the next polls, in order; each is used once. Empty: `approve`. */
  readonly pollAnswers: PollAnswer[]
}

type GithubRoute = (call: GithubCall) => Outcome

/**
 * `X-GitHub-Api-Version` by kind of path (docs/copilot-wire.md, "API versions"). Public REST paths and the account need none:
 * GitHub's CLI sends none for the account. The rule for the token exchange without a version is not known.
 */
const API_VERSIONS = {
  public: { needed: false, known: ['2022-11-28'] },
  account: { needed: false, known: ['2025-05-01', '2025-04-01', '2024-12-15'] },
  internal: { needed: true, known: ['2025-05-01', '2025-04-01', '2024-12-15'] },
} as const

type Versions = (typeof API_VERSIONS)[keyof typeof API_VERSIONS]

/** Refuses a version that the path does not know, before any other check; undefined otherwise. */
function refuseVersion(call: GithubCall, { needed, known }: Versions) {
  const version = call.header('x-github-api-version')
  if (version === undefined ? !needed : known.some((each) => each === version)) return undefined
  const supported = known.map((each, at) => `"${each}"${at === 0 ? ' (most recent)' : ''}`).join(', ')
  return restError(
    400,
    `Bad Request: The version you specified in the "X-GitHub-API-Version" request header, "${version ?? ''}", is not a supported version. The following versions are currently supported: ${supported}.`,
  )
}

/** Undefined for routes that are not GitHub's. */
type Github = (route: CopilotRoute, call: GithubCall) => Outcome | undefined

interface DeviceFlow {
  readonly clientId: string
  readonly expiresAtMs: number
  intervalSeconds: number
}

/** GitHub's lifetime of a device code. */
const DEVICE_CODE_SECONDS = 900
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** github.com and api.github.com: device flow, user, token exchange, account (docs/copilot-wire.md). */
export function createGithub(deps: GithubDeps): Github {
  const { settings, tokens, now, url, pollAnswers } = deps
  const flows = new Map<string, DeviceFlow>()
  let flowCount = 0

  const deviceCode: GithubRoute = (call) => {
    const clientId = fieldsOf(call).get('client_id') ?? ''
    if (clientId === '') return oauthError(call, 'incorrect_client_credentials')
    flowCount += 1
    const code = `demo-device-${flowCount}`
    const intervalSeconds = settings().deviceIntervalSeconds
    flows.set(code, { clientId, expiresAtMs: now() + DEVICE_CODE_SECONDS * 1000, intervalSeconds })
    return oauthReply(call, {
      device_code: code,
      user_code: `DEMO-${String(flowCount).padStart(4, '0')}`,
      verification_uri: `${url}/login/device`,
      expires_in: DEVICE_CODE_SECONDS,
      interval: intervalSeconds,
    })
  }

  const approve = (call: GithubCall, code: string, { clientId }: DeviceFlow): Outcome => {
    flows.delete(code)
    // OAuth App ids begin with Ov23 and get gho_ tokens, GitHub App ids get ghu_ (docs/copilot-wire.md, "Device flow").
    const token = tokens.issueGithub(clientId.startsWith('Ov23') ? 'gho_' : 'ghu_')
    return oauthReply(call, { access_token: token, token_type: 'bearer', scope: 'read:user' })
  }

  const accessToken: GithubRoute = (call) => {
    const fields = fieldsOf(call)
    if (fields.get('grant_type') !== DEVICE_GRANT) return oauthError(call, 'unsupported_grant_type')
    const code = fields.get('device_code') ?? ''
    const flow = flows.get(code)
    if (flow === undefined) return oauthError(call, 'incorrect_device_code')
    if (flow.clientId !== fields.get('client_id')) return oauthError(call, 'incorrect_client_credentials')
    if (now() >= flow.expiresAtMs) return oauthError(call, 'expired_token')
    switch (pollAnswers.shift() ?? 'approve') {
      case 'approve':
        return approve(call, code, flow)
      case 'pending':
        return oauthError(call, 'authorization_pending')
      case 'slow_down':
        flow.intervalSeconds += 5
        return oauthError(call, 'slow_down', { interval: flow.intervalSeconds })
      case 'denied':
        flows.delete(code)
        return oauthError(call, 'access_denied')
      case 'expired':
        flows.delete(code)
        return oauthError(call, 'expired_token')
      case 'unavailable':
        return jsonReply(503, { message: 'Service unavailable' })
      case 'html':
        return htmlReply(502, 'Unicorn! 502 Bad Gateway')
      case 'drop':
        return { kind: 'drop' }
    }
  }

  const asUser = (call: GithubCall, answer: (token: string) => Outcome): Outcome => {
    const token = /^(?:token|bearer) (\S+)$/i.exec(call.header('authorization') ?? '')?.[1] ?? ''
    // Copilot accepts no classic personal token, so the simulation issues none and accepts any as a live token here.
    const isLive = tokens.isGithubLive(token) || token.startsWith('ghp_')
    return isLive ? answer(token) : restError(401, 'Bad credentials')
  }

  /**
   * `/copilot_internal/*` answers OAuth App tokens with 404, and personal tokens with 403 (docs/copilot-wire.md, "Token
   * exchange"). GitHub's CLI reads the account with any token.
   */
  const asEditor = (call: GithubCall, answer: () => Outcome, versions: Versions = API_VERSIONS.internal): Outcome =>
    refuseVersion(call, versions) ??
    asUser(call, (token) => {
      if (versions === API_VERSIONS.account && isCli(call)) return answer()
      if (isPersonal(token)) return restError(403, 'Resource not accessible by personal access token')
      return token.startsWith('gho_') ? restError(404, 'Not Found') : answer()
    })

  const endpoints = () => endpointsOf(url, settings().apiUrl ?? url)

  const copilotToken: GithubRoute = (call) =>
    asEditor(call, () => {
      const current = settings()
      if (!isEditor(call)) return entitlementError('go_http_client', current.login)
      if (current.entitlementProblem !== '') return entitlementError(current.entitlementProblem, current.login)
      const sku = SKUS[current.plan]
      const issued = tokens.issueCopilot({
        lifetimeSeconds: current.tokenLifetimeSeconds,
        sku,
        proxyEp: current.proxyEp ?? new URL(url).host,
      })
      const { endpoints: _, ...reply } = tokenReply(issued, url)
      return jsonReply(200, {
        ...reply,
        refresh_in: current.refreshInSeconds,
        sku,
        individual: current.plan !== 'business',
        ...(current.apiUrl !== null && { endpoints: endpoints() }),
        organization_list: current.plan === 'business' ? ['demo-org'] : [],
        limited_user_quotas: current.plan === 'free' ? { chat: 42, completions: 1900 } : null,
      })
    })

  return (route, call) => {
    switch (route) {
      case '/login/device':
        return htmlReply(200, 'Simulated GitHub: the demo account approves every code by itself')
      case '/login/device/code':
        return deviceCode(call)
      case '/login/oauth/access_token':
        return accessToken(call)
      case '/user':
        return (
          refuseVersion(call, API_VERSIONS.public) ?? asUser(call, () => jsonReply(200, githubUser(settings().login)))
        )
      case '/copilot_internal/v2/token':
        return copilotToken(call)
      case '/copilot_internal/user':
        return asEditor(
          call,
          () => jsonReply(200, accountOf(settings(), accountUsage(settings().login, now(), endpoints()))),
          API_VERSIONS.account,
        )
      case '/copilot/mcp_registry':
        // No organization limits the MCP servers. Without this answer, GitHub's CLI starts none.
        return asUser(call, () => jsonReply(200, { mcp_registries: [] }))
      default:
        return undefined
    }
  }
}

const SKUS: Readonly<Record<CopilotSettings['plan'], string>> = {
  individual: DEMO_SKU,
  business: 'copilot_for_business_seat_quota',
  free: 'free_limited_copilot',
}

/** The account's data by plan. The free plan has `limited_user_quotas` and no snapshots. */
function accountOf({ plan, tokenBasedBilling }: CopilotSettings, individual: ReturnType<typeof accountUsage>): unknown {
  const { quota_snapshots: snapshots, ...account } = individual
  const billed = { ...account, access_type_sku: SKUS[plan], token_based_billing: tokenBasedBilling }
  if (plan === 'free') {
    return {
      ...billed,
      limited_user_quotas: { chat: 42, completions: 1900 },
      monthly_quotas: { chat: 50, completions: 2000 },
      limited_user_reset_date: account.quota_reset_date,
    }
  }
  const credits = { ...snapshots.premium_interactions, ...quotaOf(1000), credits_used: 32 }
  return {
    ...billed,
    ...(plan === 'business' && {
      copilot_plan: 'business',
      can_upgrade_plan: false,
      organization_login_list: ['demo-org'],
      organization_list: [{ login: 'demo-org', name: null }],
    }),
    quota_snapshots: { ...snapshots, ...(tokenBasedBilling && { premium_interactions: credits }) },
  }
}

/** Whether the headers are those of GitHub's CLI. */
function isCli(call: GithubCall): boolean {
  return (call.header('user-agent') ?? '').startsWith('copilot/')
}

/** A personal access token, classic or fine-grained. */
function isPersonal(token: string): boolean {
  return /^(?:ghp_|github_pat_)/.test(token)
}

/** Whether the headers look like an editor's. The real test is not known; this one is a guess. */
function isEditor(call: GithubCall): boolean {
  const agent = call.header('user-agent') ?? ''
  return call.header('editor-version') !== undefined && agent !== '' && !/^(?:go-http-client|node|undici)/i.test(agent)
}

/** Fields of a JSON or form body; GitHub accepts both (docs/copilot-wire.md, "Device flow"). */
function fieldsOf(call: GithubCall): URLSearchParams {
  if (!(call.header('content-type') ?? '').includes('json')) return new URLSearchParams(call.body)
  try {
    const value: unknown = JSON.parse(call.body)
    const pairs = typeof value === 'object' && value !== null ? Object.entries(value) : []
    return new URLSearchParams(pairs.map(([name, field]): [string, string] => [name, String(field)]))
  } catch {
    return new URLSearchParams()
  }
}

/** OAuth replies are form-encoded unless the request asks for JSON. Errors have the status 200 too. */
function oauthReply(call: GithubCall, fields: Readonly<Record<string, string | number>>): Outcome {
  if ((call.header('accept') ?? '').includes('json')) return jsonReply(200, fields)
  const pairs = Object.entries(fields).map(([name, field]): [string, string] => [name, String(field)])
  return {
    kind: 'whole',
    status: 200,
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: new URLSearchParams(pairs).toString(),
  }
}

function oauthError(call: GithubCall, error: string, extra: Readonly<Record<string, number>> = {}): Outcome {
  return oauthReply(call, {
    error,
    error_description: `Simulated answer of the device flow: ${error}.`,
    error_uri: 'https://docs.github.com/developers/apps/authorizing-oauth-apps',
    ...extra,
  })
}

function restError(status: number, message: string): Outcome {
  return jsonReply(status, { message, documentation_url: 'https://docs.github.com/rest', status: String(status) })
}

function entitlementError(notificationId: string, login: string): Outcome {
  return jsonReply(403, {
    can_signup_for_limited: notificationId === 'not_signed_up',
    error_details: {
      message: `Simulated refusal (${notificationId}). You are currently logged in as ${login}.`,
      notification_id: notificationId,
      title: 'No access to Copilot',
      url: 'https://github.com/settings/copilot?editor={EDITOR}',
    },
    message: 'Resource not accessible by integration',
  })
}

/** Body of `GET /user`. */
function githubUser(login: string) {
  return { login, id: 1, type: 'User', name: 'Demo' }
}

/** `endpoints` of the token reply and of the account. All of them are on one server. */
function endpointsOf(url: string, apiUrl = url): HeaderMap {
  return { api: apiUrl, proxy: url, telemetry: url, 'origin-tracker': url }
}

/** Body of `GET /copilot_internal/v2/token` (docs/copilot-wire.md, "Token exchange"). */
function tokenReply({ token, expiresAtSeconds }: IssuedCopilotToken, url: string) {
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
